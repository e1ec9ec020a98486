"""Tables and figures of the study."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.exchange_phases.operations import SERVER, Operations, Series, all_series
from experiments.study import Study

# Report 7's sample output; the first three are seconds that its lines give for 4 workers.
_WORKERS_OF_REPORT = 4
_PRINTED = (
    ("Gradient Fetch Time", "gather", 0.013477),
    ("Gradient Avg time", "average", 0.003210),
    ("Weight Update time", "update", 0.000320),
    ("Weight distribution time", "broadcast", 0.010717),
)
_OPERATIONS = ("gather", "average", "update", "broadcast")


def show(study: Study) -> None:
    """Make all of them."""
    from experiments.exchange_phases.drawing import draw_methods, draw_operations

    series = all_series(study)
    printed = _printed(series) if any(one.find(SERVER, _WORKERS_OF_REPORT) for one in series) else []
    study.table("report", ["line", "report 7", *(one.name for one in series)], printed)
    header = ["ranks on, in", "workers", *_OPERATIONS, "all four", "wait"]
    study.table("server", header, [row for one in series for row in _server(one)])
    methods = list(dict.fromkeys(method for one in series for method in one.methods))
    rows = [row for one in series for row in _methods(one, methods)]
    study.table("methods", ["ranks on, in", "workers", *methods], rows)
    study.table("hardware", _HARDWARE, _hardware(study, series))
    study.figure("operations", draw_operations(series))
    study.figure("methods", draw_methods(series))


def _printed(series: Sequence[Series]) -> list[list[str]]:
    found = [one.find(SERVER, _WORKERS_OF_REPORT) for one in series]
    rows = [
        [line, f"{published:.6f}", *(f"{one.seconds[phase]:.6f}" if one else "-" for one in found)]
        for line, phase, published in _PRINTED
    ]
    counts = [str(one.workers) if one else "-" for one in found]
    return [rows[0], ["#Worker_Gradients", str(_WORKERS_OF_REPORT), *counts], *rows[1:]]


def _server(series: Series) -> list[list[str]]:
    rows = []
    for workers in series.counts:
        found = series.find(SERVER, workers)
        if found:
            figures = [_milliseconds(found.seconds.get(name)) for name in _OPERATIONS]
            rest = [_milliseconds(found.exchange), _milliseconds(found.seconds.get("wait"))]
            rows.append([series.name, _count(found), *figures, *rest])
    return rows


def _methods(series: Series, methods: Sequence[str]) -> list[list[str]]:
    rows = []
    for workers in series.counts[series.counts[0] == 1 :]:
        found = [series.find(method, workers) for method in methods]
        mark = next(_count(one) for one in found if one)
        rows.append([series.name, mark, *(_milliseconds(one.exchange if one else None) for one in found)])
    return rows


_MEMORIES = {"host": "the host's memory", "direct": "the GPU's memory", "-": "-"}
_HARDWARE = ["ranks on", "hardware", "messages from", "runs of each row", "versions"]


def _hardware(study: Study, series: Sequence[Series]) -> list[list[str]]:
    rows = []
    for place in dict.fromkeys(one.place for one in series):
        measured = study.measured(f"dummy-{place}")
        here = [one for one in series if one.place == place]
        if measured:
            first = measured[0]
            device = "" if place == "cpu" else f"{first['device']}; "
            runs = ", ".join(f"{one.rows[-1].runs} {one.kind}" for one in here)
            used = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
            rows.append([here[0].place_name, f"{device}{first['hardware']}", _memory(here), runs, used])
    return rows


def _memory(series: Sequence[Series]) -> str:
    """Where the messages of several ranks lie, with the methods that differ from most."""
    found: dict[str, list[str]] = {}
    for row in (row for one in series for row in one.rows if row.workers > 1):
        methods = found.setdefault(row.messages, [])
        if row.method not in methods:
            methods.append(row.method)
    (most, _), *others = sorted(found.items(), key=lambda one: -len(one[1])) or [("-", [])]
    return "; ".join([_MEMORIES[most], *(f"{', '.join(methods)}: {_MEMORIES[place]}" for place, methods in others)])


def _count(found: Operations) -> str:
    return f"{found.workers}*" if found.shared else str(found.workers)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.3f}"
