"""The list of sweeps, and a sweep's page, in a real browser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from dashboards.pages.sweeps.best_table import best_table
from sweeper.answers.best import best_answer
from sweeper.answers.numbers import measure
from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.candidates.close import close
from tests.dashboards.pages.awkward import NAME
from tests.dashboards.pages.conftest import Open
from tests.dashboards.pages.scrolling import drawn
from tests.dashboards.sweeps import curve, run, submit


def test_the_list_names_each_sweep_its_progress_and_its_leaders(look: Open, store: Store, sweep: SweepRecord) -> None:
    page = look("/")
    card = page.locator(".card")
    expect(card.locator("h2")).to_have_text(NAME)
    expect(card.locator(".badge")).to_have_text("running")
    expect(card.locator(".counts")).to_contain_text(f"{sweep.ended} of {sweep.total} ended")
    winners = [group["winner"] for group in best_answer(store, sweep.id)["groups"]]
    assert card.locator(".leaders b").all_inner_texts() == [measure(winner["area"]) for winner in winners]
    card.locator("h2 a").click()
    expect(page.locator("h1")).to_have_text(NAME)


def test_an_empty_store_says_how_to_begin(look: Open) -> None:
    expect(look("/").locator(".empty")).to_contain_text("No sweeps yet")


def test_long_lists_have_pages(look: Open, store: Store) -> None:
    for number in range(23):
        submit(store, {"learning_rate": [0.1]}, name=f"sweep {number}")
    page = look("/")
    assert page.locator(".card").count() == 20
    page.get_by_role("link", name="Older").click()
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator(".card").last).to_contain_text("sweep 0")


def test_a_page_has_the_numbers_of_the_command_line(look: Open, store: Store, sweep: SweepRecord) -> None:
    for query, asked in (("", {}), ("?threshold=0.95&over=images", {"threshold": 0.95, "over": "images"})):
        page = look(f"/sweeps/{sweep.id}{query}")
        table = best_table(best_answer(store, sweep.id, **asked))  # type: ignore[arg-type]
        rows = [row.locator("th, td").all_inner_texts() for row in page.locator("#best tbody tr").all()]
        assert rows == [row["cells"] for row in table["rows"]]


def test_any_way_to_name_a_sweep_leads_to_it(look: Open, sweep: SweepRecord) -> None:
    for reference in (sweep.id, sweep.id[:6], "latest"):
        expect(look(f"/sweeps/{reference}").locator("h1")).to_have_text(NAME)
    page = look("/")
    page.goto(page.url + "sweeps?reference=" + "%E5%AE%9E%E9%AA%8C%20%231%2F%E6%97%A5%E6%9C%AC%20%22x%22%20%3Cb%3E")
    expect(page.locator("h1")).to_have_text(NAME)


def test_the_threshold_ranks_anew_by_slider_keys_and_number(look: Open, store: Store, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}")
    before = page.locator("#best").inner_text()
    slider = page.locator("#threshold-slider")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("Home")
    expect(page.locator("#best")).to_contain_text("none qualified")
    expect(page.locator("#threshold")).to_have_value(slider.input_value())
    page.locator("#threshold").fill("1.0")
    expect(page.locator("#best")).to_have_text(before, use_inner_text=True)
    page.locator("#threshold").fill("0.95")
    shown = best_table(best_answer(store, sweep.id, threshold=0.95))["rows"][0]["cells"][1]
    expect(page.locator("#best tbody tr").first.locator("td").first).to_have_text(shown)
    page.wait_for_url("**threshold=0.95*")
    assert parse_qs(urlsplit(page.url).query)["threshold"] == ["0.95"]
    shared = look(page.url.removeprefix(page.url.split("/sweeps")[0]))
    assert shared.locator("#best").inner_text() == page.locator("#best").inner_text()


def test_a_threshold_that_is_emptied_is_the_sweeps_own(look: Open, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}?threshold=0.95")
    number = page.locator("#threshold")
    number.fill("")
    number.blur()
    expect(number).to_have_value("1.0")
    own = look(f"/sweeps/{sweep.id}").locator("#best").inner_text()
    expect(page.locator("#best")).to_have_text(own, use_inner_text=True)


def test_dollars_can_be_chosen_when_a_rate_is_given(look: Open, store: Store) -> None:
    sweep = run(store, {"batch_size": [16, 32]}, lambda _: curve(7200.0, 1.0))
    page = look(f"/sweeps/{sweep.id}")
    dollars = page.locator('[name=over][value="dollars"]')
    expect(dollars).to_be_disabled()
    page.locator("#rate").fill("3")
    page.locator(".segments label", has_text="dollars").click()
    expect(page.locator("#best thead")).to_contain_text("area over dollars")
    expect(page.locator("#best tbody tr").first).to_contain_text("6.0000")
    page.locator("#rate").fill("")
    expect(dollars).to_be_disabled()
    expect(page.locator("#best thead")).to_contain_text("area over seconds")


def test_the_axis_is_one_switch(look: Open, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}")
    for axis in ("images", "steps", "dollars", "seconds"):
        page.locator(".segments label", has_text=axis).click()
        expect(page.locator("#best thead")).to_contain_text(f"area over {axis}")


def test_a_cell_leads_to_its_trials_and_these_to_a_trial(look: Open, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}?section=heatmap")
    plot = drawn(page.locator("#heatmap")).locator(".plot .nsewdrag").first
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] / 6, "y": box["height"] / 4})
    page.wait_for_url("**/trials?**")
    assert parse_qs(urlsplit(page.url).query) == {"workers": ["1"], "batch_size": ["16"], "learning_rate": ["0.1"]}
    assert page.locator("tbody tr").count() == 2
    page.locator("tbody a").first.click()
    expect(page.locator("h1")).to_contain_text(f"Trial {sweep.id}-")


def test_every_figure_is_drawn_and_has_its_downloads(look: Open, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}")
    for figure in page.locator("figure.figure:not(#candidates)").all():
        expect(drawn(figure).locator(".js-plotly-plot").first).to_be_visible()
    expect(drawn(page.locator("#candidates")).locator(".placeholder")).to_contain_text("trials are running")
    kinds = page.locator("figure.figure").evaluate_all("all => all.map(one => one.dataset.kind)")
    shown = ["heatmap", "candidates", "curves", "accuracy", "histogram", "coordinates", "phases", "operations"]
    assert kinds == [*shown, "scaling", "timeline"]
    assert page.evaluate("document.title") == f"{NAME} – Sweeper"
    with page.expect_download() as caught:
        page.locator("#heatmap [data-download=csv]").click()
    assert Path(caught.value.path()).read_text().startswith("workers,batch_size,learning_rate,")
    page.locator("#heatmap details summary").click()
    expect(page.locator("#heatmap details table tbody tr")).to_have_count(24)


def test_a_page_says_what_to_take_and_marks_what_else_may_be_the_best(look: Open, store: Store) -> None:
    page = look(f"/sweeps/{close(store).id}")
    expect(page.locator("#best-notes")).to_contain_text("workers 2: take ")
    expect(page.locator("#best-notes")).to_contain_text("cannot be ruled out: batch_size ")
    expect(drawn(page.locator("#heatmap")).locator(".note")).to_contain_text("Dashed: may be the best")
    expect(drawn(page.locator("#candidates")).locator(".js-plotly-plot").first).to_be_visible()


def test_a_single_trial_has_a_page(look: Open, store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(3.0, 1.0), name="one")
    page = look(f"/sweeps/{sweep.id}")
    expect(page.locator("#best tbody tr")).to_have_count(1)
    expect(drawn(page.locator("#accuracy")).locator(".placeholder")).to_contain_text(
        "set trial.evaluate_every in its spec"
    )


def test_what_waits_has_a_page(look: Open, store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: None, name="waits")
    expect(look(f"/sweeps/{sweep.id}").locator("#best")).to_contain_text("none qualified")


def test_pruned_under_another_threshold_are_marked(look: Open, store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1, 0.2]}, lambda t: TrialState.PRUNED if t.position else curve(3.0, 1.0))
    page = look(f"/sweeps/{sweep.id}?over=images&threshold=1.5")
    expect(page.locator("#best-notes")).to_contain_text("1 pruned trial might have won")


def test_the_theme_is_switched_and_kept(look: Open, sweep: SweepRecord) -> None:
    page = look("/", "light")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(colour)
    page.locator("#theme").click()
    dark = page.evaluate(colour)
    assert dark != light
    page.goto(page.url + f"sweeps/{sweep.id}")
    assert page.evaluate(colour) == dark
