"""Which processor a rank computes on."""

from __future__ import annotations

import pytest
import torch
from mpi4py import MPI

from engine.device import DeviceError, choose_device, describe


def test_the_cpu_can_be_asked_for() -> None:
    device = choose_device("cpu", MPI.COMM_SELF)
    assert device == torch.device("cpu")
    assert describe(device)["device"] == "cpu"
    assert describe(device)["device_name"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_cpu_is_chosen_and_a_gpu_refused() -> None:
    assert choose_device("auto", MPI.COMM_SELF) == torch.device("cpu")
    with pytest.raises(DeviceError, match=r"no GPU is visible; set resources\.gpus_per_worker to at least 1"):
        choose_device("cuda", MPI.COMM_SELF)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_a_gpu_is_chosen_where_one_is_visible() -> None:
    assert choose_device("auto", MPI.COMM_SELF) == torch.device("cuda", 0)
    assert describe(torch.device("cuda", 0))["device_name"] == torch.cuda.get_device_name(0)
