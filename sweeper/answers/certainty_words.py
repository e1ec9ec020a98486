"""How sure a winner is, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.config import BATCH_SIZES
from sweeper.answers.further_seeds import seeds_wanted, trials_wanted
from sweeper.answers.numbers import measure, parameter
from sweeper.spec.axes import SEED

_SAFE = 0.9  # the share of runs that come to the threshold, from which on nothing is said of it
_ALWAYS = (*BATCH_SIZES, "learning_rate")  # a setting is named by these
_MOST_NAMED = 4  # settings that cannot be ruled out

NO_THRESHOLD = "No threshold is set: the smallest area alone decides, even that of a run which stays at a bad loss."


def words_of(parameters: Mapping[str, Any]) -> str:
    """Parameters as in "workers 2, learning_rate 0.1"."""
    return ", ".join(f"{name} {parameter(value)}" for name, value in parameters.items())


def interval_words(interval: Sequence[float] | None) -> str:
    """An interval as in "3.1 to 3.3"."""
    return "-" if interval is None else " to ".join(map(measure, interval))


def separation_lines(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the seeds of a winner and its runner-up say by themselves, a line for each group where they say something.

    Where something is recommended they say it only if that adds to the recommendation.
    """
    for group in groups:
        words = _beside_recommendation(group) if group.get("recommended") else _separation(group)
        if words:
            yield f"{words_of(group['group'])}: {words}" if group["group"] else words


def _separation(group: Mapping[str, Any]) -> str:
    comparison = group["comparison"]
    if comparison is None:
        return ""
    told = "told apart" if group["separated"] else "not told apart"
    more = group["undecided"] - (not group["separated"])
    others = f"; nor is it from {more} more" if more and not group["separated"] else ""
    others = f", but not from {more} more" if more and group["separated"] else others
    pruned = f"; {group['not_compared']} pruned are not compared" if group["not_compared"] else ""
    return (
        f"{told} from the runner-up ({_runner_up(group)}) at {100 * comparison['level']:g} %: "
        f"p {_p_words(comparison['adjusted_p_value'])}, corrected for {comparison['compared']} compared{others}{pruned}"
    )


def _beside_recommendation(group: Mapping[str, Any]) -> str:
    """Whether the seeds alone are as sure as the model that the winner is the best; empty where neither is sure."""
    comparison, told = group["comparison"], group["recommended"]
    if comparison is None or not recommends_winner(group) or len(told["not_ruled_out"]) > 1:
        return ""
    p_value = f"p {_p_words(comparison['adjusted_p_value'])}"
    if group["separated"]:
        return f"the seeds of the winner and the runner-up ({_runner_up(group)}) say the same by themselves: {p_value}."
    return (
        f"this follows from all settings together. The seeds of the winner and the runner-up ({_runner_up(group)}) "
        f"are too few to say it by themselves: {p_value}."
    )


def _runner_up(group: Mapping[str, Any]) -> str:
    return words_of({n: v for n, v in group["runner_up"]["parameters"].items() if n not in group["group"]})


