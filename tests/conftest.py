"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from sweeper.gangs.seat_locks import VARIABLE
from tests.sweeper.slurm.site import SlurmSite, running_slurm, what_is_missing

# Several processes of tests share the cores: with a thread for each core, each would wait for the others' threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Ranks may be more than cores: one that waits lets the others go on.
os.environ.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")

# No test says how long anything takes.
settings.register_profile("sweeper", deadline=None, max_examples=60)
settings.load_profile("sweeper")


# Files whose tests start many processes, those that take longest first.
STARTS_MANY = (
    "sweeper/cli/test_run.py",
    "sweeper/cli/test_server.py",
    "sweeper/cli/test_streams.py",
    "sweeper/gangs/ray/test_executor.py",
    "sweeper/gangs/slurm/test_executor.py",
    "contracts/test_executors.py",
    "sweeper/slurm/test_cut_off.py",
    "sweeper/cli/test_lifecycle.py",
    "sweeper/cli/test_commands_as_trials.py",
    "sweeper/cli/test_sharing.py",
    "sweeper/cli/test_reuse.py",
    "test_parallel.py",
    "test_notebook.py",
    "contracts/test_store_restart.py",
    "dashboards/pages/test_end_to_end.py",
    "engine/test_failing_rank.py",
    "sweeper/guides/test_sampled.py",
    "sweeper/cli/test_search.py",
    "sweeper/cli/test_forecast.py",
    "sweeper/service/test_runner.py",
    "engine/test_worker.py",
    "sweeper/answers/test_doctor.py",
    "cuda_ext/test_load.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the files of `STARTS_MANY` evenly over the others: side by side they would wait for each other's ranks."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path.relative_to(Path(__file__).parent).as_posix(), []).append(item)
    heavy = [name for name in STARTS_MANY if name in files]
    places = {name: float(place) for place, name in enumerate(name for name in files if name not in heavy)}
    places |= {name: number * len(files) / (len(heavy) + 1) - 0.5 for number, name in enumerate(heavy)}
    items[:] = [item for name in sorted(files, key=places.__getitem__) for item in files[name]]


@pytest.fixture(scope="session", autouse=True)
def own_seats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test waits for what other sweeps of the machine have, nor they for what a test has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(tmp_path_factory.mktemp("seats") / "seats"))
        yield


@pytest.fixture(scope="session")
def slurm_site() -> Iterator[SlurmSite]:
    """One SLURM for all tests of a session."""
    if missing := what_is_missing():
        pytest.skip(missing)
    with running_slurm() as site:
        yield site


@pytest.fixture(scope="session")
def recorded_data() -> Callable[[str], Path]:
    """The path of a file or folder below SWEEPER_DATA; the test is skipped where it is not there."""
    folder = os.environ.get("SWEEPER_DATA")  # now: a test may point it elsewhere

    def find(relative: str) -> Path:
        if not folder:
            pytest.skip(f"set SWEEPER_DATA to the folder that holds {relative}")
        path = Path(folder) / relative
        if not path.exists():
            pytest.skip(f"SWEEPER_DATA holds no {relative}")
        return path

    return find
