"""Every figure in every format, and what pages load beside it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from dashboards.figures import FIGURES
from dashboards.pages.static_files import asset, plotly_address
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.candidates.close import close
from tests.dashboards.figures.scaling.measuring import trained
from tests.dashboards.pages.awkward import NAME
from tests.dashboards.pages.conftest import application
from tests.dashboards.sweeps import curve, diverging, evaluated, run, submit

SPEC = {"name": "submitted", "space": {"learning_rate": [0.1]}}
KINDS = [figure.name for figure in FIGURES.values() if not figure.compares]


@pytest.fixture
def client(store: Store) -> TestClient:
    return TestClient(application(store), base_url="http://127.0.0.1:8400", raise_server_exceptions=False)


def strict(text: str) -> Any:
    """JSON as browsers read it: without NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "candidates"])
def test_each_figure_comes_in_each_format(client: TestClient, sweep: SweepRecord, kind: str) -> None:
    where = f"/sweeps/{sweep.id}/figures/{kind}"
    drawn = strict(client.get(f"{where}.json").text)
    assert "problem" not in drawn
    assert all(panel["data"] for panel in drawn["panels"])
    assert "<b>" not in json.dumps(drawn)
    assert client.get(f"{where}.png").content.startswith(b"\x89PNG")
    assert client.get(f"{where}.svg").content.startswith(b"<?xml")
    table = client.get(f"{where}.csv")
    assert len(list(csv.reader(io.StringIO(table.text)))) > 1
    assert "filename*=UTF-8''%E5%AE%9E%E9%AA%8C-1-%E6%97%A5%E6%9C%AC-x-b-" in table.headers["content-disposition"]
    rows = strict(client.get(f"{where}.rows").text)
    assert rows["columns"] == table.text.splitlines()[0].split(",")


def test_while_trials_run_nobody_computes_what_may_be_the_best(client: TestClient, sweep: SweepRecord) -> None:
    where = f"/sweeps/{sweep.id}"
    told = strict(client.get(f"{where}/figures/candidates.json").text)
    assert "trials are running" in told["problem"]
    answer = client.get(f"{where}/figures/candidates.png")
    assert (answer.status_code, answer.json()["error"]["remedy"]) == (404, "look again when they have ended")
    assert not strict(client.get(f"{where}/best.json?sure=true").text)["sure"]


def test_what_may_be_the_best_is_computed_once_and_shown_everywhere(client: TestClient, store: Store) -> None:
    where = f"/sweeps/{close(store).id}"

    def dashed() -> bool:
        return "Dashed" in strict(client.get(f"{where}/figures/heatmap.json").text)["note"]

    assert not dashed()
    assert not strict(client.get(f"{where}/best.json").text)["sure"]
    assert "take the winner" not in client.get(where).text
    told = strict(client.get(f"{where}/best.json?sure=true").text)
    assert told["sure"]
    assert any(note.startswith("workers 1: take ") for note in told["notes"])
    assert any(note.startswith("A winner is a guess: fewer than 6 complete trials") for note in told["notes"])
    assert dashed()
    assert strict(client.get(f"{where}/best.json").text) == told
    assert 'data-sure="yes"' in client.get(where).text
    assert len(strict(client.get(f"{where}/figures/candidates.json").text)["panels"]) == 3
    for extension, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", b"workers,")):
        assert client.get(f"{where}/figures/candidates.{extension}").content.startswith(start)
    assert not strict(client.get(f"{where}/best.json?threshold=1.3").text)["sure"], "that is another question"


@pytest.fixture
def shared(store: Store) -> SweepRecord:
    """A sweep whose trials all shared cores, evaluated on the test set."""
    sweep_id = submit(store, {"batch_size": [16, 32], "learning_rate": [0.1, 0.2]})
    for trial in store.trials.of(sweep_id):
        attempt = store.attempts.claim(trial.id)
        assert attempt is not None
        points = curve(3.0, 1.0 + trial.position / 10)
        store.attempts.add_points(trial.id, attempt, points)
        evaluated(store, trial.id, 0.5, 0.75)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), oversubscribed=True)
    return store.sweeps.find(sweep_id)


def test_of_a_sweep_without_areas_is_drawn_what_there_is(client: TestClient, shared: SweepRecord) -> None:
    def drawn(kind: str, query: str = "") -> Any:
        return strict(client.get(f"/sweeps/{shared.id}/figures/{kind}.json{query}").text)

    for kind in ("curves", "accuracy"):
        (panel,) = drawn(kind)["panels"]
        assert len(panel["data"][0]["x"]) > 1, kind
        assert client.get(f"/sweeps/{shared.id}/figures/{kind}.png").status_code == 200
    for kind in ("heatmap", "histogram"):
        problem = drawn(kind)["problem"]
        assert "none of its curves has an area over seconds; 4 of 4 complete trials shared cores or GPUs" in problem
        assert "take areas over images or steps" in problem
        assert drawn(kind, "?over=images")["panels"]
        assert drawn(kind, "?oversubscribed=true")["panels"]
    assert "4 of its trials shared cores or GPUs, and are not ranked over seconds." in client.get("/").text


