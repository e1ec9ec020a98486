// Fully connected layers on the GPU. Small ones go to kernels of ours that do a whole pass in one launch or two, large
// ones to the library's products (large_layers.h).
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "../dense_registration.h"
#include "large_layers.h"

namespace sweeper {

using cuda::Element;
using cuda::Layer;
using cuda::View;

// Nothing for what is no matrix: a tensor that stands for one that was not kept.
View view_of(const at::Tensor& matrix) {
  if (!matrix.defined() || matrix.dim() != 2) return {};
  return {const_cast<void*>(matrix.const_data_ptr()), matrix.stride(0), matrix.stride(1)};
}

Layer layer_of(const Stack& stack, int64_t index, const at::Tensor& output, const at::Tensor& saved) {
  Layer layer{};
  layer.weight = view_of(stack.weights[index]);
  layer.output = view_of(output);
  layer.before = view_of(saved);
  layer.inputs = stack.inputs(index);
  layer.outputs = stack.outputs(index);
  switch (stack.activations[index]) {
    case Nonlinearity::kNone: layer.activation = cuda::Activation::kNone; break;
    case Nonlinearity::kRelu: layer.activation = cuda::Activation::kRelu; break;
    case Nonlinearity::kGelu: layer.activation = cuda::Activation::kGelu; break;
    case Nonlinearity::kSigmoid: layer.activation = cuda::Activation::kSigmoid; break;
  }
  return layer;
}

bool has_unit_stride(const at::Tensor& matrix) {
  return (matrix.stride(1) == 1 && matrix.stride(0) >= matrix.size(1)) ||
         (matrix.stride(0) == 1 && matrix.stride(1) >= matrix.size(0));
}

namespace {

// A layer of so few weights, times rows, is done before the library's kernels would have started. Measured on an H100.
constexpr int64_t kSmallWeight = int64_t(1) << 13;
constexpr int64_t kSmallWork = int64_t(1) << 21;

bool is_small(int64_t rows, int64_t weights) { return weights <= kSmallWeight && rows * weights <= kSmallWork; }

// The first of the small layers that end the stack; their count where there are none.
int64_t tail_of(const at::Tensor& x, const Stack& stack) {
  int64_t first = stack.size();
  if (x.numel() == 0) return first;
  for (const at::Tensor& weight : stack.weights)
    if (weight.size(0) == 0) return first;   // nothing flows through it
  std::vector<int64_t> widths{stack.outputs(first - 1)};
  while (first > 0) {
    const at::Tensor& weight = stack.weights[first - 1];
    if (!is_small(x.size(0), weight.numel())) break;
    widths.insert(widths.begin(), stack.inputs(first - 1));
    const auto count = static_cast<int>(widths.size()) - 1;
    if (count > 1 && !cuda::fits_small_stack(element_of(x), widths.data(), count, x.size(0))) break;
    --first;
  }
  // A single layer goes by the products, but its gradient through the layer below by the stack.
  if (first > 0 && first + 1 == stack.size() &&
      !cuda::fits_small_stack(element_of(x), widths.data() + (widths.size() - 2), 1, x.size(0)))
    return stack.size();
  return first;
}

Forward empty_outputs(const at::Tensor& x, const Stack& stack) {
  Forward done;
  for (int64_t layer = 0; layer < stack.size(); ++layer) {
    const bool gelu = stack.activations[layer] == Nonlinearity::kGelu;
    done.outputs.push_back(at::empty({x.size(0), stack.outputs(layer)}, x.options()));
    done.saved.push_back(gelu ? at::empty({x.size(0), stack.outputs(layer)}, x.options()) : at::empty({0}, x.options()));
  }
  return done;
}

const at::Tensor& input_of(int64_t layer, const at::Tensor& x, const std::vector<at::Tensor>& outputs) {
  return layer > 0 ? outputs[layer - 1] : x;
}

// Layers [first, ...) in one launch.
void small_forward(const at::Tensor& x, const Stack& stack, const Forward& done, int64_t first, cudaStream_t stream) {
  const at::Tensor& input = input_of(first, x, done.outputs);
  if (first + 1 == stack.size()) {
    cuda::SmallProduct product{};
    product.role = cuda::ProductRole::kForward;
    product.rows = x.size(0);
    product.layer = layer_of(stack, first, done.outputs[first], done.saved[first]);
    product.input = view_of(input);
    C10_CUDA_CHECK(cuda::run_small_products(element_of(x), &product, 1, stream));
    return;
  }
  cuda::SmallStack small{};
  small.rows = x.size(0);
  small.input = view_of(input);
  for (int64_t layer = first; layer < stack.size(); ++layer)
    small.layers[small.count++] = layer_of(stack, layer, done.outputs[layer], done.saved[layer]);
  C10_CUDA_CHECK(cuda::run_small_forward(element_of(x), small, stream));
}

// The backward pass of the layers [first, ...), which are small.
class SmallBackward {
 public:
  SmallBackward(const at::Tensor& x, const Stack& stack, const std::vector<at::Tensor>& outputs,
                const std::vector<at::Tensor>& saved, const Backward& done, int64_t first)
      : x_(x), stack_(stack), outputs_(outputs), saved_(saved), done_(done), first_(first) {}

