// Fully connected layers on the GPU. Small ones go to kernels of ours that do a whole pass in one launch or two; large
// ones to cuBLASLt, with bias, activation and their gradients in the products' epilogues; what that library has no
// kernel for, to torch's products and a pass for the activation.
#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstdlib>

#include "../dense_registration.h"
#include "library_product.h"

namespace sweeper {
namespace {

using cuda::Element;
using cuda::Layer;
using cuda::View;

constexpr int64_t kBitsRow = 128;    // ReLU's bits come in rows of whole 16 bytes, as cuBLASLt wants them

// Below this many multiplications of one product, starting it costs more than doing it slowly. Measured on an H100.
int64_t small_work() {
  static const int64_t limit = std::getenv("SMALL_WORK") ? std::atoll(std::getenv("SMALL_WORK")) : (int64_t(1) << 23);
  return limit;
}

Element element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return Element::kFloat;
    case at::kDouble: return Element::kDouble;
    case at::kBFloat16: return Element::kBFloat16;
    default: return Element::kHalf;
  }
}

cuda::Activation activation_of(Nonlinearity kind) {
  switch (kind) {
    case Nonlinearity::kRelu: return cuda::Activation::kRelu;
    case Nonlinearity::kGelu: return cuda::Activation::kGelu;
    case Nonlinearity::kSigmoid: return cuda::Activation::kSigmoid;
    default: return cuda::Activation::kNone;
  }
}

View view_of(const at::Tensor& matrix) {
  return {matrix.defined() ? const_cast<void*>(matrix.const_data_ptr()) : nullptr,
          matrix.defined() ? matrix.stride(0) : 0, matrix.defined() ? matrix.stride(1) : 0};
}

at::Tensor saved_for(const at::Tensor& x, Nonlinearity kind, int64_t outputs) {
  switch (kind) {
    case Nonlinearity::kRelu:
      return at::empty({x.size(0), (outputs + kBitsRow - 1) / kBitsRow * (kBitsRow / 8)}, x.options().dtype(at::kByte));
    case Nonlinearity::kGelu: return at::empty({x.size(0), outputs}, x.options());
    default: return at::empty({0}, x.options());
  }
}

Layer layer_of(const Stack& stack, int64_t index, const at::Tensor& output, const at::Tensor& saved) {
  Layer layer{};
  layer.weight = view_of(stack.weights[index]);
  layer.output = view_of(output);
  layer.inputs = stack.inputs(index);
  layer.outputs = stack.outputs(index);
  layer.activation = activation_of(stack.activations[index]);
  if (layer.activation == cuda::Activation::kGelu) layer.before = view_of(saved);
  if (layer.activation == cuda::Activation::kRelu) {
    layer.positive = const_cast<uint8_t*>(saved.const_data_ptr<uint8_t>());
    layer.pitch = saved.stride(0);
  }
  return layer;
}

// A matrix whose rows or columns are dense, as products take it.
bool has_unit_stride(const at::Tensor& matrix) {
  return (matrix.stride(1) == 1 && matrix.stride(0) >= matrix.size(1)) ||
         (matrix.stride(0) == 1 && matrix.stride(1) >= matrix.size(0));
}

bool is_small(const at::Tensor& x, const Stack& stack) {
  if (stack.size() > cuda::kMostLayers || x.numel() == 0) return false;
  std::vector<int64_t> widths{stack.inputs(0)};
  for (int64_t layer = 0; layer < stack.size(); ++layer) {
    if (x.size(0) * (stack.inputs(layer) + 1) * stack.outputs(layer) > small_work()) return false;
    widths.push_back(stack.outputs(layer));
  }
  return stack.size() == 1 ||
         cuda::fits_small_stack(element_of(x), widths.data(), static_cast<int>(widths.size()), x.size(0));
}

Forward empty_outputs(const at::Tensor& x, const Stack& stack) {
  Forward done;
  for (int64_t layer = 0; layer < stack.size(); ++layer) {
    done.outputs.push_back(at::empty({x.size(0), stack.outputs(layer)}, x.options()));
    done.saved.push_back(saved_for(x, stack.activations[layer], stack.outputs(layer)));
  }
  return done;
}

