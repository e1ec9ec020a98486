"""What a network costs: parameters, activations, multiply-adds and memory of each layer, and its receptive field.

Counted from the operations of a real forward pass, on tensors that have shapes and no values (torch's meta device).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from engine.config import is_factory
from engine.errors import ModelError
from engine.factories import FactoryError, find_factory
from engine.models import Task, make_network

Shape = tuple[int, ...]
Pair = tuple[int, int]
_aten = torch.ops.aten
_FLOAT32 = 4  # bytes
_BATCHES = (2, 3)  # of normalisation one sample is too few; what a batch saves is linear in its size


@dataclass(frozen=True)
class LayerCosts:
    """One convolution, product, pooling or normalisation, in the order of the forward pass; counts are of one sample.

    `output` is the shape without the batch. `multiply_adds` has one for each product that is added up, so that a
    multiplication and an addition count once. `receptive_field` is height and width in the network's own input, and
    None where the input has no height and width. `saved_bytes` are kept for the backward pass in float32: what this
    operation and those until the next layer (activation functions and the like) save, `fixed_bytes` of that whatever
    the batch size.
    """

    name: str
    kind: str
    output: Shape
    activations: int
    parameters: int
    biases: int
    multiply_adds: int
    receptive_field: Pair | None
    saved_bytes: int
    fixed_bytes: int

    def memory(self, batch: int) -> int:
        """Bytes that a forward pass of so many samples keeps for the backward pass."""
        return self.fixed_bytes + batch * self.saved_bytes


@dataclass(frozen=True)
class Costs:
    """The costs of a network for samples of `sample_shape`: [channels, height, width], or [features]."""

    sample_shape: Shape
    layers: tuple[LayerCosts, ...]

    @property
    def parameters(self) -> int:
        """Numbers that are learnt, biases included."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def weights(self) -> int:
        """Parameters without biases and without the shifts of normalisation."""
        return self.parameters - sum(layer.biases for layer in self.layers)

    @property
    def activations(self) -> int:
        """Outputs of convolutions, poolings and products for one sample, without the input."""
        return sum(layer.activations for layer in self.layers)

    @property
    def multiply_adds(self) -> int:
        """Of the forward pass of one sample; the backward pass takes about twice as many."""
        return sum(layer.multiply_adds for layer in self.layers)

    def memory(self, batch: int) -> int:
        """Bytes of float32 that training with this batch size holds: parameters, gradients, what is saved, the input."""
        saved = sum(layer.memory(batch) for layer in self.layers)
        return 2 * _FLOAT32 * self.parameters + saved


