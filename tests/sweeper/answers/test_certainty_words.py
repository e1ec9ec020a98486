"""What is said beside winners, in words for people."""

from __future__ import annotations

from sweeper.answers.certainty_words import learnt_nothing, losses_words


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
