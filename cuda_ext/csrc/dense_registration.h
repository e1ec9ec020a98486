// The four fully connected operators of a device, from its two functions.
#pragma once

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "dense.h"

namespace sweeper {

template <ForwardFunction Run>
std::tuple<std::vector<at::Tensor>, std::vector<at::Tensor>> fused_mlp(
    const at::Tensor& x, at::TensorList weights, const c10::List<std::string>& activations) {
  Forward done = Run(x, checked_stack("fused_mlp", x, weights, nonlinearities("fused_mlp", activations)));
  return {std::move(done.outputs), std::move(done.saved)};
}

template <ForwardFunction Run>
std::tuple<at::Tensor, at::Tensor> fused_linear(
    const at::Tensor& x, const at::Tensor& weight, c10::string_view activation) {
  const Nonlinearity kind = nonlinearity("fused_linear", {activation.data(), activation.size()});
  Forward done = Run(x, checked_stack("fused_linear", x, {weight}, {kind}));
  return {done.outputs[0], done.saved[0]};
}

inline at::Tensor or_empty(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.defined() ? tensor : at::empty({0}, like.options());
}

template <BackwardFunction Run>
std::tuple<at::Tensor, std::vector<at::Tensor>> fused_mlp_backward(
    const at::Tensor& grad, const at::Tensor& x, at::TensorList weights, at::TensorList outputs, at::TensorList saved,
    const c10::List<std::string>& activations, bool needs_input) {
  const char* name = "fused_mlp_backward";
  const Stack stack = checked_stack(name, x, weights, nonlinearities(name, activations));
  check_gradient(name, grad, x, stack);
  TORCH_CHECK(outputs.size() == weights.size() && saved.size() == weights.size(), name,
              ": expected the outputs and the saved tensors of all ", weights.size(), " layers");
  Backward done = Run(grad, x, stack, outputs.vec(), saved.vec(), needs_input);
  return {or_empty(done.input, x), std::move(done.weights)};
}

template <BackwardFunction Run>
std::tuple<at::Tensor, at::Tensor> fused_linear_backward(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& output,
    const at::Tensor& saved, c10::string_view activation, bool needs_input) {
  const char* name = "fused_linear_backward";
  const Nonlinearity kind = nonlinearity(name, {activation.data(), activation.size()});
  const Stack stack = checked_stack(name, x, {weight}, {kind});
  check_gradient(name, grad, x, stack);
  Backward done = Run(grad, x, stack, {output}, {saved}, needs_input);
  return {or_empty(done.input, x), done.weights[0]};
}

template <ForwardFunction Run, BackwardFunction RunBackward>
void register_dense(torch::Library& m) {
  m.impl("fused_mlp", &fused_mlp<Run>);
  m.impl("fused_mlp_backward", &fused_mlp_backward<RunBackward>);
  m.impl("fused_linear", &fused_linear<Run>);
  m.impl("fused_linear_backward", &fused_linear_backward<RunBackward>);
}

}  // namespace sweeper