def recommendation_lines(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence on each group of which `sweeper.answers.recommendation` says something."""
    for group in groups:
        if words := recommendation_words(group):
            where = f"{words_of(group['group'])}: " if group["group"] else ""
            yield f"{where}{words}"


def recommendation_words(group: Mapping[str, Any]) -> str:
    """What to take of a group, why, and what else may be better; empty where nothing is recommended."""
    told = group.get("recommended")
    if told is None:
        return ""
    is_winner = recommends_winner(group)
    named = words_of({n: v for n, v in told["parameters"].items() if n not in group["group"]})
    what = "the winner" if is_winner else f"{named} instead of the winner"
    return f"take {what}{_why(told, is_winner)}. {_others(told, group['group'])}."


def recommends_winner(group: Mapping[str, Any]) -> bool:
    """Whether what is recommended of a group is the setting with the smallest area, its winner."""
    winner = {n: v for n, v in group["winner"]["parameters"].items() if n != SEED}
    return bool(group["recommended"]["parameters"] == winner)


def question_words(by: Sequence[str] = (), threshold: float | None = None, over: str | None = None) -> list[str]:
    """What was asked of `best` beside the sweep, as options of a command that asks the same."""
    words = [word for name in by for word in ("--by", name)]
    words += ["--threshold", f"{threshold:.15g}"] if threshold is not None else []
    return words + (["--over", over] if over else [])


def seeds_lines(answer: Mapping[str, Any], options: str) -> Iterator[str]:
    """The command that trains the seeds of which `recommendation_lines` speak, with these further options."""
    groups = answer["groups"]
    if seeds := seeds_wanted(groups):
        trials = trials_wanted(groups, seeds)
        many = any(told["more_seeds"] is None for group in groups if (told := group.get("recommended")))
        what = f"To go on with {seeds} more seeds of" if many else "To train more seeds of"
        command = f"sweeper extend {answer['sweep']} --seeds {seeds}{options}"
        yield f"{what} these settings alone ({trials} trials): `{command}`"


def _why(told: Mapping[str, Any], is_winner: bool) -> str:
    words = f"The chance that it is the best is {_percent(told['probability'])}"
    if is_winner:
        words = f". {words}, and on average its area is {_regret(told)} above the best one's"
    else:
        words = f"{_against_winner(told)}. {words}" if told.get("winner_probability") is not None else f". {words}"
    if told["qualifies"] < _SAFE:
        words += f"; {_percent(told['qualifies'])} of its runs come to the threshold"
    return words


def _against_winner(told: Mapping[str, Any]) -> str:
    """Why another setting is taken than the winner, which has the smallest area that was seen."""
    if told["winner_qualifies"] < min(_SAFE, told["qualifies"]):
        why = f", of whose runs only {_percent(told['winner_qualifies'])} come to the threshold"
    else:
        why = ", whose area, beside those of similar settings, seems to be small by chance"
    return (
        f"{why} (its chance to be the best is {_percent(told['winner_probability'])}). On average the area is "
        f"{_regret(told)} above the best one's, the winner's {_percents(told['winner_expected_regret'])}"
    )


def _others(told: Mapping[str, Any], key: Mapping[str, Any]) -> str:
    settings = [one["parameters"] for one in told["not_ruled_out"]]
    others = len(settings) - 1
    if not others:
        return "No other setting is likely to be better"
    words = f"{others} other setting{'s' if others > 1 else ''} cannot be ruled out: {_named(told, settings, key)}"
    seeds, down = told["more_seeds"], f"bring the {_regret(told)} down to {100 * told['small_regret']:g} %"
    of_all = "both" if others == 1 else f"each of the {others + 1}"
    if seeds == 0:
        return words
    if seeds is None:
        return f"{words}. Even ten more seeds of {of_all} would not {down}"
    return f"{words}. {seeds} more seed{'s' if seeds > 1 else ''} of {of_all} would {down}"


def _named(told: Mapping[str, Any], settings: Sequence[Mapping[str, Any]], key: Mapping[str, Any]) -> str:
    """The settings beside the recommended one, by batch, rate and what else differs among them; the first of many."""
    names = [name for name in dict.fromkeys(n for one in settings for n in one) if name not in key]
    shown = [name for name in names if name in _ALWAYS or len({repr(one.get(name)) for one in settings}) > 1]
    others = [one for one in settings if one != told["parameters"]]
    words = [words_of({name: one.get(name) for name in shown}) for one in others[:_MOST_NAMED]]
    more = len(others) - len(words)
    return "; ".join(words) + (f"; and {more} more" if more else "")


def _percent(share: float) -> str:
    """A share in whole percent; one of a thousand draws is not a certainty."""
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def _regret(told: Mapping[str, Any]) -> str:
    return _percents(told["expected_regret"])


def _percents(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def _p_words(p_value: float) -> str:
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.2g}"


def has_seeds(groups: Sequence[Mapping[str, Any]]) -> bool:
    """Whether settings compete, of which some have several seeds; else trials do."""
    return any(group["trials"] > group["settings"] for group in groups)


def qualified_header(groups: Sequence[Mapping[str, Any]]) -> str:
    """What a column of `qualified_words` is called."""
    return "qualified settings" if has_seeds(groups) else "qualified"


def qualified_words(group: Mapping[str, Any]) -> str:
    """How many of a group's settings have qualified, as in "3 of 12"."""
    return f"{group['qualified_settings']} of {group['settings']}"


def learnt_nothing(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many trials diverged, and how many stayed at chance; nothing where there are none.

    A service of an earlier version counts neither.
    """
    diverged, at_chance = (sum(group.get(name, 0) for group in groups) for name in ("diverged", "at_chance"))
    parts = [f"{diverged} diverged"] if diverged else []
    parts += [f"{at_chance} stayed at chance"] if at_chance else []
    if parts:
        yield f"Of {sum(group['trials'] for group in groups)} trials {', '.join(parts)}."


def lacking(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on each winner of `best_answer` that was imported with points missing."""
    return [
        f"{words_of(group['group'])}: the winner's curve lacks points: {group['winner']['lacks']} "
        f"({group['winner']['source']})."
        for group in groups
        if group["winner"] and group["winner"].get("lacks")
    ]


def losses_words(lost: Mapping[str, Any]) -> str:
    """What became of trials of a group that nobody won, as in "1 of 4 trials failed, 2 were cancelled"."""
    failed, cancelled, trials = lost["failed"], lost["cancelled"], lost["trials"]
    were = "was" if cancelled == 1 else "were"
    if not failed:
        return f"{cancelled} of {trials} trials {were} cancelled"
    return f"{failed} of {trials} trials failed" + (f", {cancelled} {were} cancelled" if cancelled else "")
