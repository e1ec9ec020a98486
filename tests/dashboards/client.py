"""The application with a client, without a server between them."""

from __future__ import annotations

from starlette.testclient import TestClient

from dashboards.app import create_app
from dashboards.security.settings import Settings
from sweeper.service import Policy
from sweeper.store import Store

UNLIMITED = Settings(requests_per_second=None, changes_per_minute=None)


def client_of(store: Store, settings: Settings = UNLIMITED, policy: Policy | None = None) -> TestClient:
    """A client of the store's application, as one of this machine; what fails there is an answer, too."""
    app = create_app(store, settings, policy)
    return TestClient(app, base_url="http://127.0.0.1:8400", raise_server_exceptions=False, follow_redirects=False)
