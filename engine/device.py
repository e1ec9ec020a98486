"""Which processor a rank computes on."""

from __future__ import annotations

import platform

import torch
from mpi4py import MPI

from engine.errors import ClearError


class DeviceError(ClearError):
    """The asked-for device is not there."""

    kind = "device"


def choose_device(wanted: str, comm: MPI.Comm) -> torch.device:
    """The device for this rank: with "auto" a GPU where one is visible, each rank of a host its own in turn.

    Collective over `comm`.

    Raises:
        DeviceError: "cuda" is asked for and no GPU is visible.
    """
    on_host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    local_rank = on_host.rank
    on_host.Free()
    if wanted == "cpu" or (wanted == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise DeviceError(
            "trial.device: 'cuda' is asked for and no GPU is visible",
            "set resources.gpus_per_worker to at least 1, and check `sweeper doctor`",
        )
    device = torch.device("cuda", local_rank % torch.cuda.device_count())
    use_device(device)
    return device


def use_device(device: torch.device) -> None:
    """Compute there from now on, and the same each time; a program of the user's may have changed both."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
        # The fastest convolutions add up in whatever order their threads come, and a curve could not be had again.
        torch.backends.cudnn.deterministic = True


def describe(device: torch.device) -> dict[str, str]:
    """Kind, name and where it has one UUID of a device, for the record."""
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        uuid = getattr(properties, "uuid", "")  # older torch does not tell
        return {"device": str(device), "device_name": properties.name, "device_uuid": str(uuid)}
    return {"device": "cpu", "device_name": platform.processor() or platform.machine()}
