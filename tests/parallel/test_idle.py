"""A text for all ranks."""

from __future__ import annotations

import pytest
from mpi4py import MPI

from engine.idle import broadcast_text

pytestmark = pytest.mark.parallel


@pytest.mark.parametrize("text", ["", "x", '{"command":"exit"}', "Größe 寸法 🎉", "\0\n\r", "long " * 100_000])
def test_every_rank_has_the_text_of_rank_0(comm: MPI.Comm, text: str) -> None:
    assert broadcast_text(comm, text if comm.rank == 0 else None) == text


def test_texts_come_one_after_another(comm: MPI.Comm) -> None:
    sent = [str(i) * i for i in range(50)]
    assert [broadcast_text(comm, text if comm.rank == 0 else None) for text in sent] == sent
