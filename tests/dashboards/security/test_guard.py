"""Who is let through, and what is said to who is not: always in the one shape, with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from dashboards.security.settings import Settings
from dashboards.security.tokens import Scope, Tokens
from sweeper.store import Store, open_store
from tests.dashboards.client import UNLIMITED, client_of

READ, SUBMIT = "r" * 20, "s" * 20
TOKENS = Tokens.of({READ: Scope.READ, SUBMIT: Scope.SUBMIT})
SPEC = {"name": "a", "trial": {"model": "neuron", "data": "step-function"}, "space": {"learning_rate": [0.1]}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'sweeper.db'}")
    yield store
    store.close()


@pytest.fixture
def client(store: Store) -> TestClient:
    return client_of(store)


@pytest.fixture
def locked(store: Store) -> TestClient:
    return client_of(store, Settings(tokens=TOKENS, wrong_tokens_per_minute=5))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refused(answer: httpx2.Response, status: int, kind: str) -> str:
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error.keys() == {"kind", "message", "remedy"}
    assert error["kind"] == kind
    assert error["remedy"] or kind == "spec"  # a line of a spec ends with its remedy
    assert answer.headers["x-content-type-options"] == "nosniff"
    return str(error["message"])


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8400", "127.0.0.1.evil.example", "", "[::2]", "a@127.0.0.2"]
)
def test_a_name_that_is_not_the_servers_is_refused(client: TestClient, host: str) -> None:
    assert "none of this server's names" in refused(client.get("/api/v1/sweeps", headers={"Host": host}), 400, "host")


@pytest.mark.parametrize("host", ["127.0.0.1:8400", "localhost", "LOCALHOST:1", "[::1]:8400"])
def test_its_own_names_are_taken(client: TestClient, host: str) -> None:
    assert client.get("/api/v1/sweeps", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_sites_page_cannot_submit(client: TestClient, store: Store, headers: dict[str, str]) -> None:
    answer = client.post("/api/v1/sweeps", json={"spec": SPEC}, headers=headers)
    assert "another site's" in refused(answer, 403, "origin")
    assert store.sweeps.all() == []
    own = {"Origin": "http://127.0.0.1:8400", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/v1/sweeps", json={"spec": SPEC}, headers=own).status_code == 201


def test_without_a_token_only_health_is_told(locked: TestClient) -> None:
    for path in ("/api/v1/sweeps", "/metrics", "/api/v1/openapi.json", "/no/such/path", "/healthzz", "/loginx"):
        answer = locked.get(path)
        assert "token: is missing" in refused(answer, 401, "access")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert locked.get("/healthz").status_code == 200


def test_scopes(locked: TestClient, store: Store) -> None:
    assert locked.get("/api/v1/sweeps", headers=bearer(READ)).status_code == 200
    answer = locked.post("/api/v1/sweeps", json={"spec": SPEC}, headers=bearer(READ))
    assert "may read only" in refused(answer, 403, "access")
    assert store.sweeps.all() == []
    assert locked.post("/api/v1/sweeps", json={"spec": SPEC}, headers=bearer(SUBMIT)).status_code == 201


def test_wrong_tokens_are_refused_and_not_for_long(locked: TestClient) -> None:
    for _ in range(5):
        assert "none of this server's" in refused(
            locked.get("/api/v1/sweeps", headers=bearer("wrong" * 5)), 401, "access"
        )
    answer = locked.get("/api/v1/sweeps", headers=bearer(SUBMIT))
    assert "more than 5 wrong ones" in refused(answer, 429, "rate")
    assert int(answer.headers["retry-after"]) > 0


def test_a_browser_is_asked_for_its_token_once(locked: TestClient) -> None:
    asked = locked.get("/?page=2", headers={"Accept": "text/html"})
    assert asked.status_code == 303
    assert asked.headers["location"] == "/login?next=%2F%3Fpage%3D2"
    page = locked.get(asked.headers["location"])
    assert page.status_code == 200
    assert 'value="/?page=2"' in page.text
    wrong = locked.post("/login", data={"token": "wrong" * 5, "next": "/"})
    assert wrong.status_code == 401
    assert "none of the server&#39;s tokens" in wrong.text or "none of the server's tokens" in wrong.text
    right = locked.post("/login", data={"token": READ, "next": "/?page=2"})
    assert (right.status_code, right.headers["location"]) == (303, "/?page=2")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert READ not in cookie
    assert locked.get("/api/v1/sweeps").status_code == 200  # by the cookie
    assert "may read only" in refused(locked.post("/api/v1/sweeps", json={"spec": SPEC}), 403, "access")


@pytest.mark.parametrize(
    "wrong", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb", "//["]
)
def test_a_login_leads_to_no_other_site(locked: TestClient, wrong: str) -> None:
    assert locked.post("/login", data={"token": READ, "next": wrong}).headers["location"] == "/"


def test_wrong_tokens_on_the_page_count_as_well(locked: TestClient) -> None:
    for _ in range(5):
        assert locked.post("/login", data={"token": "wrong" * 5}).status_code == 401
    refused(locked.post("/login", data={"token": READ}), 429, "rate")


def test_a_body_has_a_limit_whether_or_not_its_length_is_said(store: Store) -> None:
    client = client_of(store, Settings(largest_body=1000))
    assert "more than 1000 bytes" in refused(client.post("/api/v1/sweeps", content=b"x" * 1001), 413, "too-large")

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 100

    refused(client.post("/api/v1/sweeps", content=pieces()), 413, "too-large")
    refused(client.post("/api/v1/sweeps", content=b"{}", headers={"Content-Length": "-1"}), 400, "usage")
    refused(client.post("/api/v1/sweeps", content=b"{}"), 422, "usage")
    refused(client.post("/api/v1/sweeps", content=b"{"), 422, "usage")
    refused(client.post("/api/v1/sweeps", content=b"\xff", headers={"Content-Type": "application/json"}), 400, "usage")


def test_rates_are_limited(store: Store) -> None:
    client = client_of(store, Settings(requests_per_second=5, changes_per_minute=2))
    answers = [client.get("/api/v1/sweeps") for _ in range(20)]
    assert 429 in {answer.status_code for answer in answers}
    assert "more than 5 a second" in refused(next(a for a in answers if a.status_code == 429), 429, "rate")
    client = client_of(store, Settings(requests_per_second=None, changes_per_minute=2))
    codes = [client.post("/api/v1/sweeps/latest/stop").status_code for _ in range(3)]
    assert codes == [404, 404, 429]


def test_every_answer_has_the_headers_that_restrain_browsers(client: TestClient) -> None:
    for answer in (client.get("/api/v1/sweeps"), client.get("/none"), client.get("/healthz", headers={"Host": "x"})):
        policy = answer.headers["content-security-policy"]
        (scripts,) = [part for part in policy.split("; ") if part.startswith("script-src")]
        assert scripts == "script-src 'self'"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def test_errors_of_all_kinds_have_one_shape(client: TestClient) -> None:
    def post(**content: Any) -> httpx2.Response:
        return client.post("/api/v1/sweeps", json=content)

    refused(client.get("/api/v1/none"), 404, "not-found")
    refused(client.delete("/api/v1/sweeps"), 405, "method")
    refused(client.get("/api/v1/sweeps/none/best"), 404, "not-found")
    assert "page: " in refused(client.get("/api/v1/sweeps?page=0"), 422, "usage")
    assert "spec: " in refused(post(), 422, "usage")
    assert "name: " in refused(post(spec={"space": {"learning_rate": [1]}}), 422, "spec")
    assert "trial.command" in refused(
        post(spec={"name": "a", "trial": {"command": ["x"]}, "space": {"workers": [1]}}), 403, "access"
    )
    post(spec=SPEC, key="k")
    refused(post(spec={**SPEC, "name": "b"}, key="k"), 409, "submission")
    assert "has no parameter 'none'" in refused(client.get("/api/v1/sweeps/latest/best?by=none"), 422, "spec")


def test_a_failure_inside_is_told_without_its_details(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(store.sweeps, "all", broken)
    answer = client_of(store, UNLIMITED).get("/api/v1/sweeps")
    assert "secret" not in refused(answer, 500, "internal")


def test_a_browser_may_forget_its_token(locked: TestClient) -> None:
    locked.post("/login", data={"token": READ})
    assert locked.get("/api/v1/sweeps").status_code == 200
    left = locked.post("/logout")
    assert (left.status_code, left.headers["location"]) == (303, "/login")
    assert locked.get("/api/v1/sweeps").status_code == 401
