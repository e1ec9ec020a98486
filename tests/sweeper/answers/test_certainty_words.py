"""What is said beside winners, in words for people."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.answers.certainty_words import learnt_nothing, losses_words, recommendation_lines


def test_those_that_learnt_nothing_are_counted_where_the_service_says_so() -> None:
    groups = [{"trials": 5, "diverged": 2, "at_chance": 1}, {"trials": 4, "diverged": 1, "at_chance": 0}]
    assert [*learnt_nothing(groups)] == ["Of 9 trials 3 diverged, 1 stayed at chance."]
    assert [*learnt_nothing([{"trials": 5, "diverged": 0, "at_chance": 0}])] == []
    assert [*learnt_nothing([{"trials": 5}])] == [], "a service of an earlier version counts neither"


def test_the_trials_that_a_group_without_a_winner_has_lost() -> None:
    def words(failed: int, cancelled: int) -> str:
        return losses_words({"trials": 4, "failed": failed, "cancelled": cancelled})

    assert words(2, 0) == "2 of 4 trials failed"
    assert words(0, 1) == "1 of 4 trials was cancelled"
    assert words(1, 3) == "1 of 4 trials failed, 3 were cancelled"


RECOMMENDED = {
    "parameters": {"workers": 2, "batch_size": 64},
    "qualifies": 0.999,
    "probability": 0.61,
    "expected_regret": 0.0064,
    "level": 0.95,
    "not_ruled_out": [{}, {}, {}, {}],
    "more_seeds": 2,
    "small_regret": 0.005,
    "winner_expected_regret": 0.042,
}
WINNER = {"parameters": {"workers": 2, "batch_size": 64, "seed": 3}}


def sentence(*, key: dict[str, Any] | None = None, winner: dict[str, Any] = WINNER, **changed: Any) -> str:
    group = {"group": {"workers": 2} if key is None else key, "winner": winner, "recommended": RECOMMENDED | changed}
    (line,) = recommendation_lines([group])
    return line


def test_a_recommendation_is_told_in_plain_sentences() -> None:
    assert sentence() == (
        "workers 2: take the winner. The chance that it is the best is 61 %, and its area is expected to be 0.6 % "
        "above the best. 3 other settings cannot be ruled out; "
        "2 more seeds of each would bring the 0.6 % down to 0.5 %."
    )
    assert sentence(key={}).startswith("take the winner. ")
    other = sentence(winner={"parameters": {"workers": 2, "batch_size": 32}})
    assert other.startswith(
        "workers 2: take batch_size 64 instead of the winner: its area is expected to be 0.6 % above the best, the "
        "winner's 4.2 %. The chance that it is the best is 61 %. 3 other settings cannot be ruled out; "
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"more_seeds": 1}, "; 1 more seed of each would bring the 0.6 % down to 0.5 %."),
        ({"more_seeds": 0}, ". 3 other settings cannot be ruled out."),
        ({"more_seeds": None}, "; even ten more seeds of each would not bring the 0.6 % down to 0.5 %."),
        ({"not_ruled_out": [{}, {}], "more_seeds": 0}, ". 1 other setting cannot be ruled out."),
        ({"not_ruled_out": [{}]}, ". No other setting is likely to be better."),
        ({"qualifies": 0.71}, "above the best; 71 % of its runs come to the threshold. "),
        ({"expected_regret": 0.0004}, " its area is expected to be less than 0.1 % above the best. "),
        ({"probability": 0.996}, " is more than 99 %, "),
        ({"probability": 1.0}, " is more than 99 %, "),
    ],
)
def test_its_parts_follow_the_numbers(changed: dict[str, Any], words: str) -> None:
    assert words in sentence(**changed)


def test_nothing_is_said_where_nothing_is_recommended() -> None:
    assert not [
        *recommendation_lines([{"group": {}, "winner": WINNER}, {"group": {}, "winner": None, "recommended": None}])
    ]
