#include "large_layers.h"

#include <ATen/Context.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <type_traits>

namespace sweeper {
namespace {

using cuda::Operand;

// tf32's matrix units want both operands dense along the inner dimension; where they are not, the library's kernels are
// slower by more than what writing the gradient in the other layout takes. From about this many multiplications on.
constexpr int64_t kTurnedWork = int64_t(1) << 34;

// A row-major matrix [i, j] is the library's [j, i]; one that is stored the other way is that, transposed.
Operand operand(const at::Tensor& matrix) {
  const bool row_major = matrix.stride(1) == 1 && matrix.stride(0) >= matrix.size(1);
  return {matrix.const_data_ptr(), row_major ? matrix.stride(0) : matrix.stride(1), !row_major};
}

Operand flipped(Operand operand) {
  operand.transposed = !operand.transposed;
  return operand;
}

// Whether float32 products may go in tf32. Newer torch has a setting for each backend and operator, by name or by
// enumeration, and an older question that it refuses to answer where the two kinds of setting disagree.
template <typename C, typename Precision, typename Backend, typename Op>
bool asks_for_tf32(const C& context, Precision (C::*precision)(Backend, Op) const) {
  if constexpr (std::is_enum_v<Backend>) return (context.*precision)(Backend::CUDA, Op::MATMUL) == Precision::TF32;
  else return (context.*precision)("cuda", "matmul") == "tf32";
}

template <typename C>
auto allows_tf32(const C& context, int) -> decltype(asks_for_tf32(context, &C::float32Precision)) {
  return asks_for_tf32(context, &C::float32Precision);
}

template <typename C>
bool allows_tf32(const C& context, long) {
  return context.allowTF32CuBLAS();
}

class Large {
 public:
  Large(const at::Tensor& x, const Stack& stack)
      : stack_(stack),
        element_(element_of(x)),
        rows_(x.size(0)),
        device_(x.device().index()),
        tf32_(element_ == cuda::Element::kFloat && allows_tf32(at::globalContext(), 0)),
        stream_(c10::cuda::getCurrentCUDAStream()),
        bytes_(x.options().dtype(at::kByte)) {}

  void forward(int64_t layer, const at::Tensor& input, const at::Tensor& output, const at::Tensor& saved) {
    if (forward_at_once(layer, input, output, saved)) return;
    at::Tensor result = output;
    at::addmm_out(result, stack_.bias(layer), input, stack_.matrix(layer).t());
    activate(layer, output, saved);
  }

  // From the gradient of a layer's output to that before its activation and that of its bias; and the former turned
  // round, where the weight's product wants it. `grad` is overwritten where it is ours.
  at::Tensor pass_over(int64_t layer, const at::Tensor& grad, bool ours, const at::Tensor& output,
                       const at::Tensor& saved, const at::Tensor& bias, at::Tensor& turned) {
    const int64_t outputs = stack_.outputs(layer);
    const bool turns = tf32_ && rows_ * stack_.inputs(layer) * outputs >= kTurnedWork;
    const bool keeps = stack_.activations[layer] == Nonlinearity::kNone && grad.is_contiguous();
    const at::Tensor before = keeps || (ours && grad.is_contiguous()) ? grad : at::empty({rows_, outputs}, grad.options());
    if (turns) turned = at::empty({outputs, rows_}, grad.options());
    const at::Tensor partial = at::empty({cuda::partial_bytes(element_, rows_, outputs)}, bytes_);
    const cuda::View to_bias{bias.mutable_data_ptr(), bias.stride(0), 0};
    const cuda::GradientPass pass{view_of(grad), keeps ? nullptr : before.mutable_data_ptr(),
                                  turns ? turned.mutable_data_ptr() : nullptr, to_bias, partial.mutable_data_ptr()};
    C10_CUDA_CHECK(cuda::run_gradient_pass(element_, layer_of(stack_, layer, output, saved), rows_, pass, stream_));
    return before;
  }

  // Goes to the weight's columns after the bias.
  void weight_product(int64_t layer, const at::Tensor& before, const at::Tensor& turned, const at::Tensor& input,
                      const at::Tensor& weight_result) {
    at::Tensor matrix = weight_result.narrow(1, 1, stack_.inputs(layer));
    if (matrix.stride(0) == 1) {
      const Operand left = turned.defined() ? Operand{turned.const_data_ptr(), turned.stride(0), true}
                                            : Operand{before.const_data_ptr(), before.stride(0), false};
      if (run(stack_.outputs(layer), stack_.inputs(layer), rows_, left, flipped(operand(input)),
              matrix.mutable_data_ptr(), matrix.stride(1), CUBLASLT_EPILOGUE_DEFAULT, nullptr, nullptr, 0))
        return;
    }
    at::mm_out(matrix, before.t(), input);
  }

