"""What is said beside winners, in words for people."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.answers.certainty_words import (
    learnt_nothing,
    losses_words,
    recommendation_lines,
    seeds_lines,
    separation_lines,
)


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


def named(batch_size: int, learning_rate: float = 0.1) -> dict[str, Any]:
    """A setting that is not ruled out, as `sweeper.answers.recommendation` has it."""
    return {"parameters": {"workers": 2, "batch_size": batch_size, "learning_rate": learning_rate, "momentum": 0.9}}


RECOMMENDED = {
    **named(64),
    "qualifies": 0.999,
    "probability": 0.61,
    "expected_regret": 0.0064,
    "level": 0.95,
    "not_ruled_out": [named(64), named(32), named(128), named(64, 0.2)],
    "more_seeds": 2,
    "small_regret": 0.005,
    "winner_expected_regret": 0.042,
    "winner_probability": 0.12,
    "winner_qualifies": 1.0,
}
WINNER = {"parameters": {**named(64)["parameters"], "seed": 3}}
OTHERS = "batch_size 32, learning_rate 0.1; batch_size 128, learning_rate 0.1; batch_size 64, learning_rate 0.2"


def sentence(*, key: dict[str, Any] | None = None, winner: dict[str, Any] = WINNER, **changed: Any) -> str:
    group = {"group": {"workers": 2} if key is None else key, "winner": winner, "recommended": RECOMMENDED | changed}
    (line,) = recommendation_lines([group])
    return line


def test_a_recommendation_is_told_in_plain_sentences() -> None:
    assert sentence() == (
        "workers 2: take the winner. The chance that it is the best is 61 %, and on average its area is 0.6 % above "
        f"the best one's. 3 other settings cannot be ruled out: {OTHERS}. "
        "2 more seeds of each of the 4 would bring the 0.6 % down to 0.5 %."
    )
    assert sentence(key={}).startswith("take the winner. ")
    other = sentence(winner=named(32))
    assert other.startswith(
        "workers 2: take batch_size 64, learning_rate 0.1, momentum 0.9 instead of the winner, whose area, beside "
        "those of similar settings, seems to be small by chance (its chance to be the best is 12 %). On average the "
        "area is 0.6 % above the best one's, the winner's 4.2 %. The chance that it is the best is 61 %. 3 other "
        "settings cannot be ruled out: "
    )
    unreliable = sentence(winner=named(32), winner_qualifies=0.4)
    assert "instead of the winner, of whose runs only 40 % come to the threshold (its chance" in unreliable


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"more_seeds": 1}, ". 1 more seed of each of the 4 would bring the 0.6 % down to 0.5 %."),
        ({"more_seeds": 0}, f". 3 other settings cannot be ruled out: {OTHERS}."),
        ({"more_seeds": None}, ". Even ten more seeds of each of the 4 would not bring the 0.6 % down to 0.5 %."),
        (
            {"not_ruled_out": [named(64), named(32)], "more_seeds": 0},
            ". 1 other setting cannot be ruled out: batch_size 32, learning_rate 0.1.",
        ),
        (
            {"not_ruled_out": [named(64), named(32)], "more_seeds": 3},
            ". 3 more seeds of both would bring the 0.6 % down to 0.5 %.",
        ),
        ({"not_ruled_out": [named(2**n) for n in range(4, 11)]}, "batch_size 256, learning_rate 0.1; and 2 more. "),
        ({"not_ruled_out": [named(64)]}, ". No other setting is likely to be better."),
        ({"qualifies": 0.71}, "above the best one's; 71 % of its runs come to the threshold. "),
        ({"expected_regret": 0.0004}, " its area is less than 0.1 % above the best one's. "),
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


def seeds_line(*groups: dict[str, Any]) -> list[str]:
    told = [{"group": {}, "recommended": RECOMMENDED | changed} for changed in groups]
    return [*seeds_lines({"sweep": "abc", "groups": [*told, {"group": {}, "recommended": None}]}, " --over images")]


def test_a_command_trains_the_seeds_that_the_sentences_speak_of() -> None:
    (line,) = seeds_line({}, {"more_seeds": 5, "not_ruled_out": [named(64), named(32)]})
    assert line == (
        "To train more seeds of these settings alone (18 trials): `sweeper extend abc --seeds 5 --over images`"
    )
    (unknown,) = seeds_line({"more_seeds": None})
    assert unknown.startswith("To go on with 2 more seeds of these settings alone (8 trials): `sweeper extend abc ")
    assert not seeds_line({"more_seeds": 0}, {"not_ruled_out": [named(64)]})
    assert not seeds_line()


def beside(*, separated: bool, recommended: dict[str, Any] | None, runner_up: int = 32) -> list[str]:
    comparison = {"adjusted_p_value": 0.2, "level": 0.95, "compared": 3}
    group = {"group": {"workers": 2}, "winner": WINNER, "runner_up": named(runner_up), "comparison": comparison}
    told = {"separated": separated, "undecided": 2, "not_compared": 0, "recommended": recommended}
    return [*separation_lines([group | told])]


def test_seeds_alone_never_contradict_the_recommendation() -> None:
    sure = RECOMMENDED | {"not_ruled_out": [named(64)], "probability": 0.999}
    other = "(batch_size 32, learning_rate 0.1, momentum 0.9)"
    assert beside(separated=False, recommended=sure) == [
        f"workers 2: this follows from all settings together. The seeds of the winner and the runner-up {other} are "
        "too few to say it by themselves: p 0.2."
    ]
    assert beside(separated=True, recommended=sure) == [
        f"workers 2: the seeds of the winner and the runner-up {other} say the same by themselves: p 0.2."
    ]
    assert not beside(separated=False, recommended=RECOMMENDED), "neither is sure, and one of them has said so"
    assert not beside(separated=True, recommended=sure | named(32)), "another setting than the winner is recommended"
    (alone,) = beside(separated=False, recommended=None)
    assert alone.startswith(f"workers 2: not told apart from the runner-up {other} at 95 %: p 0.2, corrected for 3 ")
