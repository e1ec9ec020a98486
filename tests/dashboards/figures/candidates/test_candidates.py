"""The figure of the settings that may be the best."""

from __future__ import annotations

import csv
import io

import pytest

from dashboards.figures import FIGURES, Source
from dashboards.figures.candidates.drawing import draw_candidates
from dashboards.figures.candidates.plotly import candidates_plot
from dashboards.figures.candidates.table import MOST_SHOWN, Candidate, CandidateGroup, candidate_table, candidates_csv
from dashboards.figures.drawing import style
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.store import Store
from tests.dashboards.figures.candidates.close import close, source_of
from tests.dashboards.figures.reading import texts
from tests.dashboards.sweeps import curve, run

FEW = "fewer than 6 complete trials of a group are too few to tell chance from merit"


@pytest.fixture
def source(store: Store) -> Source:
    return source_of(store, close(store))


def test_the_table_has_what_best_does_not_rule_out_likeliest_first(source: Source) -> None:
    table = candidate_table(source)
    for one, answer in zip(table.groups[:2], source.answers(True)[:2], strict=True):
        told = answer["recommended"]
        assert {found.row.trial for found in one.candidates} == {each["trial"] for each in told["not_ruled_out"]}
        chances = [found.probability for found in one.candidates]
        assert chances == sorted(chances, reverse=True)
        assert [found.row.trial for found in one.candidates if found.recommended] == [told["trial"]]
        assert all(found.low < found.area < found.high for found in one.candidates)
    assert (table.groups[2].candidates, table.groups[2].why) == ((), FEW)


def test_a_line_of_the_csv_is_a_candidate(source: Source) -> None:
    table = candidate_table(source)
    lines = list(csv.DictReader(io.StringIO(candidates_csv(table))))
    found = [candidate for one in table.groups for candidate in one.candidates]
    assert len(lines) == len(found) > 2
    assert [line["trial"] for line in lines] == [one.row.trial for one in found]
    assert [float(line["probability"]) for line in lines] == [one.probability for one in found]
    assert {line["recommended"] for line in lines} == {"true", "false"}
    assert float(lines[0]["area_seconds"]) == found[0].row.area


def test_the_drawing_has_a_line_and_a_chance_for_each(source: Source) -> None:
    table = candidate_table(source)
    figure = draw_candidates(table)
    for axes, one in zip(figure.axes[:2], table.groups[:2], strict=True):
        labels = axes.get_yticklabels()
        assert len(labels) == len(one.candidates)
        bold = [label.get_text() for label in labels if label.get_color() == style.WINNER]
        recommended = next(found.row for found in one.candidates if found.recommended)
        assert bold == [f"batch {recommended.batch_size}, rate {recommended.learning_rate}"]
        spans = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2]  # type: ignore[arg-type]
        assert [tuple(span) for span in spans] == [(found.low, found.high) for found in one.candidates]  # type: ignore[arg-type]
        assert {found.chance for found in one.candidates} <= set(texts(figure))
    assert FEW in " ".join(" ".join(texts(figure)).split())


def test_the_page_has_the_same(source: Source) -> None:
    table = candidate_table(source)
    one, _, four = candidates_plot(table)["panels"]
    found = table.groups[0].candidates
    assert one["data"][0]["x"] == [each.area for each in found]
    assert one["data"][0]["error_x"]["array"] == [each.high - each.area for each in found]
    assert one["data"][0]["customdata"] == [f"/trials/{each.row.trial}" for each in found]
    assert one["data"][1]["x"] == [each.row.area for each in found]
    assert all(label.endswith("%") for label in one["layout"]["yaxis"]["ticktext"])
    assert (four["title"], four["data"]) == (f"4 workers: {FEW}", [])


def test_of_many_the_likeliest_are_shown_and_the_recommended(source: Source) -> None:
    table = candidate_table(source)
    row, group = table.groups[0].candidates[0].row, table.groups[0].group
    many = tuple(
        Candidate(row, 1.0, 0.9, 1.1, 0.02, 0.1, 0.5 if n else 1.0, recommended=n == MOST_SHOWN + 3)
        for n in range(MOST_SHOWN + 5)
    )
    shown = CandidateGroup(group, many).shown
    assert shown == (*many[:MOST_SHOWN], many[MOST_SHOWN + 3])
    assert (shown[0].chance, shown[1].chance) == ("2 %", "2 %; 50 % qualify")


def test_it_says_why_nothing_can_be_shown(store: Store) -> None:
    figure = FIGURES["candidates"]
    few = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: curve(3.0, 1.0), name="few")
    with pytest.raises(FigureError, match=f"nothing is recommended of any group: {FEW}"):
        figure.table(source_of(store, few))
    none = run(store, {"learning_rate": [0.1, 0.2]}, lambda _: curve(3.0, 2.0), name="none")
    with pytest.raises(FigureError, match=r"best minimum loss 2\.000, threshold 1\.8"):
        figure.table(source_of(store, none))
    with pytest.raises(FigureError, match="trials are running, or another view"):
        figure.table(Source(store, trial_table(store, few), answers=lambda _: [{"group": {}}]))
