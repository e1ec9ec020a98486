"""From a submission over HTTP to a downloaded figure, in a browser, with a real server and real ranks."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from sweeper.client import Client
from tests.dashboards.pages.scrolling import drawn
from tests.processes import eventually, processes_with
from tests.serving import Serving

NAME = '实验 #1/日本 "x" <b>'
TAG = "SWEEPER_TEST_TAG"
SPEC = {
    "name": NAME,
    "trial": {"model": "mlp", "data": "digits", "images": 3200, "points": 20},
    "space": {"batch_size": [16, 32], "learning_rate": [0.02, 0.1], "workers": [1, 2]},
    "objective": {"threshold": 5.0, "over": "images"},
}


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TAG, str(tmp_path))
    server = Serving()
    yield server
    server.end()
    assert eventually(lambda: not [p for p in processes_with(TAG, str(tmp_path)) if p.pid != os.getpid()])


def test_submit_watch_rank_click_open_download(serving: Serving, browser: Browser) -> None:
    page = browser.new_context(accept_downloads=True, timezone_id="Asia/Tokyo").new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
    with Client(serving.url) as client:
        sweep_id = client.submit(SPEC, "key")["sweep"]
        page.goto(serving.url)
        page.get_by_role("link", name=NAME).first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(NAME)
        # Live: nobody reloads the page.
        expect(page.locator("#running")).to_contain_text("running now", timeout=60_000)
        expect(page.locator("#counts")).to_contain_text("8 of 8 ended", timeout=120_000)
        winners = [group["winner"]["trial"] for group in client.best(sweep_id)["groups"]]
        for winner in winners:
            expect(page.locator(f'a[href="/trials/{winner}"]').first).to_be_visible(timeout=30_000)

        # Another threshold, between the best and the second best minimum loss: re-ranked, and nothing runs again.
        trials = client.trials(sweep_id)
        losses = sorted(trial["minimum_loss"] for trial in trials)
        limit = (losses[0] + losses[1]) / 2
        page.locator("#threshold").fill(str(limit))
        expected = client.best(sweep_id, threshold=limit)["groups"]
        assert sum(group["qualified"] for group in expected) == 1
        (only,) = [group["winner"]["trial"] for group in expected if group["winner"]]
        expect(page.locator("main")).to_contain_text("none qualified", timeout=10_000)
        expect(page.locator(f'a[href="/trials/{only}"]').first).to_be_visible()
        assert [trial["attempt"] for trial in client.trials(sweep_id)] == [1] * 8

        # What is chosen can be shared.
        assert "threshold=" in page.url
        page.reload()
        expect(page.locator("main")).to_contain_text("none qualified")

        # A cell leads to its trials, and these to one.
        heatmap = drawn(page.locator('[data-kind="heatmap"]'))
        cell = heatmap.locator(".js-plotly-plot .nsewdrag").first
        expect(cell).to_be_visible(timeout=30_000)
        with page.expect_navigation():
            cell.click()
        assert f"/sweeps/{sweep_id}/trials" in page.url
        page.locator('main a[href^="/trials/"]').first.click()
        trial_id = page.url.rpartition("/")[2]
        assert trial_id in {trial["trial"] for trial in trials}
        expect(page.locator("main")).to_contain_text("learning_rate")
        expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=30_000)

        page.goto(f"{serving.url}/sweeps/{sweep_id}")
        begins = {"png": b"\x89PNG", "svg": b"<?xml", "csv": b""}
        for ending, begin in begins.items():
            with page.expect_download() as download:
                page.locator(f'[data-kind="heatmap"] [data-download="{ending}"]').click()
            content = Path(download.value.path()).read_bytes()
            assert content.startswith(begin)
        assert len(list(csv.DictReader(io.StringIO(content.decode())))) == 8
    assert said == []
    page.context.close()


def test_what_keeps_a_sweep_from_being_run_is_on_its_page(serving: Serving, browser: Browser) -> None:
    from sweeper.store import open_store

    page = browser.new_page()
    with Client(serving.url) as client:
        sweep_id = client.submit({**SPEC, "trial": {**SPEC["trial"], "images": 10**9}}, "key")["sweep"]  # type: ignore[dict-item]
        store = open_store("sqlite:///sweeper.db")
        store.submissions.note_problem(sweep_id, {"kind": "data", "message": "data <b>gone</b>", "remedy": "fetch it"})
        store.close()
        page.goto(f"{serving.url}/sweeps/{sweep_id}")
        expect(page.get_by_role("alert")).to_contain_text("data <b>gone</b>")
        expect(page.get_by_role("alert")).to_contain_text("fetch it")
        client.stop(sweep_id)
    page.close()
