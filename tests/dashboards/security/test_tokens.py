"""Tokens and sessions: what each lets its holder do."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.security.settings import LOOPBACK, settings_for
from dashboards.security.tokens import Scope, Tokens, read_tokens
from sweeper.errors import UsageError

READ, SUBMIT = "r" * 20, "s" * 20
TOKENS = Tokens.of({READ: Scope.READ, SUBMIT: Scope.SUBMIT})


def test_a_token_has_its_scope_and_others_none() -> None:
    assert TOKENS.scope_of(READ) is Scope.READ
    assert TOKENS.scope_of(SUBMIT) is Scope.SUBMIT
    assert READ not in repr(TOKENS)


@given(st.text())
def test_nothing_else_is_taken(text: str) -> None:
    assert TOKENS.scope_of(text) is None
    assert TOKENS.scope_of_session(text) is None


def test_a_session_stands_for_its_scope_until_it_ends_and_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    session = TOKENS.session(Scope.READ)
    assert TOKENS.scope_of_session(session) is Scope.READ
    assert TOKENS.scope_of_session("2" + session[1:]) is None
    signature = session.rindex(".") + 1  # not its last character: some of that one's bits stand for nothing
    assert (
        TOKENS.scope_of_session(
            session[:signature] + ("0" if session[signature] != "0" else "1") + session[signature + 1 :]
        )
        is None
    )
    assert Tokens.of({"t" * 20: Scope.SUBMIT}).scope_of_session(session) is None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 13 * 3600)
    assert TOKENS.scope_of_session(session) is None


def test_a_file_has_a_token_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# of the team\n\n{SUBMIT}\nread {READ}\n")
    assert read_tokens(path, {}) == Tokens.of({SUBMIT: Scope.SUBMIT, READ: Scope.READ})


def test_the_environment_has_one_for_each_scope() -> None:
    assert read_tokens(None, {}) is None
    found = read_tokens(None, {"SWEEPER_TOKEN": f"{SUBMIT}\n", "SWEEPER_READ_TOKEN": READ})
    assert found
    assert (found.scope_of(SUBMIT), found.scope_of(READ)) == (Scope.SUBMIT, Scope.READ)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no token"),
        ("# none\n", "holds no token"),
        ("short", "fewer than 16 characters"),
        (f"write {SUBMIT}", "line 1 is no token"),
        (f"{SUBMIT}\n{SUBMIT} and more", "line 2 is no token"),
    ],
)
def test_what_is_no_token_is_refused_and_not_repeated(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(UsageError, match=problem) as refused:
        read_tokens(path, {})
    assert SUBMIT not in str(refused.value)
    assert refused.value.remedy


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_tokens(tmp_path / "none", {})


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "box.example"])
def test_an_address_that_others_reach_demands_a_token(address: str) -> None:
    with pytest.raises(UsageError, match="no token is set"):
        settings_for(address, (), None)
    settings = settings_for(address, ("Sweeper.Example",), TOKENS)
    assert {"sweeper.example", "localhost"} <= settings.hosts
    assert (address in settings.hosts) == (address not in ("0.0.0.0", "::"))


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "[::1]", "127.0.0.2"])
def test_on_loopback_none_is_needed(address: str) -> None:
    assert settings_for(address, (), None).hosts >= LOOPBACK
