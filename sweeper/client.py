"""A service, asked over HTTP: what `sweeper submit|watch|stop|best --server URL` use, and programs may."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import httpx2

from sweeper.errors import (
    AccessError,
    NotFoundError,
    SeatingError,
    ServerError,
    SpecError,
    StoreError,
    SubmissionError,
    SweeperError,
    UsageError,
)

if TYPE_CHECKING:
    from sweeper.api import Sweep
    from sweeper.store import Store

_TIMEOUT_S = 60.0
_TRIALS_AT_ONCE = 1000
_EXPORT_S = 600.0  # a million loss points take half a minute
_SILENCE_S = 60.0  # of a stream that says something every 15 s even where nothing happens
_KINDS = {
    kind.kind: kind for kind in (AccessError, NotFoundError, SeatingError, StoreError, SubmissionError, UsageError)
}


class Client:
    """A service at an address such as http://127.0.0.1:8400, with a token where it asks for one.

    Each method raises the error that the service answers with, as the library itself would, or ServerError where it
    cannot be reached.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._http = httpx2.Client(base_url=url, headers=headers, timeout=_TIMEOUT_S, follow_redirects=False)
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise ServerError(f"--server {url}: is no address ({error})", "write it like http://host:8400") from None
        self._url = url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._http.close()

    def submit(self, spec: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Submit a spec under a key: {"sweep", "name", "new", "trials"}. Sent again, it is the same sweep."""
        return self._ask("POST", "sweeps", content={"spec": dict(spec), "key": key})

    def find(self, reference: str) -> dict[str, Any]:
        """The sweep that an id, its beginning, a name or `latest` refers to: an entry of `sweeper list --json`."""
        found = self._ask("GET", "sweeps", {"reference": reference})["sweeps"]
        assert isinstance(found, list)
        return dict(found[0])

    def sweep(self, reference: str = "latest") -> Sweep:
        """A sweep of the service as the Python interface has it: data frames and figures, from `sweeper.open` on."""
        from sweeper.api import Sweep

        return Sweep(_ServiceSource(self), reference)

    def status(self, sweep_id: str) -> dict[str, Any]:
        """How far a sweep is, with its spec, the time left, and what keeps it from being run."""
        return self._ask("GET", f"sweeps/{sweep_id}")

    def progress(self, sweep_id: str) -> dict[str, Any]:
        """How far a sweep is now, as `follow` says it."""
        return next(self.follow(sweep_id))

    def trials(self, sweep_id: str) -> list[dict[str, Any]]:
        """All trials of a sweep, in the order of its plan, as `sweeper show --json` has them."""
        found: list[dict[str, Any]] = []
        page: dict[str, Any] = {"page": 0, "pages": 1}
        while page["page"] < page["pages"]:
            query = {"page": page["page"] + 1, "per_page": _TRIALS_AT_ONCE}
            page = self._ask("GET", f"sweeps/{sweep_id}/trials", query)
            found += page["trials"]
        return found

    def best(self, sweep_id: str, **choices: Any) -> dict[str, Any]:
        """The best per group: by, threshold, over, oversubscribed, dollars_per_worker_hour as in `sweeper best`.

        With recommend=False nothing is said of what is recommended, which takes a moment to compute.
        """
        return self._ask("GET", f"sweeps/{sweep_id}/best", {k: v for k, v in choices.items() if v is not None})

    def forecast(self, sweep_id: str, workers: Sequence[int], **choices: Any) -> dict[str, Any]:
        """What worker counts would come to: threshold, over, dollars_per_worker_hour, top as in `sweeper forecast`."""
        given = {name: value for name, value in choices.items() if value is not None}
        return self._ask("GET", f"sweeps/{sweep_id}/forecast", {"workers": list(workers), **given})

    def stop(self, sweep_id: str) -> dict[str, Any]:
        """Stop a sweep for good: {"sweep", "cancelled", "running"}."""
        return self._ask("POST", f"sweeps/{sweep_id}/stop")

    def follow(self, sweep_id: str) -> Iterator[dict[str, Any]]:
        """The progress of a sweep as it is now and whenever it changes, until the service ends the stream."""
        timeout = httpx2.Timeout(_TIMEOUT_S, read=_SILENCE_S)
        try:
            with self._http.stream("GET", f"/api/v1/sweeps/{quote(sweep_id)}/events", timeout=timeout) as answer:
                if answer.status_code != 200:
                    answer.read()
                    raise self._error(answer)
                for event, data in _events(answer.iter_lines()):
                    if event == "fault":
                        raise _as_error(data.get("error", {}))
                    if event == "progress":
                        yield data
        except httpx2.HTTPError as error:
            raise self._out_of_reach(error) from None

    def export(self, sweep_id: str) -> bytes:
        """The sweep with all that was recorded of it, as `sweeper export -o FILE.json` writes it."""
        try:
            answer = self._http.get(f"/api/v1/sweeps/{quote(sweep_id)}/export", timeout=_EXPORT_S)
        except httpx2.HTTPError as error:
            raise self._out_of_reach(error) from None
        if not answer.is_success:
            raise self._error(answer)
        return answer.content

    def _ask(
        self, method: str, path: str, query: Mapping[str, Any] | None = None, content: object = None
    ) -> dict[str, Any]:
        try:
            answer = self._http.request(method, f"/api/v1/{quote(path)}", params=query, json=content)
        except httpx2.HTTPError as error:
            raise self._out_of_reach(error) from None
        if not answer.is_success:
            raise self._error(answer)
        try:
            found: dict[str, Any] = answer.json()
        except ValueError:
            raise self._no_service(answer) from None
        return found

    def _error(self, answer: httpx2.Response) -> SweeperError:
        try:
            return _as_error(answer.json()["error"])
        except (ValueError, KeyError, TypeError):
            return self._no_service(answer)

    def _no_service(self, answer: httpx2.Response) -> ServerError:
        problem = f"--server {self._url}: answers {answer.status_code}, and not as a service of this kind does"
        return ServerError(problem, "check the address and its port")

    def _out_of_reach(self, error: httpx2.HTTPError) -> ServerError:
        why = " ".join(str(error).split()) or type(error).__name__
        return ServerError(
            f"--server {self._url}: cannot be reached ({why})", "start `sweeper serve`, or check the address"
        )


class _ServiceSource:
    """A service as the source of a `Sweep`; curves are read from a copy, made anew when the sweep has changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._copied: Any = None  # what the trials had come to when the copy was made
        self._store: Store | None = None
        self._forget = ExitStack()  # closes the copy, and removes its folder

    def status(self, reference: str) -> dict[str, Any]:
        """See `sweeper.api.SweepSource.status`."""
        return self._client.find(reference)

    def trials(self, sweep_id: str) -> list[dict[str, Any]]:
        """See `sweeper.api.SweepSource.trials`."""
        return self._client.trials(sweep_id)

    def best(self, sweep_id: str, **choices: Any) -> dict[str, Any]:
        """See `sweeper.api.SweepSource.best`."""
        return self._client.best(sweep_id, **choices)

    def forecast(self, sweep_id: str, workers: Sequence[int], **choices: Any) -> dict[str, Any]:
        """See `sweeper.api.SweepSource.forecast`."""
        return self._client.forecast(sweep_id, workers, **choices)

    def store(self, sweep_id: str) -> Store:
        """See `sweeper.api.SweepSource.store`."""
        from sweeper.interchange.formats import SWEEP_FORMATS
        from sweeper.store import open_store
        from sweeper.store.archives import restore

        found = [(one["trial"], one["state"], one["attempt"], one["points"]) for one in self._client.trials(sweep_id)]
        running = any(state == "running" for _, state, _, _ in found)
        if self._store is not None and found == self._copied and not running:
            return self._store
        with ExitStack() as made:
            folder = made.enter_context(tempfile.TemporaryDirectory(prefix="sweeper-copy-"))
            file = Path(folder) / "sweep.json"
            file.write_bytes(self._client.export(sweep_id))
            store = made.enter_context(closing(open_store(f"sqlite:///{folder}/copy.db")))
            for incoming in SWEEP_FORMATS["json"].read(file):
                restore(store, incoming.sweep, incoming.trials)
            file.unlink()
            kept = made.pop_all()
        self._forget.close()
        self._copied, self._store, self._forget = found, store, kept
        return store

    def close(self) -> None:
        """See `sweeper.api.SweepSource.close`."""
        self._forget.close()
        self._copied, self._store = None, None


def _as_error(content: Mapping[str, str]) -> SweeperError:
    """The error that a service answered with, as its own library raised it."""
    kind, message = content["kind"], content["message"]
    if kind == "spec":
        return SpecError(message.splitlines())
    return _KINDS.get(kind, ServerError)(message, content.get("remedy", ""))


def _events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream, each ended by an empty line; comments, which keep the line open, are none."""
    event, data = "message", ""
    for line in lines:
        if not line:
            if data:
                yield event, json.loads(data)
            event, data = "message", ""
        elif line.startswith("event:"):
            event = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            data += line.removeprefix("data:").strip()
