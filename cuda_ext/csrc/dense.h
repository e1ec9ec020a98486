// What the fully connected operators ask of their arguments, the same on every device.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>

#include <string>
#include <string_view>
#include <vector>

#include "shift.h"

namespace sweeper {

enum class Nonlinearity { kNone, kRelu, kGelu, kSigmoid };

inline Nonlinearity nonlinearity(const char* name, std::string_view activation) {
  if (activation == "none") return Nonlinearity::kNone;
  if (activation == "relu") return Nonlinearity::kRelu;
  if (activation == "gelu") return Nonlinearity::kGelu;
  TORCH_CHECK(activation == "sigmoid", name, ": expected activation 'none', 'relu', 'gelu' or 'sigmoid', got '",
              activation, "'");
  return Nonlinearity::kSigmoid;
}

// Layers of a stack: the augmented weights [outputs, 1 + inputs], bias first, and what follows each.
struct Stack {
  std::vector<at::Tensor> weights;
  std::vector<Nonlinearity> activations;

  int64_t size() const { return static_cast<int64_t>(weights.size()); }
  int64_t inputs(int64_t layer) const { return weights[layer].size(1) - 1; }
  int64_t outputs(int64_t layer) const { return weights[layer].size(0); }
  at::Tensor bias(int64_t layer) const { return weights[layer].select(1, 0); }
  at::Tensor matrix(int64_t layer) const { return weights[layer].narrow(1, 1, inputs(layer)); }
};

inline Stack checked_stack(const char* name, const at::Tensor& x, at::TensorList weights,
                           const std::vector<Nonlinearity>& activations) {
  check_element_type(name, x);
  TORCH_CHECK(x.dim() == 2, name, ": expected x of shape [rows, inputs], got sizes ", x.sizes());
  TORCH_CHECK(!weights.empty(), name, ": expected at least one weight");
  TORCH_CHECK(weights.size() == activations.size(), name, ": expected one activation a weight, got ",
              activations.size(), " for ", weights.size(), " weights");
  int64_t inputs = x.size(1);
  for (const at::Tensor& weight : weights) {
    TORCH_CHECK(weight.dim() == 2 && weight.size(1) == inputs + 1, name, ": expected a weight [outputs, 1 + ", inputs,
                "] with the bias first, got sizes ", weight.sizes());
    TORCH_CHECK(weight.device() == x.device(), name, ": expected weight on ", x.device(), " as x is, got ",
                weight.device());
    TORCH_CHECK(weight.scalar_type() == x.scalar_type(), name, ": expected weight of type ", x.dtype(), " as x is, got ",
                weight.dtype());
    inputs = weight.size(0);
  }
  return Stack{weights.vec(), activations};
}

inline std::vector<Nonlinearity> nonlinearities(const char* name, const c10::List<std::string>& activations) {
  std::vector<Nonlinearity> all;
  for (const std::string& activation : activations) all.push_back(nonlinearity(name, activation));
  return all;
}

inline void check_gradient(const char* name, const at::Tensor& grad, const at::Tensor& x, const Stack& stack) {
  TORCH_CHECK(grad.dim() == 2 && grad.size(0) == x.size(0) && grad.size(1) == stack.outputs(stack.size() - 1), name,
              ": expected a gradient [", x.size(0), ", ", stack.outputs(stack.size() - 1), "], got sizes ", grad.sizes());
  TORCH_CHECK(grad.scalar_type() == x.scalar_type() && grad.device() == x.device(), name, ": expected a gradient of type ",
              x.dtype(), " on ", x.device(), ", got ", grad.dtype(), " on ", grad.device());
}

// An uninitialised gradient of a weight: laid out as that is, unless elements of it share their memory.
inline at::Tensor empty_gradient(const at::Tensor& weight) {
  const bool by_rows = weight.stride(1) <= weight.stride(0);
  const int64_t inner = weight.stride(by_rows ? 1 : 0), outer = weight.stride(by_rows ? 0 : 1);
  const bool apart = inner >= 1 && outer >= inner * weight.size(by_rows ? 1 : 0);
  return apart ? at::empty_strided(weight.sizes(), weight.strides(), weight.options())
               : at::empty(weight.sizes(), weight.options());
}

struct Forward {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> saved;
};

struct Backward {
  at::Tensor input;                    // undefined where not asked for
  std::vector<at::Tensor> weights;
};

using ForwardFunction = Forward (*)(const at::Tensor& x, const Stack& stack);
using BackwardFunction = Backward (*)(const at::Tensor& grad, const at::Tensor& x, const Stack& stack,
                                      const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& saved,
                                      bool needs_input);

}  // namespace sweeper
