// Kernels of the fully connected layers, and what the host side hands them. No torch here, so that it compiles quickly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sweeper::cuda {

enum class Element { kFloat, kDouble, kBFloat16, kHalf };
enum class Activation { kNone, kRelu, kGelu, kSigmoid };

// A matrix of any layout: element (i, j) lies at data + i * row + j * column.
struct View {
  void* data;
  int64_t row;
  int64_t column;
};

// A layer as a kernel sees it. `weight` is the augmented [outputs, 1 + inputs] matrix, bias first.
// What the backward pass needs of the activation: for ReLU and sigmoid the output, for GELU its argument.
struct Layer {
  View weight;
  View output;            // [rows, outputs]
  View before;            // GELU's argument [rows, outputs]
  int64_t inputs;
  int64_t outputs;
  Activation activation;
};

// One product of several that go in one launch; see ProductRole for what is multiplied.
enum class ProductRole {
  kForward,      // output = activation([1, input] weight^T)
  kInput,        // input gradient = gradient weight, without the bias column
  kWeight,       // weight gradient = gradient^T [1, input]
};

struct SmallProduct {
  ProductRole role;
  bool differentiate;     // `gradient` is that of the output: multiply by the activation's derivative on the way
  bool bias_only;         // of a weight gradient its first column, the bias's
  int64_t rows;
  Layer layer;
  View input;             // [rows, inputs]
  View gradient;          // [rows, outputs]
  View result;            // input gradient or weight gradient
};

constexpr int kMostLayers = 8;

// All products of `products` in one launch, each tile of each by its own block.
cudaError_t run_small_products(Element element, const SmallProduct* products, int count, cudaStream_t stream);

struct SmallStack {
  Layer layers[kMostLayers];
  View gradients[kMostLayers];   // [rows, outputs] of each layer before its activation, written by the backward pass
  int count;
  int64_t rows;
  View input;
  View gradient;                 // of the last layer's output
};

// A whole stack in one launch, a few rows a block: the outputs of all layers, or the gradients before each activation
// (for which the first layer's weight is not needed).
cudaError_t run_small_forward(Element element, const SmallStack& stack, cudaStream_t stream);
cudaError_t run_small_backward(Element element, const SmallStack& stack, cudaStream_t stream);

// Whether `count` layers of these widths, from the first's inputs to the last's outputs, fit, also with one below them.
bool fits_small_stack(Element element, const int64_t* widths, int count, int64_t rows);

// output = activation(output), with GELU's argument put aside; `layer.output` holds the argument. [rows, outputs]
cudaError_t run_activation(Element element, const Layer& layer, int64_t rows, cudaStream_t stream);

// What one pass over a layer's gradient gives: that before the activation, and the bias's.
struct GradientPass {
  View gradient;          // [rows, outputs], of the layer's output
  void* before;           // [rows, outputs], rows dense; null where it is not wanted. May be the gradient itself.
  void* transposed;       // the same as [outputs, rows]; float32 only; null where it is not wanted
  View bias;              // [outputs, 1]
  void* partial;          // partial_bytes()
};

int64_t partial_bytes(Element element, int64_t rows, int64_t outputs);
cudaError_t run_gradient_pass(
    Element element, const Layer& layer, int64_t rows, const GradientPass& pass, cudaStream_t stream);

}  // namespace sweeper::cuda
