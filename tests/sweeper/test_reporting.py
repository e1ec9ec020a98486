"""Reports of a command: what they take, and what they leave alone."""

from __future__ import annotations

import warnings

import torch

import sweeper


def test_a_loss_with_its_graph_is_taken_without_a_warning() -> None:
    loss = torch.tensor(1.0, requires_grad=True) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sweeper.report(loss=loss)
    assert loss.requires_grad
