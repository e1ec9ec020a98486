"""Curves and accuracies along epochs: passes over the data set, of which the sizes of built-in ones are known."""

from __future__ import annotations

from typing import Any

import pytest

from dashboards.figures import FIGURES, Source
from dashboards.figures.accuracy.table import accuracy_table
from dashboards.figures.curves.table import chosen_curves, curve_table, curves_csv
from dashboards.figures.tables import EPOCHS, trial_table
from dashboards.plot import draw_figure
from engine.config import SAMPLES
from sweeper.errors import FigureError
from sweeper.plan import plan
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord
from tests.dashboards.sweeps import curve, end, evaluated


def swept(store: Store, trial: dict[str, Any], name: str = "sweep") -> SweepRecord:
    """A sweep of two rates, the second of which has the smaller area over images."""
    budget = {} if "command" in trial else {"images": 100_000}
    written = {"name": name, "trial": {**budget, **trial}, "space": {"learning_rate": [0.1, 0.2]}}
    spec = parse_spec(written)
    sweep = store.sweeps.add(spec, plan(spec))
    for of in store.trials.of(sweep):
        end(store, of, curve(1.0, 1.5 - of.parameters["learning_rate"]))
        evaluated(store, of.id, 0.5, 0.75)
    return store.sweeps.find(sweep)


@pytest.mark.parametrize(
    ("trial", "epoch"),
    [
        ({"data": "digits", "model": "mlp"}, SAMPLES["digits"]),
        ({"data": "cifar10", "augmentation": {"flip": True, "instances": 4}}, SAMPLES["cifar10"]),
        ({"data": "cifar10", "augmentation": {"instances": 4, "batch": "instances"}}, 4 * SAMPLES["cifar10"]),
    ],
)
def test_an_epoch_is_a_pass_over_the_data_set(store: Store, trial: dict[str, Any], epoch: int) -> None:
    table = trial_table(store, swept(store, trial), EPOCHS)
    assert (table.over, table.along) == ("images", "epochs")
    (row,) = curve_table(store, table).rows
    assert row.trial
    assert row.trial.learning_rate == 0.2  # the smaller area over images
    assert row.positions == pytest.approx([64 * n / epoch for n in range(1, 6)])
    (accuracies,) = accuracy_table(store, table).rows
    assert accuracies.positions == pytest.approx([128 / epoch, 256 / epoch])
    (chosen,) = chosen_curves(store, table, [row.trial.trial]).rows
    assert chosen.positions == row.positions
    assert curves_csv(curve_table(store, table)).splitlines()[0] == "workers,trial,epochs,loss"


@pytest.mark.parametrize("kind", ["curves", "accuracy"])
def test_pictures_name_the_axis(store: Store, kind: str) -> None:
    sweep = swept(store, {"data": "digits", "model": "mlp"})
    drawn = draw_figure(store, sweep.id, kind, over="epochs")
    assert drawn.axes[0].get_xlabel() == "epochs"
    source = Source(store, trial_table(store, sweep, EPOCHS))
    assert FIGURES[kind].plotly(source)["panels"][0]["layout"]["xaxis"]["title"]["text"] == "epochs"


def unknown(store: Store, kind: str) -> SweepRecord:
    """A sweep whose data set has a size that nobody knows."""
    points = curve(1.0, 1.0)
    if kind == "import":
        sweep = store.sweeps.add_import("sweep", [({"workers": 1}, "log", points, summarize(points))])
        (trial,) = store.trials.of(sweep)
        evaluated(store, trial.id, 0.5)
        return store.sweeps.find(sweep)
    return swept(store, {"data": "mine:pictures"} if kind == "own data" else {"command": ["train", "{learning_rate}"]})


@pytest.mark.parametrize("kind", ["own data", "command", "import"])
@pytest.mark.parametrize("figure", ["curves", "accuracy"])
def test_epochs_of_data_of_unknown_size_are_refused_in_one_line(store: Store, kind: str, figure: str) -> None:
    with pytest.raises(FigureError) as caught:
        draw_figure(store, unknown(store, kind).id, figure, over="epochs")
    assert "its epochs cannot be counted" in caught.value.message
    assert (caught.value.remedy, caught.value.option) == ("draw it over images", "--over images")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("kind", [name for name, one in FIGURES.items() if EPOCHS not in one.axes and not one.compares])
def test_figures_that_do_not_run_along_an_axis_refuse_epochs(store: Store, kind: str) -> None:
    with pytest.raises(FigureError, match=r"over 'epochs' is not one of its axes; use one of seconds, images"):
        draw_figure(store, swept(store, {}).id, kind, over="epochs")


def test_a_point_beside_its_images_still_has_steps(store: Store) -> None:
    points = [LossPoint(1, None, 0.5, 2.0), LossPoint(2, None, 1.0, 1.0)]
    sweep = store.sweeps.add_import("sweep", [({"workers": 1}, "log", points, summarize(points))])
    (row,) = curve_table(store, trial_table(store, store.sweeps.find(sweep), "steps")).rows
    assert row.positions == (1.0, 2.0)
