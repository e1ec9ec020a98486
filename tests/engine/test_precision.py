"""How products are computed where."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine import precision
from engine.precision import casting, choose_precision, cpu_multiplies_bf16

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16", True),
        ("flags\t\t: amx_bf16 amx_tile", True),
        ("Features\t: fp asimd bf16", True),
        ("flags\t\t: fpu avx2 avx512f", False),
        ("model name : bf16", False),
        ("", False),
    ],
)
def test_a_cpu_says_whether_it_multiplies_bfloat16(tmp_path: Path, line: str, expected: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{line}\n")
    assert cpu_multiplies_bf16(tmp_path / "cpuinfo") == expected


def test_a_cpu_that_says_nothing_does_not(tmp_path: Path) -> None:
    assert not cpu_multiplies_bf16(tmp_path / "none")


@pytest.mark.parametrize("has_it", [True, False])
def test_what_a_setting_comes_to_on_a_cpu(monkeypatch: pytest.MonkeyPatch, has_it: bool) -> None:
    monkeypatch.setattr(precision, "cpu_multiplies_bf16", lambda: has_it)
    found = [choose_precision(wanted, CPU) for wanted in ("float32", "tf32", "bf16", "auto")]
    assert found == ["float32", "float32", "bf16", "bf16" if has_it else "float32"]


def test_only_bfloat16_casts() -> None:
    left = torch.ones(2, 2)
    for kind, expected in (("bf16", torch.bfloat16), ("tf32", torch.float32), ("float32", torch.float32)):
        with casting(kind, CPU):
            assert (left @ left).dtype == expected
