"""The documents tell of everything there is, and of nothing that is not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from dashboards.app import create_app
from dashboards.serve import serve
from engine.config import (
    DATA,
    MODELS,
    AugmentationConfig,
    ExchangeConfig,
    ParallelConfig,
    ScheduleConfig,
    TrainingConfig,
)
from sweeper.cli.main import cli
from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.spec import Limits, Objective, Prune, Resources, SweepSpec, parse_spec
from sweeper.spec.file import load_spec, parse_yaml
from sweeper.spec.search import Search
from sweeper.store import open_store
from tests.dashboards.sweeps import curve, run
from tests.sweeper.specs import training

ROOT = Path(__file__).parent.parent
COMMANDS = (ROOT / "docs" / "cli.md").read_text()
README = (ROOT / "README.md").read_text()
SPEC = (ROOT / "docs" / "spec.md").read_text()
SERVICE = (ROOT / "docs" / "service.md").read_text()
STRUCTURE = (ROOT / "docs" / "structure.md").read_text()


def commands() -> list[str]:
    context = click.Context(cli)
    return cli.list_commands(context)


@pytest.mark.parametrize("name", commands())
def test_every_command_has_help_and_its_part_of_the_page(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help
    assert f"## `sweeper {name}`" in COMMANDS
    if isinstance(command, click.Group):
        assert all(f"## `sweeper {name} {inner}`" in COMMANDS for inner in command.commands)
    assert all(option.help for option in command.params if isinstance(option, click.Option))


def test_the_first_sentence_of_each_help_fits_its_line_of_the_list() -> None:
    listed = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.partition("Commands:")[2]
    assert len(listed.splitlines()) == len(commands()) + 1
    assert "..." not in listed


@pytest.mark.parametrize("script", ["draw_rooms", "write_cli_page"])
def test_what_a_script_writes_from_the_code_is_up_to_date(script: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / f"{script}.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_links_between_documents_lead_somewhere() -> None:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def fields(model: type[BaseModel], prefix: str = "") -> list[str]:
    return [f"{prefix}{name}" for name in model.model_fields]


@pytest.mark.parametrize(
    "field",
    [
        *(name for name in fields(SweepSpec) if name not in ("objective", "resources", "limits", "prune", "search")),
        *fields(Limits, "limits."),
        *fields(Prune, "prune."),
        *fields(Search, "search."),
        *fields(Objective, "objective."),
        *fields(Resources, "resources."),
        *(name for name in fields(TrainingConfig) if name not in ("exchange", "parallel", "schedule", "augmentation")),
        *fields(AugmentationConfig, "augmentation."),
        *fields(ExchangeConfig, "exchange."),
        *fields(ParallelConfig, "parallel."),
        *fields(ScheduleConfig, "schedule."),
    ],
)
def test_every_field_of_the_spec_has_its_row(field: str) -> None:
    assert f"| `{field}` |" in SPEC


@pytest.mark.parametrize("name", [*MODELS, *DATA])
def test_every_model_and_data_set_is_named(name: str) -> None:
    assert f"`{name}`" in SPEC


def test_the_defaults_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| `?([^|`]*?)`? \|", SPEC, flags=re.MULTILINE)
    told = {name: value for name, value in rows if value not in ("", "none")}
    spec = parse_spec({"name": "x", "space": {"workers": [1]}})
    for name, value in told.items():
        place: object = spec.trial if name.partition(".")[0] in TrainingConfig.model_fields else spec
        for part in name.split("."):
            place = getattr(place, part)
        if name == "batch_size":
            place = training(spec.trial).global_batch(1)
        shown = (
            f"[{', '.join(map(str, place))}]"
            if isinstance(place, tuple)
            else f"{place:g}"
            if isinstance(place, float)
            else str(place).lower()
            if isinstance(place, bool)
            else str(place)
        )
        assert shown == value, name


def test_the_specs_in_the_documents_can_be_planned() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", README + SPEC, flags=re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        written = parse_yaml(block, "document")
        written.setdefault("name", "shown")
        written["space"].pop("global_batch_size" if "batch_size" in written["space"] else "", None)
        assert plan(parse_spec(written), first_points)


def test_the_quickstart_is_as_large_as_the_readme_says() -> None:
    trials = plan(load_spec(ROOT / "experiments" / "quickstart" / "sweep.yaml"), first_points)
    assert f"the {len(trials)} trials" in README
    assert {trial.workers for trial in trials} == {1, 2}


def test_the_files_that_the_structure_names_exist() -> None:
    names = set(re.findall(r"`([\w/]+\.(?:py|md|yaml))`", STRUCTURE))
    paths = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if ".venv" not in path.parts}
    assert names
    for name in names:
        assert any(path.endswith(f"/{name}") or path == name for path in paths), name


def test_every_route_and_option_of_the_service_is_told(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'sweeper.db'}")
    for path, methods in create_app(store).openapi()["paths"].items():
        written = path.replace("{sweep}", "SWEEP").replace("{trial}", "TRIAL")
        assert all(f"`{method.upper()} {written}`" in SERVICE for method in methods), path
    for option in serve.params:
        if option.name not in ("port", "executor", "ray_address", "oversubscribe", "store_url"):
            assert any(name in SERVICE for name in option.opts), option.name
    store.close()


@pytest.mark.parametrize("document", ["README.md", "docs/python.md"])
def test_the_python_in_the_documents_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///sweeper.db")
    run(store, {"workers": [1, 2]}, lambda _: curve(3.0, 0.5))
    store.close()
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), flags=re.DOTALL)
    found: dict[str, Any] = {}
    exec(block, found)
    assert found["best"].workers.tolist() == [1, 2]
