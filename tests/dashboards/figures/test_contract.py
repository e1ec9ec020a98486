"""What every figure of the registry does, and what a new one needs: its folder and its line."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure as Drawing

import dashboards.figures
from dashboards.figures import FIGURES, Figure, Source
from dashboards.figures.drawing import style
from dashboards.figures.drawing.figure_file import render
from dashboards.figures.tables import TrialTable, trial_table
from dashboards.plot import plot, plot_command
from dashboards.responses.json_answers import to_json
from sweeper.answers.best import best_answer
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store, SweepRecord
from tests.dashboards.client import client_of
from tests.dashboards.sweeps import curve, diverging, evaluated, run, submit, with_gang

FOLDER = Path(dashboards.figures.__file__).parent
SHARED = {"drawing", "plotly", "tables", "words"}


@pytest.fixture
def sweep(store: Store) -> SweepRecord:
    """Complete and diverged trials, with evaluations and phases, and one that is still waiting."""
    sweep_id = submit(store, {"batch_size": [16, 64], "learning_rate": [0.1, 0.2, 0.3, 0.5], "workers": [1, 2]})
    for trial in store.trials.of(sweep_id)[:-1]:
        diverges = trial.workers == 1 and trial.parameters["learning_rate"] == 0.5
        points, attempt = diverging() if diverges else curve(4.0 / trial.workers, 1.5), store.attempts.claim(trial.id)
        assert attempt is not None
        with_gang(store, trial, attempt)
        store.attempts.add_points(trial.id, attempt, points)
        evaluated(store, trial.id, 0.5, 0.75)
        state = TrialState.DIVERGED if diverges else TrialState.COMPLETED
        store.attempts.finish(trial.id, attempt, state, summarize(points), phases={"compute": 1.0})
    return store.sweeps.find(sweep_id)


@pytest.fixture
def source(store: Store, sweep: SweepRecord) -> Source:
    """All that a figure may ask for; two sweeps for those that compare."""
    before = run(store, {"learning_rate": [0.1], "workers": [1]}, lambda _: curve(2.0, 1.0), name="before")
    answers = best_answer(store, sweep.id, recommend=True)["groups"]
    return Source(store, trial_table(store, sweep), trial_table(store, before), answers=lambda _: answers)


every_figure = pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)


@every_figure
class TestContract:
    """The contract of `dashboards.figures.base.Figure`."""

    def test_it_is_in_the_folder_of_its_name(self, figure: Figure[Any]) -> None:
        assert FIGURES[figure.name] is figure
        assert type(figure).__module__ == f"dashboards.figures.{figure.name}"
        for part in ("table", "drawing", "plotly"):
            assert (FOLDER / figure.name / f"{part}.py").is_file()

    def test_it_is_told_in_words(self, figure: Figure[Any]) -> None:
        assert figure.help.endswith(".")
        assert figure.title
        assert figure.description

    def test_the_same_table_gives_the_same_picture(self, figure: Figure[Any], source: Source) -> None:
        table = figure.table(source)
        assert render(figure.draw(table), "png") == render(figure.draw(figure.table(source)), "png")

    def test_csv_has_a_header_and_lines_of_its_width(self, figure: Figure[Any], source: Source) -> None:
        header, *lines = csv.reader(io.StringIO(figure.csv(figure.table(source))))
        assert len(set(header)) == len(header)
        assert lines
        assert {len(line) for line in lines} == {len(header)}

    def test_a_plot_is_json_without_nan(self, figure: Figure[Any], source: Source) -> None:
        drawn = json.loads(to_json(figure.plotly(source)))
        assert drawn.keys() >= {"panels", "note"}
        assert all(panel.keys() >= {"title", "data", "layout", "height"} for panel in drawn["panels"])

    def test_a_sweep_in_which_nothing_has_run_is_drawn_or_a_clear_error(
        self, figure: Figure[Any], store: Store
    ) -> None:
        trials = trial_table(store, run(store, {"learning_rate": [0.1]}, lambda _: None, name="waits"))
        source = Source(store, trials, trials)
        with suppress(FigureError):
            table = figure.table(source)
            assert isinstance(figure.draw(table), Drawing)
            assert figure.csv(table)
            assert figure.plotly(source)

    def test_it_knows_no_other_figure(self, figure: Figure[Any]) -> None:
        for path in (FOLDER / figure.name).glob("*.py"):
            rooms = set(re.findall(r"dashboards\.figures\.(\w+)[. ]", path.read_text()))
            assert rooms <= {figure.name, "base", *SHARED}, path


def test_every_folder_is_listed_once() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert folders - SHARED == FIGURES.keys()


def test_the_list_loads_neither_matplotlib_nor_numpy() -> None:
    code = """