void small_forward(const at::Tensor& x, const Stack& stack, const Forward& done, cudaStream_t stream) {
  if (stack.size() == 1) {
    cuda::SmallProduct product{};
    product.role = cuda::ProductRole::kForward;
    product.rows = x.size(0);
    product.layer = layer_of(stack, 0, done.outputs[0], done.saved[0]);
    product.input = view_of(x);
    C10_CUDA_CHECK(cuda::run_small_products(element_of(x), &product, 1, stream));
    return;
  }
  cuda::SmallStack small{};
  small.count = static_cast<int>(stack.size());
  small.rows = x.size(0);
  small.input = view_of(x);
  for (int64_t layer = 0; layer < stack.size(); ++layer)
    small.layers[layer] = layer_of(stack, layer, done.outputs[layer], done.saved[layer]);
  C10_CUDA_CHECK(cuda::run_small_forward(element_of(x), small, stream));
}

// The products of a small backward pass: the weights' gradients and the input's.
void small_products(const at::Tensor& x, const Stack& stack, const std::vector<at::Tensor>& outputs,
                    const std::vector<at::Tensor>& saved, const std::vector<View>& gradients, bool differentiate,
                    const Backward& done, cudaStream_t stream) {
  std::vector<cuda::SmallProduct> products;
  for (int64_t layer = 0; layer < stack.size(); ++layer) {
    cuda::SmallProduct product{};
    product.role = cuda::ProductRole::kWeight;
    product.differentiate = differentiate;
    product.rows = x.size(0);
    product.layer = layer_of(stack, layer, outputs[layer], saved[layer]);
    product.input = view_of(layer > 0 ? outputs[layer - 1] : x);
    product.gradient = gradients[layer];
    product.result = view_of(done.weights[layer]);
    products.push_back(product);
    if (layer == 0 && done.input.defined()) {
      product.role = cuda::ProductRole::kInput;
      product.result = view_of(done.input);
      products.push_back(product);
    }
  }
  C10_CUDA_CHECK(
      cuda::run_small_products(element_of(x), products.data(), static_cast<int>(products.size()), stream));
}

void small_backward(const at::Tensor& grad, const at::Tensor& x, const Stack& stack,
                    const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved, const Backward& done,
                    cudaStream_t stream) {
  if (stack.size() == 1) return small_products(x, stack, outputs, saved, {view_of(grad)}, true, done, stream);
  cuda::SmallStack small{};
  small.count = static_cast<int>(stack.size());
  small.rows = x.size(0);
  small.input = view_of(x);
  small.gradient = view_of(grad);
  std::vector<at::Tensor> kept;
  std::vector<View> gradients;
  for (int64_t layer = 0; layer < stack.size(); ++layer) {
    kept.push_back(at::empty({x.size(0), stack.outputs(layer)}, x.options()));
    gradients.push_back(view_of(kept.back()));
    small.layers[layer] = layer_of(stack, layer, outputs[layer], saved[layer]);
    small.gradients[layer] = gradients.back();
  }
  C10_CUDA_CHECK(cuda::run_small_backward(element_of(x), small, stream));
  small_products(x, stack, outputs, saved, gradients, false, done, stream);
}

// Products on large matrices: row-major results are the library's column-major ones of the transposed matrices.
class Large {
 public:
  Large(const at::Tensor& x, const Stack& stack)
      : stack_(stack),
        element_(element_of(x)),
        rows_(x.size(0)),
        device_(x.device().index()),
        stream_(c10::cuda::getCurrentCUDAStream()),
        workspace_(at::empty({cuda::kWorkspaceBytes}, x.options().dtype(at::kByte))) {}

  void forward(int64_t layer, const at::Tensor& input, const at::Tensor& output, const at::Tensor& saved) {
    if (forward_at_once(layer, input, output, saved)) return;
    at::Tensor result = output;
    at::addmm_out(result, stack_.bias(layer), input, stack_.matrix(layer).t());
    activate(layer, output, saved);
  }

  // The gradient before the activation of `layer`, from that of its output.
  at::Tensor before_activation(int64_t layer, const at::Tensor& grad, const at::Tensor& output, const at::Tensor& saved) {
    if (stack_.activations[layer] == Nonlinearity::kNone && grad.is_contiguous()) return grad;
    at::Tensor result = at::empty({rows_, stack_.outputs(layer)}, output.options());
    C10_CUDA_CHECK(cuda::run_activation_gradient(element_, layer_of(stack_, layer, output, saved), rows_, view_of(grad),
                                                 result.mutable_data_ptr(), stream_));
    return result;
  }

