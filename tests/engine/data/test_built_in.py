"""Data that is always there: digits, made-up pictures, the step function."""

from __future__ import annotations

import numpy as np
import pytest

from engine.config import CLASSES, DATA, MODELS, SAMPLES
from engine.data import load
from engine.errors import DataError


@pytest.mark.parametrize(
    ("name", "split", "count", "shape", "classes"),
    [
        ("digits", "train", 1497, (1, 32, 32), 10),
        ("digits", "test", 300, (1, 32, 32), 10),
        ("synthetic", "train", 10_240, (3, 32, 32), 10),
        ("synthetic", "test", 2_048, (3, 32, 32), 10),
        pytest.param("synthetic-224", "train", 1_024, (3, 224, 224), 10, marks=pytest.mark.long),
        ("synthetic-224", "test", 256, (3, 224, 224), 10),
        ("step-function", "train", 10_240, (1,), 1),
        ("step-function", "test", 2_048, (1,), 1),
    ],
)
def test_sets_have_their_sizes_and_types(
    name: str, split: str, count: int, shape: tuple[int, ...], classes: int
) -> None:
    found = load(name, split)
    assert (found.name, len(found), found.sample_shape, found.classes) == (name, count, shape, classes)
    assert CLASSES.get(name, 1) == classes
    assert split == "test" or SAMPLES[name] == count
    if DATA[name]:
        assert [str(array.dtype) for array in (found.inputs, found.targets)] == ["uint8", "int64"]
        assert found.targets.shape == (count,)
        assert set(np.unique(found.targets)) == set(range(classes))
        assert len(found.mean) == len(found.std) == shape[0]
        assert found.inputs.mean((0, 2, 3)) / 255 == pytest.approx(np.array(found.mean), abs=0.05)
    else:
        assert [str(array.dtype) for array in (found.inputs, found.targets)] == ["float32", "float32"]
        assert found.targets.shape == (count, 1)


@pytest.mark.parametrize("name", ["digits", "synthetic", "step-function"])
def test_sets_are_always_the_same_and_the_splits_differ(name: str) -> None:
    first, again, other = load(name, "train"), load(name, "train"), load(name, "test")
    assert np.array_equal(first.inputs, again.inputs)
    assert np.array_equal(first.targets, again.targets)
    count = min(len(first), len(other))
    assert not np.array_equal(first.inputs[:count], other.inputs[:count])


def test_digits_are_all_of_scikit_learns_enlarged() -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, testing = digits.images, np.arange(len(digits.target)) % 6 == 0
    train, test = load("digits", "train"), load("digits", "test")
    small = np.concatenate([train.inputs, test.inputs])[:, 0, ::4, ::4]
    assert sorted(map(bytes, small)) == sorted(map(bytes, (images * (255 / 16)).round().astype(np.uint8)))
    assert np.array_equal(train.targets, digits.target[~testing])
    assert np.array_equal(test.targets, digits.target[testing])
    assert np.array_equal(train.inputs[:, 0, 1::4, 3::4], train.inputs[:, 0, ::4, ::4])


def test_pictures_made_piece_by_piece_are_those_of_one_piece() -> None:
    patterns = np.random.default_rng(0).uniform(64, 192, (10, 3, 4, 4)).repeat(8, axis=2).repeat(8, axis=3)
    random, found = np.random.default_rng(2), load("synthetic", "test")
    assert np.array_equal(found.targets, random.integers(0, 10, 2048))
    noise = random.standard_normal((2048, 3, 32, 32), dtype=np.float32) * 48.0
    assert np.array_equal(found.inputs, (patterns[found.targets] + noise).clip(0, 255).astype(np.uint8))


def test_the_step_function_steps_in_the_middle() -> None:
    found = load("step-function")
    assert np.array_equal(found.targets == 1, found.inputs >= 0.5)
    assert set(np.unique(found.targets)) == {0, 1}


def test_unknown_data_comes_with_the_known() -> None:
    with pytest.raises(DataError, match="data 'mnist' is not known; use one of fashion-mnist, cifar10, digits"):
        load("mnist")


def test_both_kinds_of_models_have_built_in_data() -> None:
    assert {DATA[name] for name in ("digits", "synthetic", "step-function")} == set(MODELS.values())
