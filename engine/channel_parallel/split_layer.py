"""Layers of which each rank holds a part, and the wholes that their parts make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.channel_parallel.grid import ProcessGrid


@dataclass(frozen=True)
class Held:
    """What a rank holds of a whole tensor: `indices[0]` of its first dimension, `indices[1]` of its second."""

    shape: torch.Size
    indices: tuple[Tensor, ...]  # each [own], int64

    def part_of(self, whole: Tensor) -> Tensor:
        """A copy of this rank's part."""
        part = whole.detach()
        for dim, index in enumerate(self.indices):
            part = part.index_select(dim, index.to(part.device))
        return part.clone()

    def put(self, part: Tensor, whole: Tensor) -> None:
        """Write the part where it belongs in the whole."""
        dims = len(self.indices)
        places = tuple(index.view(-1, *[1] * (dims - 1 - dim)) for dim, index in enumerate(self.indices))
        whole[places] = part


class SplitLayer(nn.Module):
    """A layer of which this rank holds a part; `held` says which part of each parameter and buffer, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, Held] = {}

    def hold(self, name: str, whole: Tensor | None, *indices: Tensor) -> None:
        """Register this rank's part of a whole parameter or buffer under its name; None stays None."""
        if whole is None:
            self.register_parameter(name, None)
            return
        self.held[name] = Held(whole.shape, indices)
        part = self.held[name].part_of(whole)
        if isinstance(whole, nn.Parameter):
            self.register_parameter(name, nn.Parameter(part, requires_grad=whole.requires_grad))
        else:
            self.register_buffer(name, part)


def whole_tensors(
    network: nn.Module, grid: ProcessGrid, value: Callable[[Tensor], Tensor | None] = lambda tensor: tensor
) -> dict[str, Tensor]:
    """The parameters and buffers of a split network put together, by name, on every rank and on the CPU.

    `value` says what of each is wanted, for example its gradient; a tensor for which it is None on all ranks is left
    out. Collective, and slow: for checks and checkpoints.
    """
    wholes: dict[str, Tensor] = {}
    for name, held, tensor in _all(network):
        own = value(tensor)
        sent = None if own is None else own.detach().cpu()
        parts = [part for part in grid.comm.allgather((held, sent)) if part[1] is not None]
        for one, part in parts:
            if one is None:
                wholes[name] = part
                continue
            one.put(part, wholes.setdefault(name, part.new_zeros(one.shape)))
    return wholes


def _all(network: nn.Module) -> Iterator[tuple[str, Held | None, Tensor]]:
    """Every parameter and buffer with its name, and the part that this rank holds; None if every rank has the whole."""
    for prefix, module in network.named_modules():
        own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        for name, tensor in own:
            held = module.held.get(name) if isinstance(module, SplitLayer) else None
            yield f"{prefix}.{name}" if prefix else name, held, tensor