  // Gradient of `layer`'s weight, with the bias's unless `bias_done`.
  void weight(int64_t layer, const at::Tensor& grad, const at::Tensor& input, const at::Tensor& result, bool bias_done) {
    at::Tensor bias = result.select(1, 0), matrix = result.narrow(1, 1, stack_.inputs(layer));
    if (matrix.stride(0) == 1 && bias.stride(0) == 1) {
      const cuda::Operand left{grad.const_data_ptr(), grad.stride(0), false};
      const auto epilogue = bias_done ? CUBLASLT_EPILOGUE_DEFAULT : CUBLASLT_EPILOGUE_BGRADA;
      if (run(stack_.outputs(layer), stack_.inputs(layer), rows_, left, flipped(operand(input)),
              matrix.mutable_data_ptr(), matrix.stride(1), epilogue, bias_done ? nullptr : bias.mutable_data_ptr(),
              nullptr, 0))
        return;
    }
    at::mm_out(matrix, grad.t(), input);
    if (!bias_done) at::sum_out(bias, grad, {0});
  }

  // Gradient of `layer`'s input. With the layer below, its activation and its bias's gradient go along where they can;
  // `done` says whether they did.
  at::Tensor input(int64_t layer, const at::Tensor& grad, const at::Tensor& below_saved, const at::Tensor& below_result,
                   bool& done) {
    at::Tensor result = at::empty({rows_, stack_.inputs(layer)}, grad.options());
    const cuda::Operand right{grad.const_data_ptr(), grad.stride(0), false};
    const at::Tensor matrix = stack_.matrix(layer);
    done = false;
    if (below_result.defined() && has_unit_stride(matrix)) {
      const Nonlinearity below = stack_.activations[layer - 1];
      at::Tensor bias = below_result.select(1, 0);
      const bool relu = below == Nonlinearity::kRelu;
      if ((relu || below == Nonlinearity::kGelu) && bias.stride(0) == 1)
        done = run(stack_.inputs(layer), rows_, stack_.outputs(layer), operand(matrix), right,
                   result.mutable_data_ptr(), result.stride(0),
                   relu ? CUBLASLT_EPILOGUE_DRELU_BGRAD : CUBLASLT_EPILOGUE_DGELU_BGRAD, bias.mutable_data_ptr(),
                   const_cast<void*>(below_saved.const_data_ptr()),
                   relu ? below_saved.stride(0) * 8 : below_saved.stride(0));
      if (done) return result;
    }
    if (has_unit_stride(matrix) &&
        run(stack_.inputs(layer), rows_, stack_.outputs(layer), operand(matrix), right,
            result.mutable_data_ptr(), result.stride(0), CUBLASLT_EPILOGUE_DEFAULT, nullptr, nullptr, 0))
      return result;
    at::mm_out(result, grad, matrix);
    return result;
  }

 private:
  // A row-major matrix [i, j] is the column-major [j, i]; one that is stored the other way is that, transposed.
  static cuda::Operand operand(const at::Tensor& matrix) {
    const bool row_major = matrix.stride(1) == 1 && matrix.stride(0) >= matrix.size(1);
    return {matrix.const_data_ptr(), row_major ? matrix.stride(0) : matrix.stride(1), !row_major};
  }

  static cuda::Operand flipped(cuda::Operand operand) {
    operand.transposed = !operand.transposed;
    return operand;
  }

  bool run(int64_t m, int64_t n, int64_t k, cuda::Operand left, cuda::Operand right, void* result, int64_t leading,
           cublasLtEpilogue_t epilogue, void* bias, void* auxiliary, int64_t auxiliary_leading) {
    if (m == 0 || n == 0 || k == 0) return false;
    const bool tf32 = at::globalContext().allowTF32CuBLAS();
    return cuda::run_library_product({element_, tf32, m, n, k, left, right, result, leading, epilogue, bias, auxiliary,
                                      auxiliary_leading},
                                     device_, workspace_.mutable_data_ptr(), stream_);
  }

