"""What a network costs: parameters, activations, multiply-adds and memory of each layer, and its receptive field.

Counted from the operations of a forward pass in training, on tensors that have shapes and no values (torch's meta
device). A model of the user's own that needs values runs on the CPU instead.

**Memory** of a layer is what autograd keeps for the backward pass: each storage once, in the layer that causes it to be
kept. That includes the samples if a layer needs them, masks of dropout (a number each, as torch's CPU keeps them),
places of largest values in poolings (8 bytes each), means and variances of normalisation, and the scores of attention,
which counts as its two products. Parameters are not in it.
The total adds the parameters and a gradient for each that is learnt. Not counted: the optimizer's state, what an
operation uses while it runs (workspaces, outputs that nothing keeps, gradients of activations), and the framework.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import TorchDispatchMode

from engine.config import MODELS, is_factory
from engine.errors import ModelError
from engine.factories import FactoryError, find_factory
from engine.models import Task, make_network
from engine.receptive_field import Field, field_after, means_all_places, pair

Shape = tuple[int, ...]
Counted = TypeVar("Counted")
_BATCHES = (2, 3)  # of normalisation one sample is too few; what a batch takes is linear in its size


@dataclass(frozen=True)
class LayerCosts:
    """One convolution, product, pooling or normalisation, in the order of the forward pass; counts are of one sample.

    `output` is the shape without the batch. `activations` are the outputs of convolutions, products and poolings, not
    of normalisation. `biases` are those of `parameters` that are biases, or shifts of normalisation. `multiply_adds`
    has one for each product of a convolution or matrix product: a multiplication and the addition count once, biases,
    poolings, normalisation and activation functions not at all. `receptive_field` is height and width in the network's
    own input, which padding may exceed; None where the input has no height and width, or shapes do not tell.
    `saved_bytes` are kept for the backward pass: what this operation and those until the next layer (activation
    functions and the like) save for each sample, `fixed_bytes` whatever the batch size.
    """

    name: str
    kind: str
    output: Shape
    activations: int
    parameters: int
    biases: int
    multiply_adds: int
    receptive_field: tuple[int, int] | None
    saved_bytes: int
    fixed_bytes: int = 0

    def memory(self, batch: int) -> int:
        """Bytes that a forward pass of so many samples keeps for the backward pass."""
        return self.fixed_bytes + batch * self.saved_bytes


@dataclass(frozen=True)
class Costs:
    """The costs of a network for samples of `sample_shape`: [channels, height, width], or [features].

    `learning_bytes` hold the parameters, and a gradient for each that is learnt.
    """

    sample_shape: Shape
    layers: tuple[LayerCosts, ...]
    learning_bytes: int

    @property
    def parameters(self) -> int:
        """Of all layers, biases included; one that several layers share counts once."""
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
        """Bytes that training with this batch size holds: parameters, gradients, what the forward pass saves."""
        return self.learning_bytes + sum(layer.memory(batch) for layer in self.layers)


def costs_of(model: str, sample_shape: Shape, classes: int) -> Costs:
    """The costs of a built-in model by name, or of what `package.module:factory` makes of sample shape and classes.

    Raises:
        FactoryError: a model of the user's own cannot be found, or is not a module.
        ModelError: the network does not take samples of this shape, or fails otherwise.
    """
    return of_network(model, sample_shape, classes, lambda network: costs_of_module(network, sample_shape))


def of_network(model: str, sample_shape: Shape, classes: int, count: Callable[[nn.Module], Counted]) -> Counted:
    """What `count` finds of a model, whose tensors have no values where it can do without. Errors as `costs_of`."""
    told = _of_own if is_factory(model) else _of_built_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that the meta device does not keep, and of layers without weights
        return told(model, sample_shape, classes, count)


def costs_of_module(module: nn.Module, sample_shape: Shape) -> Costs:
    """The costs of a module, on the device that it is on: torch's meta device, or the CPU.

    The pass is one of training: on the CPU it changes running means, and draws random numbers.

    Raises:
        ModelError: the layers of two batches differ. What the module itself raises goes through.
    """
    module.train()
    if any(map(is_lazy, module.parameters())):
        module(_samples(module, sample_shape, _BATCHES[0]))  # from which it learns the shapes of its parameters
    fewer, more = (_counted(module, sample_shape, batch) for batch in _BATCHES)
    if [layer.kind for layer in fewer] != [layer.kind for layer in more]:
        raise ModelError(
            "MODEL: its layers differ from one pass to the next", "count a model that always does the same"
        )
    parameters = list(module.parameters())
    learning = sum(own.nbytes * (2 if own.requires_grad else 1) for own in parameters)
    return Costs(sample_shape, tuple(map(_of_one_sample, fewer, more)), learning)


def _of_built_in(model: str, sample_shape: Shape, classes: int, count: Callable[[nn.Module], Counted]) -> Counted:
    shape = "x".join(map(str, sample_shape))
    if not MODELS[model] and len(sample_shape) != 1:
        raise ModelError(f"--input {shape}: {model} takes plain numbers", "give how many, for example --input 2")
    if MODELS[model] and model != "mlp" and len(sample_shape) != 3:
        raise ModelError(
            f"--input {shape}: {model} takes pictures", "give channels, height and width, for example --input 3x32x32"
        )
    try:
        with torch.device("meta"):
            return count(make_network(model, sample_shape, classes))
    except (ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ModelError(
            f"--input {shape}: {model} does not take samples of this shape: {reason}",
            "give another, for example --input 3x32x32",
        ) from None


def _of_own(model: str, sample_shape: Shape, classes: int, count: Callable[[nn.Module], Counted]) -> Counted:
    factory = find_factory("MODEL", model)
    try:
        with torch.device("meta"):
            return count(_made(factory, model, sample_shape, classes).to("meta"))
    except Exception as error:  # whatever the user's code raises; with values it may do
        if isinstance(error, FactoryError):
            raise
    module = _made(factory, model, sample_shape, classes)
    try:
        return count(module.cpu())
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"--input {'x'.join(map(str, sample_shape))}: {model} fails on samples of this shape: {_reason(error)}",
            "give the shape that it takes with --input, or mend the model",
        ) from error


def _made(factory: Callable[..., Any], model: str, sample_shape: Shape, classes: int) -> nn.Module:
    try:
        made = factory(sample_shape, classes)
    except Exception as error:
        raise ModelError(
            f"MODEL: {model!r} fails for samples of {'x'.join(map(str, sample_shape))} and {classes} classes: "
            f"{_reason(error)}",
            "give what it takes with --input and --classes, or mend it",
        ) from error
    made = made.module if isinstance(made, Task) else made
    if not isinstance(made, nn.Module):
        raise FactoryError(
            f"MODEL: {model!r} returned {type(made).__name__}", "return a torch.nn.Module or an engine.models.Task"
        )
    return made


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _counted(module: nn.Module, sample_shape: Shape, batch: int) -> list[LayerCosts]:
    """The layers of a forward pass of so many samples; all counts are of the whole batch."""
    samples = _samples(module, sample_shape, batch)
    with _in_products(), ComputingModule(module) as computing, torch.enable_grad():
        counter = _Counter(module, samples, computing)
        with torch.autograd.graph.saved_tensors_hooks(counter.save, lambda kept: kept), counter:
            module(samples)
    return counter.all_layers()


@contextmanager
def _in_products() -> Iterator[None]:
    """Within, attention and recurrent layers compute by their products, which the CPU else hides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what oneDNN could do on another device
        flags = torch.backends.mkldnn.flags(enabled=False)
        with sdpa_kernel(SDPBackend.MATH), flags:
            yield


