// The operators' schemas. Kernels register themselves in the files of their device; what autograd and tracing need is in
// ops.py.
#include <torch/library.h>

TORCH_LIBRARY(sweeper, m) {
  m.def("shift_right_(Tensor(a!) storage, int rows, int cols, float fill=1.0, *, str algorithm='single-pass') -> ()");
  m.def("shift_left_(Tensor(a!) storage, int rows, int cols, *, str algorithm='single-pass') -> ()");
  m.def("shift_right(Tensor x, float fill=1.0) -> Tensor");
  m.def("shift_left(Tensor x) -> Tensor");
  // Outputs of all layers, the last one last, and what the backward pass needs of each activation.
  m.def("fused_mlp(Tensor x, Tensor[] weights, str[] activations) -> (Tensor[], Tensor[])");
  m.def(
      "fused_mlp_backward(Tensor grad, Tensor x, Tensor[] weights, Tensor[] outputs, Tensor[] saved, "
      "str[] activations, bool needs_input) -> (Tensor, Tensor[])");
  m.def("fused_linear(Tensor x, Tensor weight, str activation='none') -> (Tensor, Tensor)");
  m.def(
      "fused_linear_backward(Tensor grad, Tensor x, Tensor weight, Tensor output, Tensor saved, str activation, "
      "bool needs_input) -> (Tensor, Tensor)");
  m.def("relu_avg_pool(Tensor x, Tensor bias, int size, int stride) -> Tensor");
  m.def(
      "relu_avg_pool_backward(Tensor grad, Tensor x, Tensor bias, int size, int stride) -> (Tensor, Tensor)");
  m.def("sgd_step_(Tensor(a!) weights, Tensor gradients, Tensor(b!)? velocity, Tensor numbers) -> ()");
  m.def("picture_conv(Tensor pictures, Tensor weight, int padding, *, ScalarType? dtype=None) -> Tensor");
  m.def("picture_conv_weight_gradient(Tensor grad, Tensor pictures, int kernel, int padding) -> Tensor");
  m.def("maps_weight_gradient(Tensor grad, Tensor input, int kernel, int padding) -> Tensor");
  m.def(
      "augmented(Tensor pictures, Tensor positions, Tensor start, bool flip, int shift, int cutout) -> Tensor");
}