  void input_product(int64_t layer, const at::Tensor& before, const at::Tensor& result) {
    const at::Tensor matrix = stack_.matrix(layer);
    const Operand right{before.const_data_ptr(), before.stride(0), false};
    if (has_unit_stride(matrix) &&
        run(stack_.inputs(layer), rows_, stack_.outputs(layer), operand(matrix), right, result.mutable_data_ptr(),
            result.stride(0), CUBLASLT_EPILOGUE_DEFAULT, nullptr, nullptr, 0))
      return;
    at::Tensor to = result;
    at::mm_out(to, before, matrix);
  }

 private:
  bool run(int64_t m, int64_t n, int64_t k, Operand left, Operand right, void* result, int64_t leading,
           cublasLtEpilogue_t epilogue, void* bias, void* auxiliary, int64_t auxiliary_leading) {
    if (m == 0 || n == 0 || k == 0) return false;
    if (!workspace_.defined()) workspace_ = at::empty({cuda::kWorkspaceBytes}, bytes_);
    return cuda::run_library_product({element_, tf32_, m, n, k, left, right, result, leading, epilogue, bias, auxiliary,
                                      auxiliary_leading},
                                     device_, workspace_.mutable_data_ptr(), stream_);
  }

  bool forward_at_once(int64_t layer, const at::Tensor& input, const at::Tensor& output, const at::Tensor& saved) {
    const at::Tensor matrix = stack_.matrix(layer), bias = stack_.bias(layer);
    if (bias.stride(0) != 1 || !has_unit_stride(matrix)) return false;
    // For half types and operands that are not aligned the library rounds the product before it adds the bias.
    const bool half = element_ == cuda::Element::kBFloat16 || element_ == cuda::Element::kHalf;
    if (half && stack_.inputs(layer) % 8 != 0) return false;
    const Nonlinearity kind = stack_.activations[layer];
    // In float64 the library's GELU is only as exact as in float32.
    const bool gelu = kind == Nonlinearity::kGelu && element_ != cuda::Element::kDouble;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    if (kind == Nonlinearity::kRelu) epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    if (gelu) epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    // left: the weight as [outputs, inputs]; right: the input as [inputs, rows].
    if (!run(stack_.outputs(layer), rows_, stack_.inputs(layer), flipped(operand(matrix)), operand(input),
             output.mutable_data_ptr(), output.stride(0), epilogue, const_cast<void*>(bias.const_data_ptr()),
             gelu ? saved.mutable_data_ptr() : nullptr, gelu ? saved.stride(0) : 0))
      return false;
    if (kind == Nonlinearity::kSigmoid || (kind == Nonlinearity::kGelu && !gelu)) activate(layer, output, saved);
    return true;
  }

  void activate(int64_t layer, const at::Tensor& output, const at::Tensor& saved) {
    if (stack_.activations[layer] == Nonlinearity::kNone) return;
    C10_CUDA_CHECK(cuda::run_activation(element_, layer_of(stack_, layer, output, saved), rows_, stream_));
  }

  const Stack& stack_;
  cuda::Element element_;
  int64_t rows_;
  int device_;
  bool tf32_;
  cudaStream_t stream_;
  at::TensorOptions bytes_;
  at::Tensor workspace_;
};

}  // namespace

void large_forward(const at::Tensor& x, const Stack& stack, const Forward& done, int64_t end) {
  Large large(x, stack);
  for (int64_t layer = 0; layer < end; ++layer)
    large.forward(layer, layer > 0 ? done.outputs[layer - 1] : x, done.outputs[layer], done.saved[layer]);
}

void large_backward(const at::Tensor& grad, const at::Tensor& x, const Stack& stack,
                    const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved, const Backward& done,
                    int64_t end, bool finished) {
  Large large(x, stack);
  at::Tensor flowing = grad;
  for (int64_t layer = end - 1; layer >= 0; --layer) {
    const at::Tensor& weight = done.weights[layer];
    at::Tensor turned;
    if (!finished)
      flowing = large.pass_over(layer, flowing, layer < end - 1, outputs[layer], saved[layer], weight.select(1, 0), turned);
    finished = false;
    const at::Tensor next = layer > 0 ? at::empty({x.size(0), stack.inputs(layer)}, grad.options()) : done.input;
    large.weight_product(layer, flowing, turned, layer > 0 ? outputs[layer - 1] : x, weight);
    if (next.defined()) large.input_product(layer, flowing, next);
    flowing = next;
  }
}

}  // namespace sweeper
