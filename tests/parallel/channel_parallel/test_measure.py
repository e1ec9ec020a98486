"""What ranks measure for the choice of algorithms; right at any rank count, as no test says how long anything takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engine.channel_parallel import ConvolutionShape, GridError, Ways
from engine.channel_parallel.choice import parts_of
from engine.channel_parallel.collectives import Pending
from engine.channel_parallel.machine import COLLECTIVES, Part
from engine.channel_parallel.measure import SilentGroup, measure_links, measure_parts
from tests.parallel.channel_parallel.grids import WORLD

LAYERS = {
    "first": ConvolutionShape(4, 3, 8, (3, 3), (9, 9), (5, 5), stride=(2, 2), padding=(1, 1)),
    "few": ConvolutionShape(4, 8, 2, (3, 2), (5, 5), (3, 4), has_bias=True),  # filters than some ranks get none of
    "dilated": ConvolutionShape(4, 2, 6, (3, 3), (5, 5), (3, 3), padding=(1, 1), dilation=(2, 2)),
    "product": ConvolutionShape(4, 9, 5, (1, 1), (1, 1), (1, 1), has_bias=True, is_product=True),
}


def test_every_part_of_a_plan_is_measured_alike_on_all_ranks() -> None:
    parts = parts_of(LAYERS, WORLD.size)
    seconds = measure_parts(WORLD, parts)
    assert len(seconds) == len(parts)
    assert min(seconds) > 0
    assert WORLD.allgather(seconds) == [seconds] * WORLD.size


def test_a_part_that_does_not_fit_is_an_error() -> None:
    wrong = replace(LAYERS["few"], output_size=(7, 7))
    with pytest.raises(RuntimeError):
        measure_parts(WORLD, parts_of({"wrong": wrong}, WORLD.size))


@pytest.mark.skipif(WORLD.size == 1, reason="one rank sends nothing")
def test_links_are_of_the_bytes_that_a_rank_moves() -> None:
    links = measure_links(WORLD, [4 * 12, 4 * 1200])
    assert tuple(links) == COLLECTIVES
    others = WORLD.size - 1
    for name, link in links.items():
        passes = 2 if name == "sum" else 1
        moved = [passes * 4 * others * numbers // WORLD.size for numbers in (12, 1200)]
        assert [count for count, _ in link.points] == moved
        assert link.ranks == WORLD.size
        assert min(seconds for _, seconds in link.points) > 0
    assert WORLD.allgather(links) == [links] * WORLD.size


def test_a_silent_group_gives_tensors_of_the_right_size() -> None:
    group = SilentGroup(1, 3)
    own, into = torch.ones(2), torch.empty(2)

    def given(pending: Pending) -> list[int]:
        found = pending.wait()
        assert found.isfinite().all()
        return list(found.shape)

    assert given(group.all_gather(own, [3, 2, 0], "gather x")) == [5]
    assert given(group.all_reduce(own, "sum dw")) == [2]
    assert group.reduce_scatter(torch.ones(5), into, [3, 2, 0], "scatter y").wait() is into


def test_ways_that_do_not_fit_the_ranks_are_refused() -> None:
    with pytest.raises(GridError, match="does not divide"):
        measure_parts(WORLD, [Part(LAYERS["few"], Ways(1, WORLD.size + 1))])
