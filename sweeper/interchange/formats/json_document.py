"""JSON: one object, whose trials stand on a line each so that they can be read one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sweeper.errors import DocumentError
from sweeper.interchange.document import BEGINNING, head_document, read_head, read_trial, trial_document
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.json_text import dump, load, number_words
from sweeper.ranking.curve import LossPoint
from sweeper.store.archived import Archive, ArchivedSweep, ArchivedTrial

_TRIALS = '"trials":['
_BEGINNING = re.compile(r'\s*\{\s*"sweeper"\s*:')


class JsonFormat:
    """{..., "trials": [...]} of `sweeper.interchange.document`; points in columns, "NaN" and infinities as text."""

    name = "json"
    suffixes: tuple[str, ...] = (".json",)
    companion = ""
    is_one_stream = True

    def write(self, archive: Archive, path: Path) -> None:
        """A line for the head, one for each trial, one for the end."""
        head = dump(head_document(archive.sweep))
        with path.open("w", encoding="utf-8") as file:
            file.write(f"{head[:-1]},{_TRIALS}")
            for index, trial in enumerate(archive.read()):
                file.write(f"{',' if index else ''}\n{dump(trial_document(trial, point_columns))}")
            file.write("\n]}\n")

    def recognizes(self, path: Path) -> bool:
        """Whether the text begins like one."""
        return begins(path, _BEGINNING)

    def read(self, path: Path) -> Iterator[IncomingSweep]:
        """Line by line where it has been written so, else the whole at once."""
        with path.open(encoding="utf-8") as file:
            first = file.readline().rstrip("\n")
            if first.startswith(BEGINNING) and first.endswith(f",{_TRIALS}"):
                sweep = read_head(path, parse(path, f"{first.removesuffix(f',{_TRIALS}')}}}"))
                yield IncomingSweep(sweep, _read_trials(path, sweep, _trials_of_lines(path, file)))
                return
        whole = parse(path, path.read_text(encoding="utf-8"))
        sweep = read_head(path, whole)
        if not isinstance(whole.get("trials"), list):
            raise DocumentError(f"{path}: has no 'trials'", "export it again")
        yield IncomingSweep(sweep, _read_trials(path, sweep, whole["trials"]))


def point_columns(points: Sequence[LossPoint]) -> dict[str, list[Any]]:
    """Points as columns of JSON."""
    return {
        "step": [point.step for point in points],
        "images": [point.images for point in points],
        "seconds": [point.seconds for point in points],
        "loss": number_words([point.loss for point in points]),
    }


def points_of_columns(_number: int, columns: Any) -> list[LossPoint]:
    """The points of which `point_columns` made columns."""
    rows = zip(columns["step"], columns["images"], columns["seconds"], columns["loss"], strict=True)
    return [
        LossPoint(int(step), None if images is None else int(images), float(seconds), float(loss))
        for step, images, seconds, loss in rows
    ]


def parse(path: Path, text: str) -> Any:
    """A value of JSON.

    Raises:
        DocumentError: it is none.
    """
    try:
        return load(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(
            f"{path}: is no JSON ({error})", "export it again; it is cut short or was changed"
        ) from None


def begins(path: Path, pattern: re.Pattern[str]) -> bool:
    """Whether a text file begins so."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return pattern.match(file.read(64)) is not None
    except OSError:
        return False


def _trials_of_lines(path: Path, lines: Iterable[str]) -> Iterator[Any]:
    for line in lines:
        text = line.rstrip()
        if text == "]}":
            return
        yield parse(path, text.removesuffix(","))
    raise DocumentError(f"{path}: ends before its end", "export it again; it is cut short")


def _read_trials(path: Path, sweep: ArchivedSweep, documents: Iterable[Any]) -> Iterator[ArchivedTrial]:
    return (read_trial(path, sweep, document, points_of_columns) for document in documents)
