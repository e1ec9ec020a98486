"""Whether the service is well, for whoever watches over it: /healthz, and /metrics as Prometheus reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from starlette.responses import Response

from dashboards.api import documented
from dashboards.api.documented import errors
from dashboards.api.watches import Watches
from dashboards.responses.json_answers import JsonAnswer
from sweeper.errors import StoreError
from sweeper.plan.sweep_state import SweepState
from sweeper.plan.trial import TrialState
from sweeper.service import Runner
from sweeper.store import Store

logger = logging.getLogger(__name__)


def routes(store: Store, watches: Watches, runner: Runner | None) -> APIRouter:
    """The routes of health."""
    routes = APIRouter(tags=["health"])
    registry = CollectorRegistry()
    registry.register(_Figures(store, watches, runner))
    ProcessCollector(registry=registry)

    @routes.get(
        "/healthz",
        response_model=documented.HealthAnswer,
        responses={
            503: {"model": documented.HealthAnswer, "description": "Something does not work."},
            400: errors()[400],
            429: errors()[429],
        },
    )
    def health() -> Response:
        """Whether the store answers, and sweeps are run."""
        try:
            store.submissions.all()
            stored = "ok"
        except StoreError as error:
            logger.error("%s", error)  # who asks may be anybody
            stored = "does not answer"
        runs = "none" if runner is None else "ok" if runner.is_alive() else "ended"
        well = stored == "ok" and runs != "ended"
        content = {"status": "ok" if well else "failing", "store": stored, "runner": runs}
        return JsonAnswer(content, status_code=200 if well else 503)

    @routes.get(
        "/metrics",
        responses={
            200: {"description": "Figures.", "content": {"text/plain": {"schema": {"type": "string"}}}},
            **errors(),
        },
        response_class=Response,
    )
    def metrics() -> Response:
        """Figures for Prometheus."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return routes


class _Figures(Collector):
    """Counts of sweeps and trials, asked of the store when somebody asks for them."""

    def __init__(self, store: Store, watches: Watches, runner: Runner | None) -> None:
        self._store, self._watches, self._runner = store, watches, runner

    def describe(self) -> list[Metric]:
        """Nothing is asked of the store before somebody asks."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The figures as they are now."""
        sweeps = self._store.sweeps.all()
        trials = GaugeMetricFamily("sweeper_trials", "Trials of all sweeps by state.", labels=["state"])
        for state in TrialState:
            trials.add_metric([state.value], sum(sweep.states.get(state, 0) for sweep in sweeps))
        yield trials
        by_state = GaugeMetricFamily("sweeper_sweeps", "Sweeps by state.", labels=["state"])
        for word in SweepState:
            by_state.add_metric([word.value], sum(sweep.state is word for sweep in sweeps))
        yield by_state
        problems = sum(one.problem is not None for one in self._store.submissions.all())
        yield GaugeMetricFamily("sweeper_sweeps_with_problem", "Submitted sweeps that cannot be run.", problems)
        yield GaugeMetricFamily("sweeper_open_pages", "Pages that follow a sweep.", self._watches.pages)
        yield GaugeMetricFamily(
            "sweeper_runner_up", "Whether sweeps are run.", bool(self._runner and self._runner.is_alive())
        )
