"""The compiled operators as functions, with what tracing and autograd need to know of them.

All take float32, float64, bfloat16 and float16, on the CPU and on CUDA. `weight` is the paper's augmented matrix
[outputs, 1 + inputs], bias first (section 4); make it with `empty_augmented`, whose memory products like best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from cuda_ext.load import ExtensionError, load_operators

_BUILT = load_operators()
_NAMESPACE = torch.ops.sweeper
ACTIVATIONS = ("none", "relu", "gelu", "sigmoid")
ALIGNMENT_BYTES = 16


def shift_right_(storage: Tensor, rows: int, cols: int, fill: float = 1.0, *, algorithm: str = "single-pass") -> None:
    """Make room, in place, for a first column of `fill`: the matrix [rows, cols] at the start becomes [rows, 1 + cols].

    Args:
        storage: contiguous, of at least rows * (cols + 1) elements; what lies behind these stays as it is.
        rows, cols: of the matrix that `storage` begins with, row by row.
        fill: the new column's value.
        algorithm: "single-pass", or "paper" for the two kernels of the paper's section 4.2, which need a helper of
            rows * (rows - 1) / 2 elements and are right only where rows <= cols + 1.

    Raises:
        RuntimeError: a wrong type, device, layout, capacity or shape.
    """
    _need_kernels(storage)
    _note_change(storage)
    _NAMESPACE.shift_right_(storage, rows, cols, fill, algorithm=algorithm)


def shift_left_(storage: Tensor, rows: int, cols: int, *, algorithm: str = "single-pass") -> None:
    """Take the first column away, in place: the matrix [rows, 1 + cols] at the start of `storage` becomes [rows, cols].

    What lies behind these rows * cols elements stays as it is. Arguments and errors as for `shift_right_`; the paper's
    algorithm is that of its section 4.3.
    """
    _need_kernels(storage)
    _note_change(storage)
    _NAMESPACE.shift_left_(storage, rows, cols, algorithm=algorithm)


def shift_right(x: Tensor, fill: float = 1.0) -> Tensor:
    """A new matrix [rows, 1 + cols] of `fill` and x [rows, cols], of any strides. Differentiable."""
    result: Tensor = _NAMESPACE.shift_right(x, fill)
    return result


def shift_left(x: Tensor) -> Tensor:
    """A new matrix [rows, cols] of x [rows, 1 + cols], of any strides, without its first column. Differentiable."""
    result: Tensor = _NAMESPACE.shift_left(x)
    return result


def fused_linear(x: Tensor, weight: Tensor, activation: str = "none") -> Tensor:
    """activation([1, x] weight^T): a fully connected layer as one product, forward and backward. Differentiable, once.

    Args:
        x: [..., inputs]; on CUDA its rows or columns are dense.
        weight: [outputs, 1 + inputs], bias first, of x's type and on its device. Right for every layout; fast for that
            of `empty_augmented`.
        activation: "none", "relu", "gelu" (the tanh approximation) or "sigmoid".

    Returns:
        [..., outputs]. Under autocast, x and weight are cast first.

    Raises:
        RuntimeError: a wrong type, device, layout or shape.
    """
    _need_kernels(x)
    x, weight = _autocast(x, weight)
    output: Tensor = _NAMESPACE.fused_linear(_as_rows(x), weight, activation)[0]
    return output.reshape(*x.shape[:-1], output.shape[-1])


def fused_mlp(x: Tensor, weights: Sequence[Tensor], activations: Sequence[str]) -> Tensor:
    """`fused_linear` for layer after layer, as one operator: small layers go together in one launch each way.

    Args and errors as for `fused_linear`; one weight and one activation a layer.
    """
    _need_kernels(x)
    x, *cast = _autocast(x, *weights)
    output: Tensor = _NAMESPACE.fused_mlp(_as_rows(x), cast, list(activations))[0][-1]
    return output.reshape(*x.shape[:-1], output.shape[-1])


def relu_avg_pool(x: Tensor, bias: Tensor, size: int, stride: int) -> Tensor:
    """The mean over windows of relu(x + bias): a convolution's bias, its ReLU and average pooling in one pass each way.

    Differentiable, once.

    Args:
        x: maps [images, channels, height, width], of fewer than 2^31 pixels; best channels last in memory, else copied.
        bias: [channels], on x's device; cast to the type of sums: float32, and float64 for x of float64.
        size, stride: of the square windows in pixels; no padding, and none that would reach over the edge.

    Returns:
        [images, channels, (height - size) // stride + 1, (width - size) // stride + 1], channels last in memory.

    Raises:
        RuntimeError: a wrong type, device or shape.
    """
    _need_kernels(x)
    sums = torch.float64 if x.dtype == torch.float64 else torch.float32
    result: Tensor = _NAMESPACE.relu_avg_pool(x, bias.to(sums), size, stride)
    return result


def picture_conv(pictures: Tensor, weight: Tensor, padding: int, dtype: torch.dtype | None = None) -> Tensor:
    """A convolution over pictures of few channels, of stride 1 and without a bias. Differentiable, once, by `weight`.

    On CUDA products are in tf32 and sums in float32, in an order that is the same in every run.

    Args:
        pictures: float32 [images, channels, height, width], of at most 64 x 64 pixels; best channels last in memory,
            else copied. It gets no gradient.
        weight: float32 [maps, channels, kernel, kernel]: a multiple of 16 maps, a kernel of 3 or 5 pixels, and at most
            16 values in a row of the kernel.
        padding: zeros on each side.
        dtype: of the result: float32, or bfloat16.

    Returns:
        [images, maps, height + 2 padding - kernel + 1, width + 2 padding - kernel + 1], channels last in memory.

    Raises:
        RuntimeError: a wrong type, device or shape; or pictures that need a gradient.
    """
    _need_kernels(pictures)
    if pictures.requires_grad:
        raise RuntimeError("picture_conv: pictures get no gradient; use torch's conv2d where they need one")
    result: Tensor = _NAMESPACE.picture_conv(pictures, weight, padding, dtype=dtype)
    return result


def maps_weight_gradient(grad: Tensor, input: Tensor, kernel: int, padding: int) -> Tensor:
    """The gradient of the weights of a convolution of stride 1 over maps of many channels. Not differentiable.

    On CUDA products are in tf32 and sums in float32, in an order that is the same in every run.

    Args:
        grad: [images, maps, height', width'] of the result, float32 or bfloat16; a multiple of 32 maps.
        input: [images, channels, height, width] of grad's type; a multiple of 8 channels, at most 64.
        kernel: 3 or 5 pixels; padding: zeros on each side.

    Returns:
        float32 [maps, channels, kernel, kernel], channels last in memory.

    Raises:
        RuntimeError: a wrong type, device or shape, or rows of maps too long for a GPU's shared memory.
    """
    _need_kernels(input)
    result: Tensor = _NAMESPACE.maps_weight_gradient(grad, input, kernel, padding)
    return result


def sgd_step_(weights: Tensor, gradients: Tensor, velocity: Tensor | None, numbers: Tensor) -> None:
    """g = gradient + decay * weight; velocity = momentum * velocity + g; weight -= rate * velocity, in one pass.

    Without a velocity g takes its place. It computes as torch's fused SGD does: in float64, and rounds g, the velocity
    and the weight.

    Args:
        weights, gradients, velocity: contiguous, of one shape, float32 or float64; on CUDA aligned to 16 bytes.
        numbers: rate, momentum and decay as float64 [3] on the same device: a CUDA graph that holds a step serves any.

    Raises:
        RuntimeError: a wrong type, device, layout or shape.
    """
    _need_kernels(weights)
    _NAMESPACE.sgd_step_(weights, gradients, velocity, numbers)


def augmented(pictures: Tensor, positions: Tensor, start: Tensor, flip: bool, shift: int, cutout: int) -> Tensor:
    """New pictures, each moved, mirrored and cut as `cuda_ext.reference.augmented` says; in one pass.

    Args:
        pictures: [n, channels, height, width], dense or channels last in memory; the result is laid out alike.
        positions: int64 [n], and `start`, one int64: both on the pictures' device, so that a CUDA graph serves any.
        flip: mirror about half of them left and right.
        shift: pixels up to which they move in each direction; cutout: pixels of the square's side, 0 for none.

    Raises:
        RuntimeError: a wrong type, device, layout or shape; or pictures that require gradients, which it does not have.
    """
    if pictures.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("augmented: has no gradients, and the pictures require them; detach them")
    _need_kernels(pictures)
    result: Tensor = _NAMESPACE.augmented(pictures, positions, start, flip, shift, cutout)
    return result


def empty_augmented(
    outputs: int, inputs: int, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
) -> Tensor:
    """An uninitialised augmented weight [outputs, 1 + inputs] in the layout that products like.

    It is stored by columns: the bias first, as one dense vector, then a dense vector for each input, each from a
    multiple of 16 bytes on. So both the bias and the matrix after it are aligned, which no matrix of 1 + inputs columns
    that is stored by rows can offer.
    """
    dtype = dtype or torch.get_default_dtype()
    step = ALIGNMENT_BYTES // dtype.itemsize
    leading = max(step, -(-outputs // step) * step)
    return torch.empty(1 + inputs, leading, dtype=dtype, device=device).t()[:outputs]


def _as_rows(x: Tensor) -> Tensor:
    return x if x.dim() == 2 else x.reshape(x.shape[:-1].numel(), x.shape[-1])


def _need_kernels(tensor: Tensor) -> None:
    if tensor.is_cuda and not _BUILT.cuda:
        raise ExtensionError("the operators were built without CUDA kernels", "run `python -m cuda_ext.build --cuda`")


def _note_change(storage: Tensor) -> None:
    """Tell autograd of a change in place: it refuses gradients that would need what was there before."""
    if storage.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            "a storage that requires gradients cannot be shifted in place; use shift_right or shift_left"
        )
    if not torch.compiler.is_compiling():
        torch.autograd.graph.increment_version(storage)


def _autocast(*tensors: Tensor) -> tuple[Tensor, ...]:
    device = tensors[0].device.type
    if device not in ("cpu", "cuda") or not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return tuple(
        tensor.to(dtype) if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor
        for tensor in tensors
    )


# What follows tells torch.compile the operators' results without running them, and autograd their gradients.


def _shift_right_in_place(
    storage: Tensor, rows: int, cols: int, fill: float = 1.0, *, algorithm: str = "single-pass"
) -> None:
    return None


def _shift_left_in_place(storage: Tensor, rows: int, cols: int, *, algorithm: str = "single-pass") -> None:
    return None


def _picture_conv_shape(pictures: Tensor, weight: Tensor, padding: int, *, dtype: torch.dtype | None = None) -> Tensor:
    sides = [pixels + 2 * padding - weight.shape[2] + 1 for pixels in pictures.shape[2:]]
    size = (pictures.shape[0], weight.shape[0], *sides)
    wanted = dtype or torch.float32
    return torch.empty(size, dtype=wanted, device=pictures.device, memory_format=torch.channels_last)


def _weight_gradient_shape(grad: Tensor, input: Tensor, kernel: int, padding: int) -> Tensor:
    size = (grad.shape[1], input.shape[1], kernel, kernel)
    return torch.empty(size, dtype=torch.float32, device=input.device, memory_format=torch.channels_last)


def _sgd_step_in_place(weights: Tensor, gradients: Tensor, velocity: Tensor | None, numbers: Tensor) -> None:
    return None


def _augmented_shape(pictures: Tensor, positions: Tensor, start: Tensor, flip: bool, shift: int, cutout: int) -> Tensor:
    return torch.empty_like(pictures)


def _shift_right_shape(x: Tensor, fill: float = 1.0) -> Tensor:
    return x.new_empty(x.shape[0], x.shape[1] + 1)


def _shift_left_shape(x: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], x.shape[1] - 1)


def _saved_shape(x: Tensor, outputs: int, activation: str) -> Tensor:
    return x.new_empty(x.shape[0], outputs) if activation == "gelu" else x.new_empty(0)


def _fused_linear_shape(x: Tensor, weight: Tensor, activation: str = "none") -> tuple[Tensor, Tensor]:
    outputs = weight.shape[0]
    return x.new_empty(x.shape[0], outputs), _saved_shape(x, outputs, activation)


def _fused_mlp_shape(x: Tensor, weights: list[Tensor], activations: list[str]) -> tuple[list[Tensor], list[Tensor]]:
    shapes = [_fused_linear_shape(x, *layer) for layer in zip(weights, activations, strict=True)]
    return [output for output, _ in shapes], [saved for _, saved in shapes]


def _fused_linear_backward_shape(
    grad: Tensor, x: Tensor, weight: Tensor, output: Tensor, saved: Tensor, activation: str, needs_input: bool
) -> tuple[Tensor, Tensor]:
    return _input_gradient_shape(x, needs_input), _like(weight)


def _fused_mlp_backward_shape(
    grad: Tensor,
    x: Tensor,
    weights: list[Tensor],
    outputs: list[Tensor],
    saved: list[Tensor],
    activations: list[str],
    needs_input: bool,
) -> tuple[Tensor, list[Tensor]]:
    return _input_gradient_shape(x, needs_input), [_like(weight) for weight in weights]


def _relu_avg_pool_shape(x: Tensor, bias: Tensor, size: int, stride: int) -> Tensor:
    sides = [(pixels - size) // stride + 1 for pixels in x.shape[2:]]
    return torch.empty(*x.shape[:2], *sides, dtype=x.dtype, device=x.device, memory_format=torch.channels_last)


def _relu_avg_pool_backward_shape(
    grad: Tensor, x: Tensor, bias: Tensor, size: int, stride: int
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(x, memory_format=torch.channels_last), torch.empty_like(bias)


def _input_gradient_shape(x: Tensor, needs_input: bool) -> Tensor:
    return x.new_empty(x.shape) if needs_input else x.new_empty(0)


def _like(weight: Tensor) -> Tensor:
    inner, outer = (1, 0) if weight.stride(1) <= weight.stride(0) else (0, 1)
    if weight.stride(inner) < 1 or weight.stride(outer) < weight.stride(inner) * weight.shape[inner]:
        return torch.empty(weight.shape, dtype=weight.dtype, device=weight.device)
    return torch.empty_strided(weight.shape, weight.stride(), dtype=weight.dtype, device=weight.device)


_SHAPES: dict[str, Callable[..., Any]] = {
    "shift_right_": _shift_right_in_place,
    "shift_left_": _shift_left_in_place,
    "shift_right": _shift_right_shape,
    "shift_left": _shift_left_shape,
    "fused_linear": _fused_linear_shape,
    "fused_mlp": _fused_mlp_shape,
    "fused_linear_backward": _fused_linear_backward_shape,
    "fused_mlp_backward": _fused_mlp_backward_shape,
    "relu_avg_pool": _relu_avg_pool_shape,
    "relu_avg_pool_backward": _relu_avg_pool_backward_shape,
    "picture_conv": _picture_conv_shape,
    "picture_conv_weight_gradient": _weight_gradient_shape,
    "maps_weight_gradient": _weight_gradient_shape,
    "sgd_step_": _sgd_step_in_place,
    "augmented": _augmented_shape,
}
for _name, _shape in _SHAPES.items():
    torch.library.register_fake(f"sweeper::{_name}", _shape)


def _shift_right_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return shift_left(grad), None


def _shift_left_backward(ctx: Any, grad: Tensor) -> Tensor:
    return shift_right(grad, 0.0)


torch.library.register_autograd("sweeper::shift_right", _shift_right_backward)
torch.library.register_autograd("sweeper::shift_left", _shift_left_backward)


_FROM_OUTPUT = ("relu", "sigmoid")  # whose derivatives follow from the output


def _fused_linear_setup(ctx: Any, inputs: tuple[Tensor, Tensor, str], output: tuple[Tensor, Tensor]) -> None:
    ctx.set_materialize_grads(False)
    x, weight, ctx.activation = inputs
    result, saved = output
    ctx.mark_non_differentiable(saved)
    ctx.save_for_backward(x, weight, result if ctx.activation in _FROM_OUTPUT else saved, saved)


def _fused_linear_backward(ctx: Any, grad: Tensor | None, _: Any) -> tuple[Tensor | None, Tensor | None, None]:
    if grad is None:
        return None, None, None
    x, weight, output, saved = ctx.saved_tensors
    needs_input = ctx.needs_input_grad[0]
    to_input, to_weight = _NAMESPACE.fused_linear_backward(grad, x, weight, output, saved, ctx.activation, needs_input)
    return to_input if needs_input else None, to_weight, None


torch.library.register_autograd("sweeper::fused_linear", _fused_linear_backward, setup_context=_fused_linear_setup)


def _fused_mlp_setup(
    ctx: Any, inputs: tuple[Tensor, list[Tensor], list[str]], output: tuple[list[Tensor], list[Tensor]]
) -> None:
    ctx.set_materialize_grads(False)  # or the layers' outputs, which nobody uses, would get gradients of zeros
    x, weights, ctx.activations = inputs
    outputs, saved = output
    ctx.mark_non_differentiable(*outputs[:-1], *saved)
    top = outputs[-1] if ctx.activations[-1] in _FROM_OUTPUT else saved[-1]
    ctx.layers = len(weights)
    ctx.save_for_backward(x, *weights, *outputs[:-1], top, *saved)


def _fused_mlp_backward(
    ctx: Any, grads: list[Tensor | None], _: Any
) -> tuple[Tensor | None, list[Tensor | None], None]:
    if grads[-1] is None:
        return None, [None] * ctx.layers, None
    x, *kept = ctx.saved_tensors
    weights, outputs, saved = (list(kept[i * ctx.layers : (i + 1) * ctx.layers]) for i in range(3))
    needs_input = ctx.needs_input_grad[0]
    to_input, to_weights = _NAMESPACE.fused_mlp_backward(
        grads[-1], x, weights, outputs, saved, ctx.activations, needs_input
    )
    return to_input if needs_input else None, to_weights, None


torch.library.register_autograd("sweeper::fused_mlp", _fused_mlp_backward, setup_context=_fused_mlp_setup)


def _relu_avg_pool_setup(ctx: Any, inputs: tuple[Tensor, Tensor, int, int], output: Tensor) -> None:
    x, bias, ctx.size, ctx.stride = inputs
    ctx.save_for_backward(x, bias)


def _relu_avg_pool_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
    to_x, to_bias = _NAMESPACE.relu_avg_pool_backward(grad, *ctx.saved_tensors, ctx.size, ctx.stride)
    return to_x, to_bias, None, None


torch.library.register_autograd("sweeper::relu_avg_pool", _relu_avg_pool_backward, setup_context=_relu_avg_pool_setup)


def _picture_conv_setup(
    ctx: Any, inputs: tuple[Tensor, Tensor, int], keyword_only_inputs: dict[str, Any], output: Tensor
) -> None:
    pictures, weight, ctx.padding = inputs
    ctx.kernel = weight.shape[2]
    ctx.save_for_backward(pictures)


def _picture_conv_backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
    (pictures,) = ctx.saved_tensors
    return None, _NAMESPACE.picture_conv_weight_gradient(grad, pictures, ctx.kernel, ctx.padding), None


torch.library.register_autograd("sweeper::picture_conv", _picture_conv_backward, setup_context=_picture_conv_setup)


def _no_second_derivative(*_: Any) -> Any:
    raise RuntimeError(
        "fused_linear, fused_mlp, relu_avg_pool and picture_conv have no second derivative; use torch's where it is "
        "needed"
    )


for _name in (
    "fused_linear_backward",
    "fused_mlp_backward",
    "relu_avg_pool_backward",
    "picture_conv_weight_gradient",
    "maps_weight_gradient",
):
    torch.library.register_autograd(f"sweeper::{_name}", _no_second_derivative)