import sys
import dashboards.figures
assert not [name for name in sys.modules if name.partition(".")[0] in ("matplotlib", "numpy", "plotly", "torch")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


class Counted(Figure[TrialTable]):
    """A figure that nothing but the registry knows."""

    name = "counted"
    help = "The trials, counted."
    title = "How many"
    description = "the trials of the sweep"

    def table(self, source: Source) -> TrialTable:
        return source.trials

    @style.drawing()
    def draw(self, table: TrialTable) -> Drawing:
        figure = style.new_figure(3.0, 2.0)
        figure.suptitle(f"{len(table.rows)} trials")
        return figure

    def csv(self, table: TrialTable) -> str:
        return f"trials\n{len(table.rows)}\n"

    def plotly(self, source: Source) -> dict[str, Any]:
        title = f"{len(source.trials.rows)} trials"
        return {"panels": [{"title": title, "data": [], "layout": {}, "height": 100}], "note": ""}


class Failing(Counted):
    """One that never has anything to show."""

    name = "failing"

    def table(self, source: Source) -> TrialTable:
        raise FigureError(f"sweep {source.trials.name!r}: has no such thing", "try another figure")

    def plotly(self, source: Source) -> dict[str, Any]:
        self.table(source)
        return {}


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two are in the registry."""
    for figure in (Counted(), Failing()):
        monkeypatch.setitem(FIGURES, figure.name, figure)


@pytest.mark.usefixtures("registered")
def test_a_new_figure_is_on_the_page_and_has_its_downloads(store: Store, sweep: SweepRecord) -> None:
    client = client_of(store)
    page = client.get(f"/sweeps/{sweep.id}").text
    assert all(words in page for words in (Counted.title, Counted.description, 'id="counted"'))
    where = f"/sweeps/{sweep.id}/figures/counted"
    assert client.get(f"{where}.json").json()["panels"][0]["title"] == "16 trials"
    assert client.get(f"{where}.csv").text == "trials\n16\n"
    assert client.get(f"{where}.rows").json() == {"columns": ["trials"], "rows": [["16"]], "more": 0}
    assert "16 trials" in client.get(f"{where}.svg").text
    assert client.get(f"{where}.png").content.startswith(b"\x89PNG")


@pytest.mark.usefixtures("registered")
def test_one_that_has_nothing_to_show_says_so(store: Store, sweep: SweepRecord) -> None:
    client = client_of(store)
    where = f"/sweeps/{sweep.id}/figures/failing"
    told = f"sweep {sweep.name!r}: has no such thing; try another figure"
    assert client.get(f"{where}.json").json() == {"panels": [], "note": "", "problem": told}
    for extension in ("csv", "png", "rows"):
        answer = client.get(f"{where}.{extension}")
        assert (answer.status_code, answer.json()["error"]["remedy"]) == (404, "try another figure")


@pytest.mark.usefixtures("registered", "sweep")
def test_a_new_figure_is_a_command(url: str, tmp_path: Path) -> None:
    assert "counted" not in plot.commands
    command = plot_command(FIGURES.values())
    runner = CliRunner()
    assert Counted.help in runner.invoke(command, ["--help"]).output
    path = tmp_path / "counted.svg"
    told = runner.invoke(command, ["counted", "sweep", "--store", url, "-o", str(path)])
    assert (told.exit_code, told.output) == (0, f"{path}\n")
    assert "16 trials" in path.read_text()
    failed = runner.invoke(command, ["failing", "sweep", "--store", url])
    assert isinstance(failed.exception, FigureError)


def test_figures_of_two_sweeps_have_no_address_with_one(store: Store, sweep: SweepRecord) -> None:
    answer = client_of(store).get(f"/sweeps/{sweep.id}/figures/comparison.json")
    assert answer.status_code == 422
    assert "kind: Input should be 'heatmap', 'candidates', 'curves'" in answer.json()["error"]["message"]