def test_pages_name_no_options_of_the_command_line(client: TestClient, store: Store, shared: SweepRecord) -> None:
    lacking = store.sweeps.find(store.sweeps.add_import("mine", [({"workers": 1}, "a", [], summarize([]))]))
    store.submissions.add("key", "digest", parse_spec(SPEC), plan(parse_spec(SPEC)))
    submitted = store.sweeps.find("submitted").id
    problem = {"kind": "seating", "message": "too many", "remedy": "or let them share with --oversubscribe"}
    store.submissions.note_problem(submitted, problem)
    pages = ["/", "/none", "/compare", f"/compare?a={shared.id}&b={lacking.id}", f"/sweeps/{submitted}"]
    for sweep in (shared, lacking):
        pages += [f"/sweeps/{sweep.id}", f"/sweeps/{sweep.id}?over=dollars", f"/sweeps/{sweep.id}/trials"]
        pages += [f"/sweeps/{sweep.id}/figures/{kind}.json?over=images" for kind in KINDS]
        pages += [f"/sweeps/{sweep.id}/figures/{kind}.json" for kind in KINDS]
    for accepted in ("text/html", "application/json"):
        for page in pages:
            text = client.get(page, headers={"Accept": accepted}).text.replace("var(--", "")
            assert not re.findall(r"(?<![\w-])--[a-z][a-z-]*", text), page
    events = client.get(f"/api/v1/sweeps/{submitted}/events?once=true").text
    assert "or let them share with oversubscribe" in events, "the page shows what it is told"


def test_an_error_that_an_option_mends_reads_well_on_pages(client: TestClient, shared: SweepRecord) -> None:
    answers = [client.get(f"/sweeps/{shared.id}/{what}.json?over=dollars") for what in ("best", "figures/heatmap")]
    errors = [answer.json()["error"] for answer in answers]
    assert [error["message"] for error in errors] == 2 * [
        f"over: dollars needs a rate, and sweep {shared.id} has none; "
        "set resources.dollars_per_worker_hour in the spec, or give a rate"
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["nothing", "one", "diverged"])
def test_little_is_drawn_or_told_in_words(client: TestClient, store: Store, kind: str, what: str) -> None:
    result = {"nothing": None, "one": curve(3.0, 1.0), "diverged": diverging()}[what]
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: result)
    answer = client.get(f"/sweeps/{sweep.id}/figures/{kind}.json")
    drawn = strict(answer.text)
    assert answer.status_code == 200
    assert drawn["panels"] or drawn["problem"]
    file = client.get(f"/sweeps/{sweep.id}/figures/{kind}.png")
    assert file.status_code == (404 if "problem" in drawn and kind != "curves" else file.status_code)
    assert file.status_code in (200, 404)


def test_a_view_is_that_of_the_command_line(client: TestClient, sweep: SweepRecord) -> None:
    where = f"/sweeps/{sweep.id}/figures/heatmap.json"
    panels = client.get(where, params={"threshold": 0.0, "over": "images"}).json()["panels"]
    assert all("none of 12 qualified" in panel["title"] for panel in panels)
    assert client.get(where, params={"threshold": "nan"}).status_code == 422
    assert client.get(where, params={"threshold": ""}).json() == client.get(where).json()
    assert client.get(where, params={"over": "moons"}).status_code == 422
    assert client.get(f"/sweeps/{sweep.id}/figures/pie.json").status_code == 422


def test_curves_are_of_the_chosen_trials_and_mark_what_is_not_finite(
    client: TestClient, store: Store, sweep: SweepRecord
) -> None:
    diverged = next(trial for trial in store.trials.of(sweep.id) if trial.state.value == "diverged")
    where = f"/sweeps/{sweep.id}/figures/curves.json"
    panel = client.get(where, params={"trials": diverged.id}).json()["panels"][0]
    line, crosses = panel["data"]
    assert line["y"].count(None) == len(crosses["x"]) == 31
    assert crosses["text"][0] == "loss inf at step 30"
    assert panel["live"]["trials"] == {
        diverged.id: {"line": 0, "attempt": 1, "step": 60, "per_second": pytest.approx(2.5 / 3600)}
    }
    every = client.get(where).json()["panels"][0]["live"]["trials"]
    running = [trial.id for trial in store.trials.of(sweep.id) if trial.state.value == "running"]
    assert set(running) < set(every)