def costs_of(model: str, sample_shape: Shape, classes: int) -> Costs:
    """The costs of a built-in model by name, or of what `package.module:factory` makes of sample shape and classes.

    Raises:
        FactoryError: a model of the user's own cannot be had, or is none.
        ModelError: the network does not take samples of this shape, or computes what has no shape without values.
    """
    with torch.device("meta"):
        module = _module(model, sample_shape, classes)
    try:
        return costs_of_module(module, sample_shape)
    except (RuntimeError, ValueError, IndexError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelError(
            f"MODEL: {model} cannot be counted for samples of {'x'.join(map(str, sample_shape))}: {reason}",
            "give the shape of its samples with --input",
        ) from None


def costs_of_module(module: nn.Module, sample_shape: Shape) -> Costs:
    """The costs of a module, which is moved to torch's meta device and so loses its values."""
    module = module.to("meta").train()
    fewer, more = (_counted(module, sample_shape, batch) for batch in _BATCHES)
    layers = []
    for one, other in zip(fewer, more, strict=True):
        each = (other.saved_bytes - one.saved_bytes) // (_BATCHES[1] - _BATCHES[0])
        layers.append(replace(one, saved_bytes=each, fixed_bytes=one.saved_bytes - _BATCHES[0] * each))
    return Costs(sample_shape, tuple(layers))


def _module(model: str, sample_shape: Shape, classes: int) -> nn.Module:
    if not is_factory(model):
        try:
            return make_network(model, sample_shape, classes)
        except (ValueError, IndexError) as error:
            raise ModelError(f"MODEL: {model}: {error}", "give another --input") from None
    made = find_factory("MODEL", model)(sample_shape, classes)
    made = made.module if isinstance(made, Task) else made
    if not isinstance(made, nn.Module):
        raise FactoryError(
            f"MODEL: {model!r} gave a {type(made).__name__}", "return a torch.nn.Module or an engine.models.Task"
        )
    return made


def _counted(module: nn.Module, sample_shape: Shape, batch: int) -> list[LayerCosts]:
    """The layers of a forward pass of so many samples, whose `saved_bytes` are of the whole batch."""
    samples = torch.empty(batch, *sample_shape, device="meta")
    with _names(module) as current:
        counter = _Counter(module, samples, current)
        with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(counter.save, lambda kept: kept), counter:
            module(samples)
    return counter.all_layers()


class _names(ExitStack):  # noqa: N801 - reads as a function
    """While it is entered, the name of the innermost module that computes can be asked for."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._path = [""]
        for name, part in module.named_modules():
            self.callback(part.register_forward_pre_hook(self._entering(name)).remove)
            self.callback(part.register_forward_hook(self._leave).remove)

    def __call__(self) -> str:
        return self._path[-1]

    def _entering(self, name: str) -> Callable[..., None]:
        return lambda *_: self._path.append(name)

    def _leave(self, *_: Any) -> None:
        self._path.pop()


@dataclass(frozen=True)
class _Field:
    """A receptive field, height and width, and the pixels of the input from one place of the output to the next."""

    size: Pair
    step: Pair

    def widened(self, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int] = (1, 1)) -> _Field:
        """Through a window: each of its places but one adds a step."""
        size = tuple(s + (k - 1) * d * j for s, k, d, j in zip(self.size, kernel, dilation, self.step, strict=True))
        step = tuple(j * s for j, s in zip(self.step, stride, strict=True))
        return _Field((size[0], size[1]), (step[0], step[1]))


class _Counter(TorchDispatchMode):
    """Sees each operation of a forward pass, with the storages by which views of a tensor are known as it."""

    def __init__(self, module: nn.Module, samples: Tensor, name: Callable[[], str]) -> None:
        super().__init__()
        self._name, self._batch, self._size = name, len(samples), tuple(samples.shape[2:4])
        self._parameters = {_storage(own): (full, own) for full, own in module.named_parameters()}
        self._fields: dict[int, _Field] = {}
        if len(self._size) == 2:
            self._fields[_storage(samples)] = _Field((1, 1), (1, 1))
        self._alive: list[Any] = [samples]  # a storage that is gone may have its place taken by another
        self._saved: set[int] = set(self._parameters)
        self._layers: list[LayerCosts] = []
        self._before_first = 0  # bytes

    def all_layers(self) -> list[LayerCosts]:
        """Those seen, and one for the parameters that no layer has used as such."""
        left = [own for _, own in self._parameters.values()]
        layers = [
            replace(one, saved_bytes=one.saved_bytes + self._before_first * (not n))
            for n, one in enumerate(self._layers)
        ]
        if left:
            numbers = sum(own.numel() for own in left)
            layers.append(LayerCosts("", "other parameters", (), 0, numbers, 0, 0, None, 0, 0))
        return layers

    def save(self, tensor: Tensor) -> Tensor:
        """Count what is kept for the backward pass, once."""
        if (key := _storage(tensor)) not in self._saved:
            self._saved.add(key)
            self._alive.append(tensor)
            kept = tensor.untyped_storage().nbytes()
            if self._layers:
                self._layers[-1] = replace(self._layers[-1], saved_bytes=self._layers[-1].saved_bytes + kept)
            else:
                self._before_first += kept
        return tensor

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        outputs = list(_tensors(result))
        self._alive += outputs
        inputs = [self._fields[key] for one in _tensors(args) if (key := _storage(one)) in self._fields]
        field = _widest(inputs)
        kind = _KINDS.get(func.overloadpacket)
        if kind is not None and outputs:
            field = self._add(kind(func.overloadpacket, args, outputs[0]), args, outputs[0], field)
        if field is not None:
            self._fields.update({_storage(one): field for one in outputs})
        return result

    def _add(self, layer: _Layer, args: tuple[Any, ...], output: Tensor, field: _Field | None) -> _Field | None:
        used = [self._parameters.pop(key) for one in _tensors(args) if (key := _storage(one)) in self._parameters]
        if field is not None:
            field = layer.field(field) if layer.field else _Field((self._size[0], self._size[1]), field.step)
        shape = tuple(output.shape[1:])
        self._layers.append(
            LayerCosts(
                name=self._name(),
                kind=layer.words,
                output=shape,
                activations=math.prod(shape) if layer.makes_activations else 0,
                parameters=sum(own.numel() for _, own in used),
                biases=sum(own.numel() for name, own in used if name.rpartition(".")[2].startswith("bias")),
                multiply_adds=layer.multiply_adds // self._batch,
                receptive_field=field.size if field else None,
                saved_bytes=0,
                fixed_bytes=0,
            )
        )
        return field


@dataclass(frozen=True)
class _Layer:
    """What an operation is: in words, its multiply-adds for the batch, and how it widens the receptive field.

    Without `field` it sees the whole input.
    """

    words: str
    multiply_adds: int
    field: Callable[[_Field], _Field] | None
    makes_activations: bool = True


def _convolution(_: Any, args: tuple[Any, ...], output: Tensor) -> _Layer:
    weight, stride, dilation = args[1], args[3], args[5]
    kernel = tuple(weight.shape[2:])
    pace = f", stride {'x'.join(map(str, stride))}" if max(stride) > 1 else ""
    widened = (lambda field: field.widened(kernel, stride, dilation)) if len(kernel) == 2 else None
    words = f"convolution {'x'.join(map(str, kernel))}{pace}"
    return _Layer(words, output.numel() * math.prod(weight.shape[1:]), widened)


def _product(packet: Any, args: tuple[Any, ...], output: Tensor) -> _Layer:
    left = args[1] if packet in (_aten.addmm, _aten.baddbmm) else args[0]
    return _Layer("fully connected", output.numel() * left.shape[-1], None)


def _pooling(packet: Any, args: tuple[Any, ...], output: Tensor) -> _Layer:  # noqa: ARG001 - as the others
    kernel, stride = _pair(args[1]), _pair(args[2] if len(args) > 2 and args[2] else args[1])
    kind = "average" if packet is _aten.avg_pool2d else "largest"
    words = f"pooling {'x'.join(map(str, kernel))}, {kind}, stride {'x'.join(map(str, stride))}"
    return _Layer(words, 0, lambda field: field.widened(kernel, stride))


def _mean(_packet: Any, _args: tuple[Any, ...], _output: Tensor) -> _Layer:
    return _Layer("mean of all places", 0, None)


def _normalisation(_packet: Any, _args: tuple[Any, ...], _output: Tensor) -> _Layer:
    return _Layer("normalisation", 0, lambda field: field, makes_activations=False)


_KINDS: dict[Any, Callable[[Any, tuple[Any, ...], Tensor], _Layer]] = {
    _aten.convolution: _convolution,
    **dict.fromkeys((_aten.mm, _aten.addmm, _aten.bmm, _aten.baddbmm), _product),
    **dict.fromkeys((_aten.max_pool2d_with_indices, _aten.avg_pool2d), _pooling),
    **dict.fromkeys((_aten.mean, _aten._adaptive_avg_pool2d), _mean),
    **dict.fromkeys(
        (_aten.native_batch_norm, _aten._native_batch_norm_legit, _aten.native_layer_norm, _aten.native_group_norm),
        _normalisation,
    ),
}


def _widest(fields: Sequence[_Field]) -> _Field | None:
    """Of what an operation takes together, as a block and its shortcut, or branches side by side."""
    if not fields:
        return None
    size = (max(one.size[0] for one in fields), max(one.size[1] for one in fields))
    step = (max(one.step[0] for one in fields), max(one.step[1] for one in fields))
    return _Field(size, step)


def _pair(value: Any) -> Pair:
    values = list(value) if isinstance(value, list | tuple) else [value]
    return values[0], values[-1]


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)
