"""TensorBoard's event files, written and read by its own package, which is loaded only here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sweeper.errors import MissingPackageError

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

MARK = "tfevents"  # in the names of all event files
_VERSION = "brain.Event:2"


def need_tensorboard() -> None:
    """Raises:
    MissingPackageError: TensorBoard's package is not installed.
    """
    try:
        import tensorboard.compat.proto.event_pb2  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            "tensorboard is not installed, which event files are written and read by",
            "pip install 'sweeper[tensorboard]'",
        ) from None


class EventWriter:
    """Writes one event file; closed at the end of its block."""

    def __init__(self, path: Path, wall_time: float) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        path.parent.mkdir(parents=True, exist_ok=True)
        self._records = RecordWriter(path.open("wb"))
        self._records.write(Event(wall_time=wall_time, file_version=_VERSION).SerializeToString())

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._records.close()

    def scalars(self, wall_time: float, step: int, values: Mapping[str, float]) -> None:
        """Values of one moment, by name; the moment in seconds since 1970.

        They are floats of 32 bits: TensorBoard's faster loader passes over doubles.
        """
        from tensorboard.compat.proto import event_pb2, summary_pb2

        found = summary_pb2.Summary()
        for tag, number in values.items():
            found.value.add(tag=tag, simple_value=number)
        self._write(event_pb2.Event(wall_time=wall_time, step=step, summary=found))

    def text(self, wall_time: float, tag: str, text: str) -> None:
        """A text of any length."""
        from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
        from tensorboard.plugins.text.metadata import create_summary_metadata

        tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[text.encode()])
        tensor.tensor_shape.dim.add(size=1)
        value = summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=create_summary_metadata(tag, ""))
        self._write(event_pb2.Event(wall_time=wall_time, summary=summary_pb2.Summary(value=[value])))

    def hparams(self, wall_time: float, tag: str, data: Any) -> None:
        """Data of the plugin for hyperparameters, under one of its tags."""
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.plugins.hparams import metadata

        made = metadata.create_summary_metadata(data)
        value = summary_pb2.Summary.Value(tag=tag, metadata=made, tensor=metadata.NULL_TENSOR)
        self._write(event_pb2.Event(wall_time=wall_time, summary=summary_pb2.Summary(value=[value])))

    def _write(self, event: Event) -> None:
        self._records.write(event.SerializeToString())


def event_files(folder: Path) -> list[Path]:
    """The event files of a run: those in its folder, not below."""
    return sorted(path for path in folder.iterdir() if MARK in path.name and path.is_file())


def read_events(path: Path) -> Iterator[Event]:
    """The events of a file up to where it breaks off; scalars of old writers as tensors."""
    from google.protobuf.message import DecodeError
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    with suppress(DecodeError):
        yield from EventFileLoader(str(path)).Load()


def breaks_off_at(path: Path, events: int) -> int | None:
    """The byte at which a file of which so many events could be read breaks off; None where it is whole.

    A record is its length in 8 bytes, 4 bytes of checksum, the event, and again 4 bytes of checksum.
    """
    size, begin = path.stat().st_size, 0
    with path.open("rb") as file:
        for _ in range(events):
            file.seek(begin)
            begin += _AROUND + int.from_bytes(file.read(8), "little")
    return begin if begin < size else None


_AROUND = 16  # bytes of a record that are not its event


def scalar(value: Summary.Value) -> float | None:
    """A summary's number; None where it is something else."""
    from tensorboard.compat.proto import types_pb2

    tensor = value.tensor
    if tensor.dtype == types_pb2.DT_DOUBLE and len(tensor.double_val) == 1:
        return float(tensor.double_val[0])
    if tensor.dtype not in _NUMBERS or any(dim.size != 1 for dim in tensor.tensor_shape.dim):
        return None
    from tensorboard.util.tensor_util import make_ndarray

    return float(make_ndarray(tensor).item())


_NUMBERS = (1, 2, 3, 9, 19)  # DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_HALF


def text_of(value: Summary.Value) -> str:
    """A summary's text."""
    return value.tensor.string_val[0].decode() if value.tensor.string_val else ""


def mentions(path: Path, words: str) -> bool:
    """Whether a file has these words near its beginning; raises nothing."""
    try:
        with path.open("rb") as file:
            return words.encode() in file.read(4096)
    except OSError:
        return False
