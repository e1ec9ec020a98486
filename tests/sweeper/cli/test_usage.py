"""What the command line says of commands that are called wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.cli.main import main
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store

SPEC = {"name": "tiny", "space": {"workers": [1]}}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'sweeper.db'}"


def added(store: Store, *, ended: bool) -> None:
    spec = parse_spec(SPEC)
    sweep = store.sweeps.add(spec, plan(spec))
    for trial in store.trials.of(sweep) if ended else ():
        attempt = store.attempts.claim(trial.id)
        assert attempt
        points = [LossPoint(1, 100, 0.5, 1.0)]
        store.attempts.add_points(trial.id, attempt, points)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "x", "--workers", "2"], "--workers: there is no such option; see `sweeper show --help`"),
        (
            ["show", "x", "--sorte", "loss"],
            "--sorte: there is no such option, did you mean --sort or --store?; see `sweeper show --help`",
        ),
        (["show"], "Missing argument 'SWEEP|TRIAL'; see `sweeper show --help`"),
    ],
)
def test_guesses_are_close_and_sentences_end_once(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert capsys.readouterr().err == f"error: {said}\n"


def test_deleting_without_an_answer_names_the_option(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    added(open_store(url), ended=True)
    (tmp_path / "empty").touch()
    with (tmp_path / "empty").open() as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with pytest.raises(SystemExit, match="1"):
            main(["delete", "tiny", "--store", url])
    assert capsys.readouterr().err.endswith(
        "error: delete: asks first, and standard input gives no answer; add --yes\n"
    )
    assert open_store(url).sweeps.find("tiny")


def test_a_sweep_that_has_ended_is_resumed_without_starting_anything(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    added(open_store(url), ended=True)
    with pytest.raises(SystemExit, match="0"):
        main(["resume", "tiny", "--store", url])
    said = capsys.readouterr()
    assert "(tiny): nothing is left to run; all trials have ended\n" in said.err
    assert "Ray" not in said.err
    assert "tiny" in said.out