def test_files_of_curves_are_of_the_chosen_trials_too(client: TestClient, store: Store, sweep: SweepRecord) -> None:
    where = f"/sweeps/{sweep.id}/figures/curves"
    running = next(trial for trial in store.trials.of(sweep.id) if trial.state.value == "running")
    table = list(csv.reader(io.StringIO(client.get(f"{where}.csv", params={"trials": running.id}).text)))
    assert {line[1] for line in table[1:]} == {running.id}
    assert len(table) == 21
    assert "loss of chosen trials" in client.get(f"{where}.svg", params={"trials": running.id}).text
    best = client.get(f"/sweeps/{sweep.id}/figures/accuracy.csv").text.splitlines()[1].split(",")[1]
    accuracies = client.get(f"/sweeps/{sweep.id}/figures/accuracy.svg", params={"trials": best}).text
    assert "accuracy on the test set of chosen trials" in accuracies
    failed = next(trial for trial in store.trials.of(sweep.id) if trial.state.value == "failed")
    assert client.get(f"{where}.png", params={"trials": failed.id}).status_code == 404
    assert client.get(f"{where}.png", params={"trials": "no-such"}).status_code == 404


def test_figures_are_made_anew_when_a_trial_has_ended(client: TestClient, store: Store, sweep: SweepRecord) -> None:
    where = f"/sweeps/{sweep.id}/figures/heatmap.json"
    first = client.get(where).json()
    assert client.get(where).json() == first
    running = next(trial for trial in store.trials.of(sweep.id) if trial.state.value == "running")
    store.attempts.finish(running.id, 1, TrialState.COMPLETED, summarize(store.attempts.points(running.id)))
    assert client.get(where).json() != first


def test_compared_sweeps_come_in_each_format(client: TestClient, store: Store, sweep: SweepRecord) -> None:
    other = run(store, {"batch_size": [16], "learning_rate": [0.1], "workers": [1]}, lambda _: curve(3.0, 0.5))
    query = {"a": sweep.id, "b": other.id}
    refused = client.get("/compare/figure.json", params=query).json()
    assert "cannot be compared by their areas: " in refused["problem"]
    query["unlike"] = "true"
    drawn = client.get("/compare/figure.json", params=query).json()
    assert [panel["title"] for panel in drawn["panels"]] == ["1 worker", "2 workers"]
    shares = [z for panel in drawn["panels"] for line in panel["data"][0]["z"] for z in line if z is not None]
    assert len(shares) == 1
    assert math.isfinite(shares[0])
    assert client.get("/compare/figure.svg", params=query).content.startswith(b"<?xml")
    assert "relative" in client.get("/compare/figure.csv", params=query).text
    assert NAME.split()[0] in client.get("/compare", params=query).text


def test_plotlys_script_is_kept_packed_and_for_ever(client: TestClient) -> None:
    answer = client.get(plotly_address(), headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert b"plotly.js" in answer.content[:400]
    plain = client.get(plotly_address(), headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content
    assert len(gzip.compress(plain.content)) < len(plain.content)


def test_our_files_have_the_address_of_their_content(client: TestClient) -> None:
    for name in ("sweeper.css", "sweep.js", "icon.svg"):
        answer = client.get(asset(name))
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    assert client.get("/static/000000000000/sweeper.css").status_code == 404
    assert client.get(asset("..%2F__init__.py")).status_code == 404
    assert client.get("/static/../../pyproject.toml").status_code == 404


def test_addresses_take_what_figures_may_be_asked(client: TestClient, store: Store) -> None:
    mine = trained(store, {"batch_size": [64], "workers": [1, 2]}, accuracies=lambda _: (0.25, 0.75))
    rival = trained(store, {"batch_size": [64], "workers": [1, 2]}, name="rival", trial={"momentum": 0.5})
    where = f"/sweeps/{mine.id}/figures"
    error = list(csv.DictReader(io.StringIO(client.get(f"{where}/accuracy.csv?error=true").text)))
    assert [row["error"] for row in error] == ["0.75", "0.25"] * 2
    asked = f"accuracy=0.5&forecast=4&forecast=8&with={rival.id}"
    scaling = list(csv.DictReader(io.StringIO(client.get(f"{where}/scaling.csv?{asked}").text)))
    assert [(row["sweep"], row["workers"]) for row in scaling] == [
        (sweep, workers) for sweep in (mine.id, rival.id) for workers in ("1", "2", "4", "8")
    ]
    plain, full = (client.get(f"{where}/scaling.json{query}").json() for query in ("", f"?{asked}"))
    assert (len(plain["panels"]), len(full["panels"])) == (4, 5)
    for wrong in ("accuracy=2", "forecast=0", "forecast=x"):
        assert client.get(f"{where}/scaling.json?{wrong}").status_code == 422
