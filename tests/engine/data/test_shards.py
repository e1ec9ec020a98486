"""Which images each rank sees."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.data.shards import Stream, share


@given(st.integers(0, 10**6), st.integers(0, 1000), st.integers(1, 32))
def test_shares_are_disjoint_cover_the_step_and_differ_by_one_at_most(start: int, count: int, ranks: int) -> None:
    shares = [share(start, start + count, rank, ranks) for rank in range(ranks)]
    assert shares[0][0] == start
    assert shares[-1][1] == start + count
    assert all(left[1] == right[0] for left, right in pairwise(shares))
    sizes = {stop - begin for begin, stop in shares}
    assert sizes <= {count // ranks, count // ranks + 1}


@given(st.integers(1, 50), st.integers(0, 2**63 - 1), st.integers(1, 4))
def test_every_epoch_holds_each_image_once(samples: int, seed: int, epochs: int) -> None:
    stream = Stream(samples, seed)
    for epoch in range(epochs):
        order = stream.indices(epoch * samples, (epoch + 1) * samples)
        assert sorted(order) == list(range(samples))


@given(st.integers(1, 40), st.integers(0, 100), st.lists(st.integers(0, 60), min_size=1, max_size=10))
def test_the_stream_is_the_same_for_any_cut(samples: int, seed: int, cuts: list[int]) -> None:
    whole = Stream(samples, seed).indices(0, sum(cuts))
    stream, start, parts = Stream(samples, seed), 0, []
    for cut in cuts:
        parts.append(stream.indices(start, start + cut))
        start += cut
    assert np.array_equal(np.concatenate(parts), whole)
    assert whole.dtype == np.int64


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 50), st.integers(1, 8))
def test_ranks_together_see_the_stream(samples: int, ranks: int, batch: int, steps: int) -> None:
    seen = []
    streams = [Stream(samples, seed=3) for _ in range(ranks)]
    for step in range(steps):
        for rank in range(ranks):
            seen.append(streams[rank].indices(*share(step * batch, (step + 1) * batch, rank, ranks)))
    assert np.array_equal(np.concatenate(seen), Stream(samples, seed=3).indices(0, steps * batch))


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    stream = Stream(100, seed=1)
    first, second = stream.indices(0, 100), stream.indices(100, 200)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, Stream(100, seed=2).indices(0, 100))
    assert not np.array_equal(first, np.arange(100))
    assert np.array_equal(stream.indices(0, 100), first), "also after the epoch is over"


@given(st.integers(1, 20), st.integers(0, 100), st.integers(1, 5), st.lists(st.integers(0, 30), min_size=1, max_size=8))
def test_each_sample_comes_in_as_many_instances_as_asked_for(
    samples: int, seed: int, instances: int, cuts: list[int]
) -> None:
    count = sum(cuts)
    once = Stream(samples, seed).indices(0, -(-count // instances))
    stream, start, parts = Stream(samples, seed, instances), 0, []
    for cut in cuts:
        parts.append(stream.at(np.arange(start, start + cut)))
        start += cut
    assert np.array_equal(np.concatenate(parts), once.repeat(instances)[:count])
