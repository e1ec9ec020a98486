"""The trials of a sweep and a trial's page, in a real browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord, TrialRecord
from tests.dashboards.pages.awkward import HOSTILE, awkward
from tests.dashboards.pages.conftest import Open


def one(store: Store, sweep: SweepRecord, state: TrialState) -> TrialRecord:
    """The first trial in a state."""
    return store.trials.of(sweep.id, [state])[0]


def test_trials_are_sorted_and_chosen(look: Open, store: Store, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}/trials?workers=2&state=completed")
    found = [t for t in store.trials.of(sweep.id, [TrialState.COMPLETED]) if t.workers == 2]
    expect(page.locator("tbody tr")).to_have_count(len(found))
    page.get_by_role("link", name="area").click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("area")
    best = min(found, key=lambda trial: (trial.area_seconds or 0.0, trial.position))
    expect(page.locator("tbody a").first).to_have_text(best.id)
    page.locator("select[name=state]").select_option("failed")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody")).to_contain_text("No trial is so.")


def test_ticked_trials_are_drawn(look: Open, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}/trials?workers=2&state=completed")
    for box in page.locator("[name=pick]").all()[:2]:
        box.check()
    picked = [box.get_attribute("value") for box in page.locator("[name=pick]:checked").all()]
    page.get_by_role("button", name="Draw their curves").click()
    expect(page.locator("#curves .js-plotly-plot")).to_be_visible()
    plot = "document.querySelector('#curves .js-plotly-plot')"
    assert page.evaluate(f"Object.keys({plot}.panel.live.trials)") == picked


def test_a_diverged_trial_tells_its_losses(look: Open, store: Store, sweep: SweepRecord) -> None:
    page = look(f"/trials/{one(store, sweep, TrialState.DIVERGED).id}")
    expect(page.locator("p.alarm")).to_contain_text("31 of 60 losses are not finite: inf at step 30, nan at step 31")
    expect(page.locator("#curves .js-plotly-plot")).to_be_visible(timeout=30_000)


def test_a_pruned_trial_names_its_rival(look: Open, store: Store, sweep: SweepRecord) -> None:
    page = look(f"/trials/{one(store, sweep, TrialState.PRUNED).id}")
    rival = store.trials.of(sweep.id)[0].id
    page.locator(".reason a", has_text=rival).first.click()
    expect(page.locator("h1")).to_have_text(f"Trial {rival}")


def test_a_failed_trial_has_its_traceback_and_log_as_text(look: Open, store: Store, sweep: SweepRecord) -> None:
    page = look(f"/trials/{one(store, sweep, TrialState.FAILED).id}")
    expect(page.locator("pre.log").first).to_have_text(f"Error: {HOSTILE}")
    expect(page.locator("details pre.log")).to_have_text(HOSTILE)
    expect(page.locator("article details")).to_contain_text("only its end is shown")
    assert page.title().startswith("Trial ")
    expect(page.locator(".settings")).to_contain_text("learning_rate")
    expect(page.locator("article")).to_contain_text("node-1")


def test_a_derived_trial_names_its_source(look: Open, store: Store, sweep: SweepRecord) -> None:
    derived = next(trial for trial in store.trials.of(sweep.id) if trial.derived_from)
    expect(look(f"/trials/{derived.id}").locator("main")).to_contain_text(f"those of trial {derived.derived_from}")


def test_two_sweeps_stand_side_by_side(look: Open, store: Store, sweep: SweepRecord, tmp_path: Path) -> None:
    other = awkward(store, tmp_path)
    page = look(f"/compare?a={sweep.id}&b={other.id}")
    expect(page.locator(".sides section")).to_have_count(2)
    expect(page.locator("#comparison .js-plotly-plot")).to_have_count(2, timeout=30_000)