  bool forward_at_once(int64_t layer, const at::Tensor& input, const at::Tensor& output, const at::Tensor& saved) {
    const at::Tensor matrix = stack_.matrix(layer), bias = stack_.bias(layer);
    if (bias.stride(0) != 1 || !has_unit_stride(matrix)) return false;
    const Nonlinearity kind = stack_.activations[layer];
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    void* auxiliary = nullptr;
    int64_t leading = 0;
    if (kind == Nonlinearity::kRelu) {
      epilogue = CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
      auxiliary = saved.mutable_data_ptr();
      leading = saved.stride(0) * 8;
    } else if (kind == Nonlinearity::kGelu) {
      epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
      auxiliary = saved.mutable_data_ptr();
      leading = saved.stride(0);
    }
    // left: the weight as [outputs, inputs]; right: the input as [inputs, rows].
    if (!run(stack_.outputs(layer), rows_, stack_.inputs(layer), flipped(operand(matrix)), operand(input),
             output.mutable_data_ptr(), output.stride(0), epilogue, const_cast<void*>(bias.const_data_ptr()), auxiliary,
             leading))
      return false;
    if (kind == Nonlinearity::kSigmoid) activate(layer, output, saved);
    return true;
  }

  void activate(int64_t layer, const at::Tensor& output, const at::Tensor& saved) {
    if (stack_.activations[layer] == Nonlinearity::kNone) return;
    C10_CUDA_CHECK(cuda::run_activation(element_, layer_of(stack_, layer, output, saved), rows_, stream_));
  }

  const Stack& stack_;
  Element element_;
  int64_t rows_;
  int device_;
  cudaStream_t stream_;
  at::Tensor workspace_;
};

void check_layout(const char* name, const at::Tensor& x) {
  TORCH_CHECK(x.numel() == 0 || has_unit_stride(x), name, ": expected x with rows or columns that are dense, got strides ",
              x.strides(), " for sizes ", x.sizes(), "; pass x.contiguous()");
}

Forward forward(const at::Tensor& x, const Stack& stack) {
  const c10::cuda::CUDAGuard guard(x.device());
  Forward done = empty_outputs(x, stack);
  if (is_small(x, stack)) {
    small_forward(x, stack, done, c10::cuda::getCurrentCUDAStream());
    return done;
  }
  check_layout("fused_mlp", x);
  Large large(x, stack);
  for (int64_t layer = 0; layer < stack.size(); ++layer)
    large.forward(layer, layer > 0 ? done.outputs[layer - 1] : x, done.outputs[layer], done.saved[layer]);
  return done;
}

void large_backward(const at::Tensor& grad, const at::Tensor& x, const Stack& stack,
                    const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved, bool needs_input,
                    Backward& done) {
  Large large(x, stack);
  const int64_t top = stack.size() - 1;
  at::Tensor flowing = large.before_activation(top, grad, outputs[top], saved[top]);
  bool bias_done = false;
  for (int64_t layer = top; layer >= 0; --layer) {
    large.weight(layer, flowing, layer > 0 ? outputs[layer - 1] : x, done.weights[layer], bias_done);
    if (layer == 0) {
      if (needs_input) done.input = large.input(0, flowing, {}, {}, bias_done);
      break;
    }
    flowing = large.input(layer, flowing, saved[layer - 1], done.weights[layer - 1], bias_done);
    if (!bias_done) flowing = large.before_activation(layer - 1, flowing, outputs[layer - 1], saved[layer - 1]);
  }
}

Backward backward(const at::Tensor& grad, const at::Tensor& x, const Stack& stack, const std::vector<at::Tensor>& outputs,
                  const std::vector<at::Tensor>& saved, bool needs_input) {
  const c10::cuda::CUDAGuard guard(x.device());
  Backward done;
  for (const at::Tensor& weight : stack.weights)
    done.weights.push_back(at::empty_strided(weight.sizes(), weight.strides(), weight.options()));
  if (is_small(x, stack)) {
    if (needs_input) done.input = at::empty({x.size(0), x.size(1)}, x.options());
    small_backward(grad, x, stack, outputs, saved, done, c10::cuda::getCurrentCUDAStream());
    return done;
  }
  check_layout("fused_mlp_backward", x);
  large_backward(grad, x, stack, outputs, saved, needs_input, done);
  return done;
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) { register_dense<&forward, &backward>(m); }

}  // namespace sweeper