  // The gradients before each activation, from that of the last output: of the small layers, and of the layer before.
  // Where one layer is all there is, its products do that on the way.
  void go_down(const at::Tensor& grad, cudaStream_t stream) {
    const int64_t last = first_ > 0 ? first_ - 1 : 0;
    before_.resize(stack_.size());
    if (stack_.size() == 1) {
      before_[0] = grad;
      return;
    }
    cuda::SmallStack small{};
    small.rows = x_.size(0);
    small.gradient = view_of(grad);
    for (int64_t layer = last; layer < stack_.size(); ++layer) {
      before_[layer] = at::empty({x_.size(0), stack_.outputs(layer)}, x_.options());
      small.gradients[small.count] = view_of(before_[layer]);
      small.layers[small.count++] = layer_of(stack_, layer, outputs_[layer], saved_[layer]);
    }
    C10_CUDA_CHECK(cuda::run_small_backward(element_of(x_), small, stream));
  }

  const at::Tensor& before(int64_t layer) const { return before_[layer]; }

  // The gradients of the small layers' weights, of the bias of the layer before, and of x if that is their input.
  void multiply(cudaStream_t stream) {
    std::vector<cuda::SmallProduct> products;
    if (first_ > 0) {
      products.push_back(product(first_ - 1));
      products.back().bias_only = true;
    }
    for (int64_t layer = first_; layer < stack_.size(); ++layer) products.push_back(product(layer));
    if (first_ == 0 && done_.input.defined()) {
      products.push_back(product(0));
      products.back().role = cuda::ProductRole::kInput;
      products.back().result = view_of(done_.input);
    }
    C10_CUDA_CHECK(
        cuda::run_small_products(element_of(x_), products.data(), static_cast<int>(products.size()), stream));
  }

 private:
  cuda::SmallProduct product(int64_t layer) const {
    cuda::SmallProduct product{};
    product.role = cuda::ProductRole::kWeight;
    product.differentiate = stack_.size() == 1;
    product.rows = x_.size(0);
    product.layer = layer_of(stack_, layer, outputs_[layer], saved_[layer]);
    product.input = view_of(input_of(layer, x_, outputs_));
    product.gradient = view_of(before_[layer]);
    product.result = view_of(done_.weights[layer]);
    return product;
  }

  const at::Tensor& x_;
  const Stack& stack_;
  const std::vector<at::Tensor>& outputs_;
  const std::vector<at::Tensor>& saved_;
  const Backward& done_;
  int64_t first_;
  std::vector<at::Tensor> before_;
};

void check_layout(const char* name, const at::Tensor& x) {
  TORCH_CHECK(x.numel() == 0 || has_unit_stride(x), name, ": expected x with rows or columns that are dense, got strides ",
              x.strides(), " for sizes ", x.sizes(), "; pass x.contiguous()");
}

Forward forward(const at::Tensor& x, const Stack& stack) {
  const c10::cuda::CUDAGuard guard(x.device());
  check_layout("fused layers", x);
  Forward done = empty_outputs(x, stack);
  const int64_t tail = tail_of(x, stack);
  if (tail > 0) large_forward(x, stack, done, tail);
  if (tail < stack.size()) small_forward(x, stack, done, tail, c10::cuda::getCurrentCUDAStream());
  return done;
}

void backward_all(const at::Tensor& grad, const at::Tensor& x, const Stack& stack,
                  const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved, const Backward& done) {
  const int64_t tail = tail_of(x, stack);
  if (tail == stack.size()) return large_backward(grad, x, stack, outputs, saved, done, tail, false);
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  SmallBackward small(x, stack, outputs, saved, done, tail);
  small.go_down(grad, stream);
  if (tail == 0) return small.multiply(stream);
  small.multiply(stream);
  large_backward(small.before(tail - 1), x, stack, outputs, saved, done, tail, true);
}

Backward backward(const at::Tensor& grad, const at::Tensor& x, const Stack& stack, const std::vector<at::Tensor>& outputs,
                  const std::vector<at::Tensor>& saved, bool needs_input) {
  const c10::cuda::CUDAGuard guard(x.device());
  check_layout("fused layers", x);
  Backward done;
  for (const at::Tensor& weight : stack.weights)
    done.weights.push_back(empty_gradient(weight));
  if (needs_input) done.input = at::empty({x.size(0), x.size(1)}, x.options());
  if (x.size(0) == 0) {
    for (at::Tensor& weight : done.weights) weight.zero_();
  } else {
    backward_all(grad, x, stack, outputs, saved, done);
  }
  return done;
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) { register_dense<&forward, &backward>(m); }

}  // namespace sweeper
