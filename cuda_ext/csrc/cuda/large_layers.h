// Layers whose products are large enough for cuBLASLt: bias and activation in the forward product's epilogue, one pass
// over the gradient for activation and bias, and the two products of the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "../dense.h"
#include "elements.h"
#include "library_product.h"

namespace sweeper {

cuda::View view_of(const at::Tensor& matrix);
cuda::Layer layer_of(const Stack& stack, int64_t index, const at::Tensor& output, const at::Tensor& saved);

// Whether rows or columns are dense, as products take them.
bool has_unit_stride(const at::Tensor& matrix);

// Layers [0, end).
void large_forward(const at::Tensor& x, const Stack& stack, const Forward& done, int64_t end);

// Layers [0, end), from the gradient of the output of layer end - 1; where `finished`, from that before its activation,
// its bias's gradient having been dealt with. `done` holds the tensors for the results; its input is undefined where it
// is not asked for.
void large_backward(const at::Tensor& grad, const at::Tensor& x, const Stack& stack,
                    const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved, const Backward& done,
                    int64_t end, bool finished);

}  // namespace sweeper
