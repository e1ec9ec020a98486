"""What Optuna and its dashboard see in an exported storage."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import optuna
import pytest
from optuna.storages import RDBStorage
from optuna.trial import TrialState as State
from optuna_dashboard import wsgi

from sweeper.errors import DocumentError
from sweeper.interchange.exporting import write_export
from sweeper.interchange.foreign import ForeignOptions
from sweeper.interchange.formats import SWEEP_FORMATS
from sweeper.interchange.sources import find_source, store_sweeps
from sweeper.ranking import best_per_group
from sweeper.store import Store, open_store
from sweeper.store.archives import read_archive, restore
from tests.sweeper.interchange.archived_sweeps import NAME, fill, told


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'store.db'}")


@pytest.fixture
def exported(store: Store, tmp_path: Path) -> Path:
    archive = read_archive(store, fill(store))
    return write_export(archive, SWEEP_FORMATS["optuna"], f"sqlite:///{tmp_path / 'optuna.db'}")


@pytest.fixture
def storage(exported: Path) -> RDBStorage:
    return RDBStorage(f"sqlite:///{exported}")


def test_there_is_a_study_for_each_group(store: Store, storage: RDBStorage) -> None:
    (sweep,) = store.sweeps.all()
    names = optuna.get_all_study_names(storage)
    assert names == [f"{NAME}, workers=1 ({sweep.id})", f"{NAME}, workers=2 ({sweep.id})"]
    trials = [trial for name in names for trial in optuna.load_study(study_name=name, storage=storage).trials]
    own = {trial.id: trial for trial in store.trials.of(sweep.id)}
    assert {trial.user_attrs["trial"] for trial in trials} == set(own)
    for trial in trials:
        record = own[trial.user_attrs["trial"]]
        assert trial.params == record.parameters
        assert trial.user_attrs["state"] == record.state.value
        losses = [trial.intermediate_values[step] for step in sorted(trial.intermediate_values)]
        assert repr(losses) == repr([point.loss for point in store.attempts.points(record.id)])


def test_the_best_trial_is_the_winner(store: Store, storage: RDBStorage) -> None:
    (sweep,) = store.sweeps.all()
    for group in best_per_group(store.trials.candidates(sweep.id, "seconds"), sweep.threshold, sweep.group_by):
        study = optuna.load_study(study_name=f"{NAME}, workers={group.key['workers']} ({sweep.id})", storage=storage)
        if group.ranking:
            winner = group.ranking[0]
            assert (study.best_trial.user_attrs["trial"], study.best_value) == (winner.trial, winner.area)
        else:
            with pytest.raises(ValueError, match=r"feasible|completed"):
                _ = study.best_trial


def test_states_and_values_are_optunas(storage: RDBStorage) -> None:
    studies = storage.get_all_studies()
    trials = [trial for study in studies for trial in storage.get_all_trials(study._study_id)]
    expected = {"completed": State.COMPLETE, "pruned": State.PRUNED, "pending": State.WAITING, "running": State.RUNNING}
    for trial in trials:
        assert trial.state is expected.get(trial.user_attrs["state"], State.FAIL)
    assert any(math.isnan(value) for trial in trials for value in trial.intermediate_values.values())
    assert {trial.value for trial in trials if trial.state is State.COMPLETE} >= {math.inf}


def ask(app: Any, path: str) -> Any:
    environ: dict[str, Any] = {"PATH_INFO": path, "REQUEST_METHOD": "GET", "QUERY_STRING": "after=0"}
    setup_testing_defaults(environ)
    status: list[str] = []
    body = b"".join(app(environ, lambda code, _headers, _error=None: status.append(code)))
    assert status[0].startswith("200"), (status, body)
    return json.loads(body)


def test_the_dashboard_opens_it(store: Store, storage: RDBStorage) -> None:
    (sweep,) = store.sweeps.all()
    app = wsgi(storage)
    studies = ask(app, "/api/studies")["study_summaries"]
    assert [study["study_name"] for study in studies] == [f"{NAME}, workers={count} ({sweep.id})" for count in (1, 2)]
    shown = [trial for study in studies for trial in ask(app, f"/api/studies/{study['study_id']}")["trials"]]
    own = {trial.id: trial for trial in store.trials.of(sweep.id)}
    assert len(shown) == len(own)
    for trial in shown:
        attributes = {one["key"]: one["value"] for one in trial["user_attrs"]}
        record = own[json.loads(attributes["trial"]) if attributes["trial"].startswith('"') else attributes["trial"]]
        assert len(trial["intermediate_values"]) == len(store.attempts.points(record.id))
        assert {one["name"] for one in trial["params"]} == set(record.parameters)


def test_what_others_have_put_there_is_told(store: Store, exported: Path, tmp_path: Path) -> None:
    optuna.create_study(study_name="other", storage=f"sqlite:///{exported}")
    name = optuna.get_all_study_names(f"sqlite:///{exported}")[0]
    optuna.load_study(study_name=name, storage=f"sqlite:///{exported}").enqueue_trial({})
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    source = find_source(exported)
    assert source is not None
    (imported,) = store_sweeps(other, [source], ForeignOptions())
    assert imported.notes == (
        "1 study that sweeper has not written is left out",
        "1 trial that sweeper has not written is left out: it has no seconds",
    )
    assert told(other, imported.restored.sweep_id) == told(store, imported.restored.sweep_id)


def test_a_storage_of_others_is_refused(tmp_path: Path) -> None:
    optuna.create_study(storage=f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(DocumentError, match="none of its 1 studies"):
        next(SWEEP_FORMATS["optuna"].read(tmp_path / "other.db"))


def test_dollars_are_areas_over_seconds(store: Store, tmp_path: Path) -> None:
    from dataclasses import replace

    archive = read_archive(store, fill(store))
    priced = replace(archive, sweep=replace(archive.sweep, over="dollars", threshold=None))
    path = write_export(priced, SWEEP_FORMATS["optuna"], str(tmp_path / "priced.db"))
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    (incoming,) = SWEEP_FORMATS["optuna"].read(path)
    restore(other, incoming.sweep, iter(()))
    assert incoming.sweep.over == "dollars"
