"""Sweeps: listed, submitted, looked at, ranked, stopped, gone on with."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query
from pydantic import Field
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from dashboards.api import documented
from dashboards.api.documented import Key, errors
from dashboards.responses.json_answers import JsonAnswer
from dashboards.responses.paging import Paging
from sweeper.answers.best import best_answer
from sweeper.answers.forecast import MOST_WORKERS, forecast_answer
from sweeper.answers.sweeps import Order, show_answer, sweep_answer
from sweeper.answers.time_left import remaining
from sweeper.errors import AccessError, SubmissionError
from sweeper.interchange.exporting import write_export
from sweeper.interchange.formats import SWEEP_FORMATS
from sweeper.plan.trial import TrialState
from sweeper.service import Policy, Runner, submit
from sweeper.spec import Over
from sweeper.store import Store, SweepRecord
from sweeper.store.archives import read_archive

Reference = Annotated[str, Path(description="A sweep's id, the beginning of one, its name, or `latest`.")]
Count = Annotated[int, Field(ge=1, le=MOST_WORKERS)]
Number = Annotated[int, Query(ge=1, le=1_000_000)]
Finite = Annotated[float | None, Query(allow_inf_nan=False)]


def routes(store: Store, policy: Policy, runner: Runner | None) -> APIRouter:
    """The routes of sweeps."""
    routes = APIRouter(tags=["sweeps"], default_response_class=JsonAnswer)
    _add_questions(routes, store, runner)
    _add_results(routes, store)
    changes = APIRouter(dependencies=[Depends(partial(_check_may_change, store))])
    _add_changes(changes, store, policy, runner)
    routes.include_router(changes)
    return routes


def _check_may_change(store: Store) -> None:
    """Refuse where the server only looks.

    Raises:
        AccessError: so it is.
    """
    if store.reads_only:
        raise AccessError("this server only shows sweeps", "ask one that was started without --look-only")


def _add_questions(routes: APIRouter, store: Store, runner: Runner | None) -> None:
    @routes.get("/sweeps", response_model=documented.SweepsAnswer, responses=errors())
    def list_sweeps(
        page: Number = 1,
        per_page: Annotated[int, Query(ge=1, le=500)] = 50,
        reference: Annotated[str | None, Query(description="Only the sweep that this refers to.")] = None,
    ) -> Response:
        """The sweeps of the store, newest first."""
        found = store.sweeps.all() if reference is None else [store.sweeps.find(reference)]
        shown, paging = paged(found, page, per_page)
        return JsonAnswer({"sweeps": [sweep_answer(sweep) for sweep in shown], **paging})

    @routes.get("/sweeps/{sweep}", response_model=documented.SweepAnswer, responses=errors())
    def show_sweep(sweep: Reference) -> Response:
        """How far a sweep is, what it was submitted with, and what keeps it from being run."""
        return JsonAnswer(_status(store, store.sweeps.find(sweep), runner))

    @routes.get("/sweeps/{sweep}/trials", response_model=documented.TrialsAnswer, responses=errors())
    def list_trials(
        sweep: Reference,
        order: Order = "plan",
        state: Annotated[TrialState | None, Query()] = None,
        page: Number = 1,
        per_page: Annotated[int, Query(ge=1, le=1000)] = 100,
        dollars_per_worker_hour: Annotated[float | None, Query(ge=0, allow_inf_nan=False)] = None,
    ) -> Response:
        """The trials of a sweep, as `sweeper show` has them."""
        answer = show_answer(store, sweep, order, dollars_per_worker_hour)
        chosen = [trial for trial in answer["trials"] if state is None or trial["state"] == state.value]
        shown, paging = paged(chosen, page, per_page)
        return JsonAnswer({**answer, "trials": shown, **paging})


def _add_results(routes: APIRouter, store: Store) -> None:
    @routes.get("/sweeps/{sweep}/best", response_model=documented.BestAnswer, responses=errors())
    def best_of_sweep(
        sweep: Reference,
        by: Annotated[list[str] | None, Query(description="Parameters whose values make the groups.")] = None,
        threshold: Finite = None,
        over: Over | None = None,
        oversubscribed: bool = False,
        dollars_per_worker_hour: Annotated[float | None, Query(ge=0, allow_inf_nan=False)] = None,
        recommend: Annotated[bool, Query(description="Whether to say what is recommended and how sure it is.")] = True,
    ) -> Response:
        """The winner of each group, as `sweeper best` has it."""
        rate = dollars_per_worker_hour
        return JsonAnswer(
            best_answer(
                store, sweep, by or (), threshold, over, oversubscribed=oversubscribed, rate=rate, recommend=recommend
            )
        )

    @routes.get("/sweeps/{sweep}/forecast", response_model=documented.ForecastAnswer, responses=errors())
    def forecast_of_sweep(
        sweep: Reference,
        workers: Annotated[list[Count], Query(description="Worker counts to forecast; repeatable.")],
        threshold: Finite = None,
        over: Over | None = None,
        dollars_per_worker_hour: Annotated[float | None, Query(ge=0, allow_inf_nan=False)] = None,
        top: Annotated[int, Query(ge=1, le=1000)] = 10,
    ) -> Response:
        """What worker counts that nobody has run would come to, as `sweeper forecast` has it."""
        rate = dollars_per_worker_hour
        return JsonAnswer(forecast_answer(store, sweep, workers, threshold, over, rate=rate, top=top))

    @routes.get(
        "/sweeps/{sweep}/export",
        response_class=FileResponse,
        response_model=None,
        responses={200: {"content": {"application/json": {}}, "description": "The whole sweep."}, **errors()},
    )
    def export_sweep(sweep: Reference) -> FileResponse:
        """The sweep with everything recorded of it, as `sweeper export -o FILE.json` writes it."""
        archive = read_archive(store, store.sweeps.find(sweep).id)
        folder = tempfile.mkdtemp(prefix="sweeper-export-")
        removal = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        try:
            path = write_export(archive, SWEEP_FORMATS["json"], f"{folder}/{archive.sweep.id}.json")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return FileResponse(path, media_type="application/json", background=removal)


def _add_changes(routes: APIRouter, store: Store, policy: Policy, runner: Runner | None) -> None:
    @routes.post(
        "/sweeps",
        status_code=201,
        response_model=documented.SubmittedAnswer,
        responses={200: {"model": documented.SubmittedAnswer, "description": "Submitted before."}, **errors(409, 413)},
    )
    def submit_sweep(
        body: documented.Submission,
        idempotency_key: Annotated[Key | None, Header()] = None,
    ) -> Response:
        """Submit a sweep; the same spec under the same key (of the body, or as header) is the same sweep."""
        sweep_id, new = submit(store, body.spec, body.key or idempotency_key or secrets.token_hex(16), policy)
        if runner:
            runner.look()
        sweep = store.sweeps.find(sweep_id)
        return JsonAnswer(
            {"sweep": sweep.id, "name": sweep.name, "new": new, "trials": sweep.total}, status_code=201 if new else 200
        )

    @routes.post("/sweeps/{sweep}/stop", status_code=202, response_model=documented.StoppedAnswer, responses=errors())
    def stop_sweep(sweep: Reference) -> Response:
        """Stop a sweep for good: what waits is cancelled, what runs ends at its next loss point."""
        found = store.sweeps.find(sweep)
        cancelled = store.sweeps.ask_to_stop(found.id)
        running = len(store.progress.running(found.id))
        return JsonAnswer({"sweep": found.id, "cancelled": cancelled, "running": running}, status_code=202)

    @routes.post(
        "/sweeps/{sweep}/resume", status_code=202, response_model=documented.SweepAnswer, responses=errors(409)
    )
    def resume_sweep(sweep: Reference) -> Response:
        """Let a submitted sweep that could not be run be tried again."""
        found = store.sweeps.find(sweep)
        if store.submissions.of(found.id) is None:
            problem = f"sweep {found.id}: was not submitted to a service"
            raise SubmissionError(problem, "`sweeper resume` runs it where its store is")
        store.submissions.note_problem(found.id, None)
        if runner:
            runner.look()
        return JsonAnswer(_status(store, found, runner), status_code=202)


def paged(items: Sequence[Any], page: int, per_page: int) -> tuple[Sequence[Any], dict[str, int]]:
    """A page of items, and which of how many it is; a page beyond the last has none."""
    place = Paging(page, len(items), per_page)
    return items[place.first : place.last], {"page": page, "pages": place.pages, "total": place.total}


def _status(store: Store, sweep: SweepRecord, runner: Runner | None) -> dict[str, Any]:
    left = remaining(store, sweep.id, sweep.total - sweep.trials)
    submission = store.submissions.of(sweep.id)
    return {
        **sweep_answer(sweep),
        "spec": sweep.spec.written,
        "stopped": store.sweeps.stop_is_asked(sweep.id),
        "submitted": submission is not None,
        "scheduled": runner is not None and runner.sweep == sweep.id,
        "problem": submission.problem if submission else None,
        "seconds_left": left and left.seconds,
        "seconds_left_low": left and left.low,
        "seconds_left_high": left and left.high,
    }
