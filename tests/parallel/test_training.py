"""Whole trials over any number of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mpi4py import MPI

from engine.batches import HostBatches
from engine.config import ExchangeConfig, TrainingConfig
from engine.data import load
from engine.evaluation import Evaluator, Quality, share_buffers
from engine.exchange.buckets import Buckets
from engine.kept import Kept
from engine.models import build
from engine.protocol import Ended, Evaluated, Point, Started
from engine.run import Run
from engine.trainer import train
from tests.engine.drawn_data import SAMPLES
from tests.engine.working_clock import (
    COMPUTING,
    GIVING,
    MEETING,
    REPORTING,
    TAKING,
    UPDATING,
    WorkingClock,
)
from tests.parallel.alone import losses_of_points

pytestmark = pytest.mark.parallel
WORLD = MPI.COMM_WORLD
NEURON = {"model": "neuron", "data": "step-function", "learning_rate": 0.5, "device": "cpu"}
PICTURES = {"model": "alexnet-cifar", "data": "digits", "learning_rate": 0.05, "device": "cpu", "momentum": 0.9}

NETWORKS = "tests.engine.small_networks"
OWN = f"{NETWORKS}:with_dropout"


def points_of(
    config: TrainingConfig,
    comm: MPI.Comm = WORLD,
    stop_asked: Callable[[], bool] = lambda: False,
    kept: Kept | None = None,
) -> tuple[list[Point], Ended | None]:
    """The points and the end that rank 0 reports; nothing on the others."""
    events: list[Started | Point | Evaluated | Ended] = []
    train("t", config, comm, events.append, stop_asked, kept=kept)
    if comm.rank != 0:
        assert events == []
        return [], None
    started, *points, ended = events
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    return [point for point in points if isinstance(point, Point)], ended


@pytest.mark.parametrize("average", ["gradients", "weights"])
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**NEURON, "images": 640, "batch_size": 16}, id="even"),
        pytest.param({**NEURON, "images": 101, "global_batch_size": 10}, id="uneven, with a last step of one image"),
        pytest.param({**NEURON, "images": 12, "global_batch_size": 1}, id="fewer images than ranks"),
        pytest.param({**NEURON, "images": 400, "batch_size": 5, "momentum": 0.9, "weight_decay": 0.01}, id="momentum"),
        pytest.param({**PICTURES, "images": 70, "global_batch_size": 16}, id="pictures"),
        pytest.param({**PICTURES, "epochs": 0.03, "global_batch_size": 16}, id="epochs"),
        pytest.param({**NEURON, "steps": 7, "batch_size": 3, "points": "all"}, id="steps"),
    ],
)
def test_losses_are_those_of_a_single_process(settings: dict[str, object], average: str) -> None:
    config = TrainingConfig.model_validate({**settings, "exchange": {"average": average}, "seed": 3})
    points, ended = points_of(config)
    if ended is not None:
        budget = config.known_budget(WORLD.size)
        assert budget
        assert (ended.outcome, ended.images, ended.steps) == ("completed", budget.images, budget.steps)
        assert [point.loss for point in points] == pytest.approx(losses_of_points(config, WORLD.size), rel=2e-4)


@pytest.mark.parametrize("average", ["gradients", "weights"])
@pytest.mark.parametrize("settings", [{**NEURON, "images": 203}, {**PICTURES, "images": 45}])
def test_a_trial_gives_the_same_losses_again(settings: dict[str, object], average: str) -> None:
    config = TrainingConfig.model_validate(
        {**settings, "global_batch_size": 10, "exchange": {"average": average}, "seed": 3}
    )
    found = [[(p.step, p.images, p.loss) for p in points_of(config)[0]] for _ in range(2)]
    assert found[0] == found[1]
    assert WORLD.rank != 0 or len(found[0]) == math.ceil(config.budget(1, 0).images / 10)


@pytest.mark.parametrize("phases", ["coarse", "detailed"])
@pytest.mark.parametrize("average", ["gradients", "weights"])
@pytest.mark.parametrize("method", ["parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast"])
def test_phases_have_the_time_of_their_work_and_add_up_to_the_seconds(
    method: str, average: str, phases: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, events = WorkingClock(monkeypatch), list[Any]()
    settings = {"images": 400, "global_batch_size": 10, "points": 10, "evaluate_every": 200, "phases": phases}
    exchange = {"method": method, "average": average, "overlap": "off"}
    config = TrainingConfig.model_validate({**NEURON, **settings, "exchange": exchange})
    train("t", config, WORLD, clock.taking(REPORTING, events.append), now=clock.now)
    if WORLD.rank != 0:
        return
    ended, steps, points = events[-1], 40, 10
    met = MEETING if phases == "detailed" and WORLD.size > 1 else 0.0
    monkeypatch.undo()
    copied_back = GIVING if average == "gradients" else 0.0
    server = {
        "gather": steps * TAKING,
        "average": 0.0,
        "update": steps * (UPDATING + copied_back),
        "broadcast": steps * ((TAKING if average == "gradients" else 0.0) + GIVING),
    }
    others = {"all-reduce": steps * (TAKING + GIVING), "update": steps * UPDATING}
    alone = {"update": steps * UPDATING}
    of_exchange = alone if WORLD.size == 1 else server if method == "parameter-server" else others
    expected = {"compute": steps * COMPUTING, **of_exchange, "wait": (steps + points) * met}
    found = {name: ended.phases[name] for name in ended.phases if name not in ("evaluation", "report", "wait")}
    assert found == {name: seconds for name, seconds in expected.items() if name != "wait"}
    assert ended.phases.get("wait", 0.0) == expected["wait"]
    assert ended.phases["report"] == 12 * REPORTING
    assert ended.seconds == sum(seconds for name, seconds in ended.phases.items() if name != "evaluation")


def test_an_overlapped_exchange_counts_as_far_as_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, events, launching, waiting = WorkingClock(monkeypatch), list[Any](), 0.5, 8.0
    monkeypatch.setattr(Buckets, "_launch_next", clock.taking(launching, Buckets._launch_next))
    monkeypatch.setattr(Buckets, "finish", clock.taking(waiting, Buckets.finish))
    settings = {"images": 400, "global_batch_size": 10, "exchange": {"method": "all-reduce", "overlap": "on"}}
    train("t", TrainingConfig.model_validate({**NEURON, **settings}), WORLD, events.append, now=clock.now)
    if WORLD.rank == 0 and WORLD.size > 1:
        assert events[-1].phases == {
            "compute": 40 * (COMPUTING + launching),
            "all-reduce": 40 * (waiting + GIVING),
            "update": 40 * UPDATING,
            "report": 0.0,
        }


def test_rank_0_decides_about_stopping() -> None:
    config = TrainingConfig.model_validate({**NEURON, "images": 200, "global_batch_size": 10})
    _, ended = points_of(config, stop_asked=lambda: WORLD.rank != 0)
    assert ended is None or ended.outcome == "completed"
    _, ended = points_of(config, stop_asked=lambda: WORLD.rank == 0)
    assert ended is None or (ended.outcome, ended.steps, ended.images) == ("stopped", 1, 10)


def test_divergence_ends_it_on_every_rank() -> None:
    config = TrainingConfig.model_validate({**PICTURES, "images": 400, "global_batch_size": 8, "learning_rate": 1e30})
    points, ended = points_of(config)
    if ended is not None:
        assert ended.outcome == "diverged"
        assert not math.isfinite(points[-1].loss)
        assert all(math.isfinite(point.loss) for point in points[:-1])
    assert WORLD.allreduce(1) == WORLD.size, "everybody is here"


def test_several_trials_may_share_the_ranks(comm: MPI.Comm) -> None:
    config = TrainingConfig.model_validate({**NEURON, "images": 50, "global_batch_size": 10})
    points, _ = points_of(config, comm)
    assert comm.rank != 0 or [p.loss for p in points] == pytest.approx(losses_of_points(config, comm.size), rel=2e-4)


@pytest.mark.parametrize(
    "augmentation",
    [
        {"instances": 3},
        {"flip": True, "shift": 4, "cutout": 8},
        {"shift": 2, "instances": 2},
        {"shift": 2, "instances": 2, "batch": "instances"},
    ],
)
def test_every_rank_count_sees_the_same_augmented_pictures(augmentation: dict[str, object]) -> None:
    settings = {**PICTURES, "images": 50, "global_batch_size": 12, "augmentation": augmentation, "seed": 3}
    config = TrainingConfig.model_validate(settings)
    alone, together = ([point.loss for point in points_of(config, comm)[0]] for comm in (MPI.COMM_SELF, WORLD))
    if WORLD.rank == 0:
        assert together == pytest.approx(alone, rel=2e-4)
        assert together != [point.loss for point in run_plain(settings)]


def run_plain(settings: dict[str, object]) -> list[Point]:
    """The same on this rank alone, with pictures as they are."""
    config = TrainingConfig.model_validate({name: value for name, value in settings.items() if name != "augmentation"})
    return points_of(config, MPI.COMM_SELF)[0]


@pytest.mark.parametrize("exchange", [{}, {"average": "weights", "every": 3}])
def test_an_evaluation_is_of_the_same_network_and_the_whole_test_set_on_any_rank_count(
    exchange: dict[str, object],
) -> None:
    settings = {**PICTURES, "images": 64, "global_batch_size": 16, "evaluate_every": 32}
    config = TrainingConfig.model_validate({**settings, "exchange": exchange})
    found = {}
    for name, comm in (("alone", MPI.COMM_SELF), ("together", WORLD)):
        events: list[Any] = []
        train("t", config, comm, events.append)
        found[name] = [event for event in events if isinstance(event, Evaluated)]
    if WORLD.rank == 0:
        assert [event.images for event in found["together"]] == [event.images for event in found["alone"]]
        if not exchange:
            pairs = [[(event.loss, event.accuracy) for event in found[name]] for name in ("together", "alone")]
            assert pairs[0] == [pytest.approx(pair, rel=1e-3, abs=1e-3) for pair in pairs[1]]
        assert all(0 <= event.accuracy <= 1 and math.isfinite(event.loss) for event in found["together"])


@pytest.mark.parametrize("exchange", [{"every": 3}, {"every": 3, "start": "own"}, {"start": "own"}])
def test_an_evaluation_is_of_the_mean_of_weights_and_leaves_each_rank_its_own(exchange: dict[str, object]) -> None:
    settings = {**PICTURES, "model": f"{NETWORKS}:with_normalisation", "images": 96, "global_batch_size": 16}
    config = TrainingConfig.model_validate(
        {**settings, "evaluate_every": 32, "exchange": {"average": "weights", **exchange}}
    )
    run = Run(config, WORLD)
    run.warm_up()
    seen = []
    for step in range(3):
        run.step(step)
        own = run.state()["tensors"]
        mean = np.mean(WORLD.allgather(run.flat.weights.numpy()), axis=0)
        evaluator = run._evaluator
        assert evaluator

        def evaluate(evaluator: Evaluator = evaluator) -> Quality:
            seen.append(run.flat.weights.clone().numpy())
            return evaluator()

        run._evaluator = evaluate  # type: ignore[assignment]
        found = run.evaluate(step)
        run._evaluator = evaluator
        assert np.abs(seen[-1] - mean).max() < 1e-6
        assert all(torch.equal(*pair) for pair in zip(run.state()["tensors"], own, strict=True))
        assert len(set(WORLD.allgather(found))) == 1


@pytest.mark.parametrize("exchange", [{"every": 3}, {"every": 2, "start": "own"}])
def test_an_evaluation_leaves_no_trace_in_the_curve(exchange: dict[str, object]) -> None:
    settings = {**PICTURES, "model": OWN, "images": 96, "global_batch_size": 16}
    settings = {**settings, "exchange": {"average": "weights", **exchange}}
    curves = [
        [point.loss for point in points_of(TrainingConfig.model_validate({**settings, **evaluating}))[0]]
        for evaluating in ({}, {"evaluate_every": 16})
    ]
    assert curves[0] == curves[1]
    assert WORLD.rank != 0 or len(curves[0]) == 6


def test_ranks_start_from_weights_of_their_own_and_meet_at_the_first_average() -> None:
    settings = {**NEURON, "model": "mlp", "data": "digits", "learning_rate": 0.01, "images": 64, "global_batch_size": 8}
    exchange = {"average": "weights", "every": 2, "start": "own"}
    config = TrainingConfig.model_validate({**settings, "exchange": exchange})
    for method in ("parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast"):
        chosen = config.model_copy(update={"exchange": config.exchange.model_copy(update={"method": method})})
        run, again = Run(chosen, WORLD), Run(chosen, WORLD)
        first = run.flat.weights.clone()
        everyones = WORLD.allgather(first.numpy().tobytes())
        assert len(set(everyones)) == WORLD.size
        assert torch.equal(again.flat.weights, first), "from the seed and the rank"
        shared = Run(chosen.model_copy(update={"exchange": ExchangeConfig()}), WORLD)
        assert torch.equal(shared.flat.weights, first) == (WORLD.rank == 0), "rank 0 has those that all may share"
        run.warm_up()
        assert torch.equal(run.flat.weights, first), "warming up moves messages and no weights"
        run.step(0)
        assert len(set(WORLD.allgather(run.flat.weights.numpy().tobytes()))) == WORLD.size
        run.step(1)
        assert len(set(WORLD.allgather(run.flat.weights.numpy().tobytes()))) == 1


@pytest.mark.parametrize("start", ["shared", "own"])
def test_all_ranks_learn_the_same_data_though_loading_draws(start: str) -> None:
    settings = {
        **NEURON,
        "model": "mlp",
        "data": "tests.engine.drawn_data:pictures",
        "images": 32,
        "global_batch_size": 8,
    }
    exchange = {"average": "weights", "start": start}
    config = TrainingConfig.model_validate({**settings, "evaluate_every": 16, "exchange": exchange})
    run = Run(config, WORLD)
    evaluator = run._evaluator
    assert isinstance(run._learner.loaded.batches, HostBatches)
    assert evaluator
    assert isinstance(evaluator._batches, HostBatches)
    everything = np.arange(SAMPLES)
    for batches in (run._learner.loaded.batches, evaluator._batches):
        assert len(set(WORLD.allgather(batches.get(everything)[0].numpy().tobytes()))) == 1
    weights = WORLD.allgather(run.flat.weights.numpy().tobytes())
    assert len(set(weights)) == (WORLD.size if start == "own" else 1)
    torch.manual_seed(config.seed)
    task = build(config, load(config.data))
    drawn = torch.cat([parameter.flatten() for parameter in task.module.parameters()])
    assert WORLD.rank or sorted(run.flat.weights.tolist()) == sorted(drawn.tolist()), "data first, then weights"


def test_the_record_says_whose_losses_and_weights_are_told() -> None:
    words = "mean of the workers' own, each with its own weights"
    for exchange, losses in (
        ({}, None),
        ({"average": "weights"}, None),
        ({"average": "weights", "every": 2}, words),
        ({"average": "weights", "every": 2, "start": "own"}, words),
        ({"average": "weights", "start": "own"}, f"{words} until the first average"),
    ):
        config = TrainingConfig.model_validate({**NEURON, "images": 40, "global_batch_size": 10, "exchange": exchange})
        found = Run(config, WORLD).effective()
        assert found.get("losses") == (losses if WORLD.size > 1 else None)
        own = ", from initial weights of each rank's own" if exchange.get("start") and WORLD.size > 1 else ""
        assert found["exchange"].endswith(own)


def test_running_means_are_rank_0s_in_an_evaluation() -> None:
    module = torch.nn.BatchNorm1d(2)
    assert module.running_mean is not None
    module.running_mean.fill_(WORLD.rank + 1)
    share_buffers(module, WORLD)
    assert module.running_mean.tolist() == [1, 1]


@pytest.mark.parametrize("exchange", [{}, {"average": "weights", "every": 3}])
def test_all_ranks_go_on_from_a_checkpoint(exchange: dict[str, object], tmp_path_factory: Any) -> None:
    """Dropout draws differ by rank; and where weights are averaged every few steps, so do weights at the checkpoint."""
    folder = Path(WORLD.bcast(str(tmp_path_factory.mktemp("checkpoints"))))
    settings = {**PICTURES, "model": OWN, "images": 160, "global_batch_size": 8, "checkpoint_every": 80}
    config = TrainingConfig.model_validate({**settings, "exchange": exchange})

    def curve(stop_at: int | None = None) -> list[tuple[int, float]]:
        points: list[tuple[int, float]] = []

        def report(event: object) -> None:
            if isinstance(event, Point):
                points.append((event.images or 0, event.loss))

        train("t", config, WORLD, report, lambda: bool(points) and points[-1][0] == stop_at, folder)
        return points

    first, second = curve(stop_at=104), curve()  # a wish to stop is heard at the next point
    assert not folder.exists() or WORLD.rank != 0
    whole = curve()
    if WORLD.rank == 0:
        assert (first[-1][0], len(second)) == (112, 20)
        assert second == whole
    else:
        assert not whole


def test_ranks_with_folders_of_their_own_keep_few_checkpoints_and_remove_them(tmp_path_factory: Any) -> None:
    """As on hosts that share none: only rank 0 has the note."""
    folder = tmp_path_factory.mktemp("own")
    settings = {**PICTURES, "model": "mlp", "images": 160, "global_batch_size": 8, "checkpoint_every": 24}
    config = TrainingConfig.model_validate(settings)
    reported: list[Point] = []

    def report(event: object) -> None:
        reported.extend([event] if isinstance(event, Point) else [])

    train("t", config, WORLD, report, lambda: bool(reported) and (reported[-1].images or 0) >= 104, folder)
    steps = [int(path.name.removeprefix("step-")) for path in folder.glob("step-*")]
    newest = WORLD.bcast(max(steps))
    assert newest in steps
    assert len(steps) <= (1 if WORLD.rank == 0 else 2)
    assert (folder / "latest.json").exists() == (WORLD.rank == 0)
    started: list[Started] = []
    train("t", config, WORLD, lambda e: started.extend([e] if isinstance(e, Started) else []), lambda: False, folder)
    assert [one.effective["resumed_at_step"] for one in started] == ([newest] if WORLD.rank == 0 else [])
    assert not folder.exists()


@pytest.mark.parametrize("method", ["parameter-server", "all-reduce", "ring"])
def test_a_curve_does_not_depend_on_what_the_ranks_have_kept(method: str) -> None:
    settings = {**PICTURES, "model": "mlp", "images": 50, "global_batch_size": 12, "points": "all"}
    weights = {"method": method, "average": "weights", "every": 2}
    kept = Kept(WORLD)
    for changes in (
        {"exchange": method},
        {"exchange": method, "momentum": 0.5, "weight_decay": 0.01, "seed": 3},
        {"exchange": weights, "seed": 3},
        {"exchange": {**weights, "start": "own"}},
        {"exchange": {**weights, "start": "own"}, "seed": 5},
        {"exchange": method, "global_batch_size": WORLD.size},
        {"exchange": method, "augmentation": {"shift": 1}, "seed": 4},
        {"exchange": method},
    ):
        config = TrainingConfig.model_validate({**settings, **changes})
        warm, cold = points_of(config, kept=kept)[0], points_of(config)[0]
        assert [point.loss for point in warm] == [point.loss for point in cold]


def test_ranks_keep_the_same_though_loading_draws_on_one_alone() -> None:
    settings = {**NEURON, "model": "mlp", "data": "tests.engine.drawn_data:drawn_by_one", "learning_rate": 0.01}
    kept = Kept(WORLD)
    for batch in (8, 16, 8):
        config = TrainingConfig.model_validate({**settings, "images": 64, "global_batch_size": batch})
        warm, cold = points_of(config, kept=kept)[0], points_of(config)[0]
        assert [point.loss for point in warm] == [point.loss for point in cold]
    assert len(set(WORLD.allgather(len(kept)))) == 1
