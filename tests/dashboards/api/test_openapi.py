"""The OpenAPI document and the answers say the same: requests made of it, right ones and wrong ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis import Case, GenerationMode
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import positive_data_acceptance

from dashboards.app import create_app
from dashboards.security.settings import Settings
from sweeper.store import open_store
from tests.dashboards.sweeps import curve, run

FEW = 6  # requests of each operation and mode
MANY = int(os.environ.get("SWEEPER_EXAMPLES", "120"))  # the same in the long run: 2,160 in all
HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> BaseSchema:
    folder: Path = tmp_path_factory.mktemp("openapi")
    store = open_store(f"sqlite:///{folder / 'sweeper.db'}")
    run(store, {"batch_size": [16, 32]}, lambda _: curve(10.0, 1.0))
    app = create_app(store, Settings(requests_per_second=None, changes_per_minute=None))
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers={"Host": HOST})


WITH_QUERY = [
    ("GET", "/api/v1/sweeps"),
    ("POST", "/api/v1/sweeps"),
    ("GET", "/api/v1/sweeps/{sweep}/trials"),
    ("GET", "/api/v1/sweeps/{sweep}/best"),
    ("GET", "/api/v1/sweeps/{sweep}/events"),
    ("GET", "/api/v1/trials/{trial}/curve"),
    ("GET", "/api/v1/trials/{trial}/log"),
]
OTHERS = [
    ("GET", "/api/v1/sweeps/{sweep}"),
    ("POST", "/api/v1/sweeps/{sweep}/stop"),
    ("POST", "/api/v1/sweeps/{sweep}/resume"),
    ("GET", "/api/v1/trials/{trial}"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
]


@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.long)], ids=["few", "many"])
@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        *((*operation, GenerationMode.POSITIVE) for operation in (*WITH_QUERY, *OTHERS)),
        *((*operation, GenerationMode.NEGATIVE) for operation in WITH_QUERY),
    ],
)
def test_no_answer_is_undocumented(
    schema: BaseSchema, method: str, path: str, mode: GenerationMode, examples: int
) -> None:
    @hypothesis.given(schema[path][method].as_strategy(generation_mode=mode))
    @hypothesis.settings(max_examples=examples, suppress_health_check=list(hypothesis.HealthCheck), deadline=None)
    def check(case: Case[Any]) -> None:
        case.headers["Host"] = HOST
        if "events" in path:
            case.query["once"] = "true"  # the stream would go on
        # What a spec may be is more than a schema can say, and a sweep may have other parameters than another.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    check()


def test_every_route_has_its_errors(schema: BaseSchema) -> None:
    document = schema.raw_schema
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    assert len(operations) >= 11
    for path, method, operation in operations:
        assert operation.get("description"), (path, method)
        if path != "/healthz":
            assert {"400", "401", "403", "404", "422", "429", "503"} <= operation["responses"].keys(), (path, method)
        for status, answer in operation["responses"].items():
            if status[0] in "45" and path != "/healthz":
                assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorAnswer"), (path, status)