def _samples(module: nn.Module, sample_shape: Shape, batch: int) -> Tensor:
    device = next((own.device for own in module.parameters()), torch.get_default_device())
    return torch.randn(batch, *sample_shape, device=device)


def _of_one_sample(fewer: LayerCosts, more: LayerCosts) -> LayerCosts:
    """From the counts of two batches: what grows with the batch counts once, what does not as it is."""
    shape = tuple((b - a) // (_BATCHES[1] - _BATCHES[0]) or a for a, b in zip(fewer.output, more.output, strict=True))
    each = (more.saved_bytes - fewer.saved_bytes) // (_BATCHES[1] - _BATCHES[0])
    return replace(
        fewer,
        output=shape[1:] if shape[:1] == (1,) else shape,
        activations=_at_one(fewer.activations, more.activations),
        multiply_adds=_at_one(fewer.multiply_adds, more.multiply_adds),
        saved_bytes=each,
        fixed_bytes=fewer.saved_bytes - _BATCHES[0] * each,
    )


def _at_one(fewer: int, more: int) -> int:
    return fewer - (_BATCHES[0] - 1) * (more - fewer) // (_BATCHES[1] - _BATCHES[0])


class ComputingModule(ExitStack):
    """While it is entered, knows the name of the innermost module that computes."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._path = [""]
        for name, part in module.named_modules():
            self.callback(part.register_forward_pre_hook(self._entering(name)).remove)
            self.callback(part.register_forward_hook(self._leave).remove)

    @property
    def name(self) -> str:
        """As in `named_modules`; empty for the network itself."""
        return self._path[-1]

    def _entering(self, name: str) -> Callable[..., None]:
        return lambda *_: self._path.append(name)

    def _leave(self, *_: Any) -> None:
        self._path.pop()


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees each operation of a forward pass, and each tensor that autograd keeps."""

    def __init__(self, module: nn.Module, samples: Tensor, computing: ComputingModule) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._computing = computing
        self._unused: dict[int, list[tuple[str, nn.Parameter]]] = defaultdict(list)  # by storage: views of it are it
        for name, own in module.named_parameters():
            self._unused[_storage(own)].append((name, own))
        self._fields: dict[int, Field | None] = {}  # by tensor
        if samples.dim() == 4:
            self._fields[id(samples)] = Field(len(samples), (samples.shape[2], samples.shape[3]))
        self._alive: list[Any] = [samples]  # what is gone may have its place, and so its number, taken by another
        self._saved: set[int] = set(self._unused)
        self._layers: list[LayerCosts] = []
        self._before_first = 0  # bytes

    def all_layers(self) -> list[LayerCosts]:
        """Those seen, and one for parameters that no layer has used as such, or for a network without layers."""
        layers = list(self._layers)
        left = [own for shared in self._unused.values() for own in shared]
        if left or not layers:
            layers.append(LayerCosts("", "others", (), 0, _numbers(left), _biases(left), 0, None, 0))
        layers[0] = replace(layers[0], saved_bytes=layers[0].saved_bytes + self._before_first)
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
        if outputs:
            operation = func.overloadpacket.__name__
            self._pass_on_field(operation, args, outputs)
            layer = _LAYERS[operation](args, outputs[0]) if operation in _LAYERS else None
            if layer is not None:
                self._add(layer, args, outputs[0])
        return result

    def _pass_on_field(self, operation: str, args: tuple[Any, ...], outputs: Sequence[Tensor]) -> None:
        inputs = [self._fields[id(one)] for one in _tensors(args) if id(one) in self._fields]
        if inputs:
            field = field_after(operation, args, outputs[0], inputs)
            self._fields.update({id(one): field for one in outputs})

    def _add(self, layer: _Layer, args: tuple[Any, ...], output: Tensor) -> None:
        used = [own for one in _tensors(args) for own in self._unused.pop(_storage(one), [])]
        field = self._fields.get(id(output))
        self._layers.append(
            LayerCosts(
                name=self._computing.name,
                kind=layer.words,
                output=tuple(output.shape),
                activations=output.numel() if layer.makes_activations else 0,
                parameters=_numbers(used),
                biases=_biases(used),
                multiply_adds=layer.multiply_adds,
                receptive_field=field.size if field else None,
                saved_bytes=0,
            )
        )


@dataclass(frozen=True)
class _Layer:
    """What an operation is: in words, and its multiply-adds for the batch."""

    words: str
    multiply_adds: int = 0
    makes_activations: bool = True


def _convolution(args: tuple[Any, ...], output: Tensor) -> _Layer:
    values, weight, stride, dilation, transposed = args[0], args[1], args[3], args[5], args[6]
    words = f"{'transposed ' if transposed else ''}convolution {_times(weight.shape[2:])}"
    words += f", stride {_times(stride)}" if max(stride) > 1 else ""
    words += f", dilation {_times(dilation)}" if max(dilation) > 1 else ""
    words += f", {args[8]} groups" if args[8] > 1 else ""
    # Each output adds up a window, of a transposed convolution each input is spread over one.
    return _Layer(words, (values if transposed else output).numel() * math.prod(weight.shape[1:]))


def _product(args: tuple[Any, ...], output: Tensor) -> _Layer:
    return _Layer("fully connected", output.numel() * args[0].shape[-1])


def _product_and_sum(args: tuple[Any, ...], output: Tensor) -> _Layer:
    return _product(args[1:], output)


def _batched_product(args: tuple[Any, ...], output: Tensor) -> _Layer:
    return _Layer("matrix product", output.numel() * args[-1].shape[-2])


def _pooling(kind: str) -> Callable[[tuple[Any, ...], Tensor], _Layer]:
    def layer(args: tuple[Any, ...], _: Tensor) -> _Layer:
        kernel, stride = args[1], args[2] if len(args) > 2 and args[2] else args[1]
        return _Layer(f"pooling {_times(kernel)}, {kind}, stride {_times(stride)}")

    return layer


def _adaptive_pooling(kind: str) -> Callable[[tuple[Any, ...], Tensor], _Layer]:
    return lambda args, _: _Layer(f"pooling to {_times(args[1])}, {kind}")


def _of_all_places(kind: str) -> Callable[[tuple[Any, ...], Tensor], _Layer | None]:
    return lambda args, _: _Layer(f"{kind} of all places") if means_all_places(args) else None


def _normalisation(_args: tuple[Any, ...], _output: Tensor) -> _Layer:
    return _Layer("normalisation", makes_activations=False)


_LAYERS: dict[str, Callable[[tuple[Any, ...], Tensor], _Layer | None]] = {
    "convolution": _convolution,
    "mm": _product,
    "addmm": _product_and_sum,
    **dict.fromkeys(("bmm", "baddbmm"), _batched_product),
    **dict.fromkeys(("avg_pool2d", "avg_pool3d"), _pooling("average")),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), _pooling("largest")),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _adaptive_pooling("average")),
    **dict.fromkeys(("adaptive_max_pool2d", "adaptive_max_pool3d"), _adaptive_pooling("largest")),
    "mean": _of_all_places("mean"),
    "amax": _of_all_places("largest"),
    **dict.fromkeys(
        ("native_batch_norm", "_native_batch_norm_legit", "native_layer_norm", "native_group_norm", "_fused_rms_norm"),
        _normalisation,
    ),
}


def _numbers(parameters: Sequence[tuple[str, Tensor]]) -> int:
    return sum(own.numel() for _, own in parameters)


def _biases(parameters: Sequence[tuple[str, Tensor]]) -> int:
    """Those whose own name begins or ends with bias: `bias`, `bias_hh_l0`, `in_proj_bias`."""
    names = ((name.rpartition(".")[2], own) for name, own in parameters)
    return sum(own.numel() for name, own in names if name.startswith("bias") or name.endswith("bias"))


def _times(numbers: Any) -> str:
    return "x".join(map(str, numbers if isinstance(numbers, list | tuple) else pair(numbers)))


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)
