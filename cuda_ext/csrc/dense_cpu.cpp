// Fully connected layers on the CPU: the library's products on views of the augmented weight, and no copy of one.
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/threshold_backward.h>

#include "dense_registration.h"

namespace sweeper {
namespace {

Forward forward(const at::Tensor& x, const Stack& stack) {
  Forward done;
  at::Tensor input = x;
  for (int64_t layer = 0; layer < stack.size(); ++layer) {
    at::Tensor output = at::empty({x.size(0), stack.outputs(layer)}, x.options());
    at::addmm_out(output, stack.bias(layer), input, stack.matrix(layer).t());
    at::Tensor saved = at::empty({0}, x.options());
    switch (stack.activations[layer]) {
      case Nonlinearity::kRelu: at::relu_(output); break;
      case Nonlinearity::kSigmoid: at::sigmoid_(output); break;
      case Nonlinearity::kGelu:
        saved = output;
        output = at::gelu(saved, "tanh");
        break;
      case Nonlinearity::kNone: break;
    }
    done.outputs.push_back(output);
    done.saved.push_back(saved);
    input = output;
  }
  return done;
}

at::Tensor before_activation(const at::Tensor& grad, Nonlinearity activation, const at::Tensor& output,
                             const at::Tensor& saved) {
  switch (activation) {
    case Nonlinearity::kRelu: return at::threshold_backward(grad, output, 0);
    case Nonlinearity::kSigmoid: return at::sigmoid_backward(grad, output);
    case Nonlinearity::kGelu: return at::gelu_backward(grad, saved, "tanh");
    default: return grad;
  }
}

Backward backward(const at::Tensor& grad, const at::Tensor& x, const Stack& stack, const std::vector<at::Tensor>& outputs,
                  const std::vector<at::Tensor>& saved, bool needs_input) {
  Backward done;
  done.weights.resize(stack.size());
  at::Tensor flowing = grad;
  for (int64_t layer = stack.size() - 1; layer >= 0; --layer) {
    flowing = before_activation(flowing, stack.activations[layer], outputs[layer], saved[layer]);
    const at::Tensor& weight = stack.weights[layer];
    const at::Tensor& input = layer > 0 ? outputs[layer - 1] : x;
    at::Tensor result = empty_gradient(weight);
    at::Tensor bias = result.select(1, 0), matrix = result.narrow(1, 1, stack.inputs(layer));
    at::sum_out(bias, flowing, {0});
    at::mm_out(matrix, flowing.t(), input);
    done.weights[layer] = result;
    if (layer > 0 || needs_input) flowing = at::mm(flowing, stack.matrix(layer));
  }
  if (needs_input) done.input = flowing;
  return done;
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CPU, m) { register_dense<&forward, &backward>(m); }

}  // namespace sweeper
