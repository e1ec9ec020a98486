"""`sweeper best`: the winner of each group by the thresholded area."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import click
from click.core import ParameterSource

from sweeper.answers.best import best_answer
from sweeper.answers.certainty_words import (
    NO_THRESHOLD,
    has_seeds,
    interval_words,
    lacking,
    learnt_nothing,
    losses_words,
    qualified_header,
    question_words,
    recommendation_lines,
    seeds_lines,
    separation_lines,
    words_of,
)
from sweeper.answers.derived import derived_lines
from sweeper.answers.numbers import dollars, measure, parameter
from sweeper.answers.winners import only_groups, winners_spec
from sweeper.cli.printing import measures_of, print_table
from sweeper.cli.server import Server, server_options
from sweeper.options import (
    by_option,
    json_option,
    names_in,
    over_option,
    oversubscribed_option,
    print_json,
    rate_option,
    store_option,
    threshold_option,
)
from sweeper.spec.file import spec_text
from sweeper.store import read_store
from sweeper.streams import can_show


@click.command()
@click.argument("sweep", metavar="SWEEP")
@by_option
@threshold_option
@over_option
@oversubscribed_option
@rate_option
@click.option("--spec", "as_spec", is_flag=True, help="Print a spec of the winners, to run them again.")
@click.option(
    "--group",
    "only",
    multiple=True,
    metavar="NAME=VALUE",
    help="With --spec: the winner of this group alone, for example workers=2; repeatable.",
)
@server_options()
@store_option
@json_option
def best(
    sweep: str,
    by: tuple[str, ...],
    threshold: float | None,
    over: str | None,
    oversubscribed: bool,
    dollars_per_worker_hour: float | None,
    as_spec: bool,
    only: tuple[str, ...],
    server: Server | None,
    store_url: str,
    as_json: bool,
) -> None:
    """Show the best trial of each group.

    SWEEP is an id, the beginning of one, a name, or `latest`. The best trial has the smallest area under its loss curve
    of those whose minimum loss reaches the threshold. With repeats, settings compete by their mean area over the seeds.
    The answer recommends a setting, also where each has one seed, and says how likely it is the best. At a price per
    worker and hour, it also shows the cheapest and the fastest setting. `--spec` prints a spec of the winners, ready
    for `sweeper run` with another budget, more seeds or evaluations.
    """
    if only and not as_spec:
        raise click.UsageError("--group chooses winners for --spec; add --spec")
    names = names_in(by)
    rate = dollars_per_worker_hour
    if server:
        choices = {"by": [*names] or None, "threshold": threshold, "over": over, "oversubscribed": oversubscribed}
        choices |= {"recommend": False} if as_spec else {}
        with server.client() as client:
            answer = client.best(client.find(sweep)["sweep"], **choices, dollars_per_worker_hour=rate)
            written = client.status(answer["sweep"])["spec"] if as_spec else None
    else:
        with closing(read_store(store_url)) as store:
            asked: dict[str, Any] = {"oversubscribed": oversubscribed, "rate": rate, "recommend": not as_spec}
            answer = best_answer(store, sweep, names, threshold, over, **asked)
            written = store.sweeps.find(answer["sweep"]).spec.written
    trainable = written is not None and not server and not oversubscribed and rate is None
    if as_spec:
        answer = only_groups(answer, only) if only else answer
        winners = winners_spec(written, answer)
        text = spec_text(winners)
        if not can_show(text, sys.stdout):
            text = spec_text(winners, only_ascii=True)
        click.echo(json.dumps(winners, indent=2) if as_json else text, nl=as_json)
        for group in answer["groups"]:
            if not group["winner"]:
                click.echo(f"{words_of(group['group'])}: none qualified, and none is in the spec", err=True)
    elif as_json:
        print_json(answer)
    else:
        print_groups(answer, question_options(by, threshold, over) if trainable else None)


def print_groups(answer: Mapping[str, Any], options: str | None = None) -> None:
    """The answer of `best_answer` for people: a row a group, and what the rule was.

    `options` are those with which `sweeper extend SWEEP --seeds N` means the same, and runs trials in the same way;
    None where it cannot be called: of an import, or of a sweep that a service has.
    """
    groups = answer["groups"]
    click.echo(f"{answer['name']} ({answer['sweep']}): smallest area over {answer['over']} in each group")
    click.echo(_rule(answer))
    keys = list(groups[0]["group"]) if groups else []
    winners = [group["winner"] for group in groups if group["winner"]]
    others = [name for name in dict.fromkeys(n for winner in winners for n in winner["parameters"]) if name not in keys]
    measures = measures_of(winners)
    sure = ["repeats", "interval"] if any(winner["repeats"] > 1 for winner in winners) else []
    qualified = qualified_header(groups)
    print_table(
        [*keys, *others, *measures, *sure, qualified],
        [_row(group, keys, others, measures, sure) for group in groups],
        words=(*keys, *others),
        spare=("images", "repeats", "seconds", "accuracy", "minimum_loss", qualified, "interval"),
        keep=(*keys, "area"),
    )
    to_train = [] if options is None else seeds_lines(answer, options)
    on_winners = [*recommendation_lines(groups), *separation_lines(groups), *to_train, *_on_winners(groups)]
    on_winners += derived_lines(answer, None if options is None else question_options())
    for line in [*on_winners, *_on_the_rest(answer), *_left_out(answer), *answer.get("notes", ())]:
        click.echo(line)
    print_extremes(answer)


def question_options(by: Sequence[str] = (), threshold: float | None = None, over: str | None = None) -> str:
    """What was asked of `best` beside the sweep, and of which store, as options with a space before each."""
    words = question_words(by, threshold, over)
    context = click.get_current_context()
    if context.get_parameter_source("store_url") is ParameterSource.COMMANDLINE:
        words += ["--store", context.params["store_url"]]
    return "".join(f" {shlex.quote(word)}" for word in words)


def _on_winners(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where a winner's curve comes from, if not from its own training here; and the groups without one."""
    for group in groups:
        winner, words = group["winner"], words_of(group["group"])
        if winner is None:
            yield f"{words}: none qualified; best minimum loss {measure(group['best_minimum_loss'])}"
        elif winner["derived_from"]:
            what = "the winner is derived: the losses of trial"
            yield f"{words}: {what} {winner['derived_from']} at the times of its own steps."
        elif winner.get("source"):
            yield f"{words}: imported from {winner['source']}."
    yield from lacking(groups)


def _on_the_rest(answer: Mapping[str, Any]) -> Iterator[str]:
    """What became of trials that did not win."""
    groups = answer["groups"]
    for lost in answer.get("lost", ()):  # a service of an earlier version does not say
        where = f"{words_of(lost['group'])}: " if lost["group"] else ""
        yield f"{where}{losses_words(lost)}; `sweeper show {answer['sweep']}` says why"
    if answer["risk"]:
        yield f"Pruned by forecast: with a chance of at most {100 * answer['risk']:g} % a better one was stopped."
    if doubtful := sum(len(group["in_doubt"]) for group in groups):
        yield (
            f"{doubtful} pruned trial{'s' if doubtful > 1 else ''} might have won (--json names them): "
            "what they were stopped by is another axis, threshold, floor or grouping, or looks at losses only."
        )
    yield from learnt_nothing(groups)


def _left_out(answer: Mapping[str, Any]) -> Iterator[str]:
    """Which trials are not ranked, and what to do about it."""
    if untimed := sum(group["oversubscribed"] for group in answer["groups"]):
        repeatable = answer.get("repeatable", untimed)  # a service of an earlier version does not say
        repeats = "`sweeper rerun --oversubscribed` repeats " + ("them" if repeatable >= untimed else f"{repeatable}")
        yield (
            f"{untimed} oversubscribed trial{'s are' if untimed > 1 else ' is'} left out, whose ranks shared cores or "
            f"GPUs; {repeats if repeatable else 'this machine has too few to repeat them'}, --oversubscribed ranks "
            "their times all the same."
        )
    if unknown := answer.get("unknown_origin"):  # a service of an earlier version does not say
        yield (
            f"{unknown} imported trial{'s are' if unknown > 1 else ' is'} left out: it is not known where their "
            "seconds begin; import them again with --origin zero or --origin first, or rank --over steps."
        )
    if without := answer.get("without_seconds"):
        yield f"{without} imported trial{'s have' if without > 1 else ' has'} no seconds; rank --over steps."


def _row(
    group: Mapping[str, Any], keys: Sequence[str], others: Sequence[str], measures: Sequence[str], sure: Sequence[str]
) -> list[str]:
    winner = group["winner"] or {"parameters": {}}
    confidence = {"repeats": measure(winner.get("repeats")), "interval": interval_words(winner.get("area_interval"))}
    return [
        *(parameter(group["group"][name]) for name in keys),
        *(parameter(winner["parameters"].get(name)) for name in others),
        *(measure(winner.get(name)) for name in measures),
        *(confidence[name] for name in sure),
        f"{group['qualified_settings']}/{group['settings']}",
    ]


def _rule(answer: Mapping[str, Any]) -> str:
    guess = _guess(answer["groups"])
    if answer["threshold"] is None:
        return f"{NO_THRESHOLD} `--threshold LOSS` leaves such runs out.{guess}"
    seeds = " with all seeds" if has_seeds(answer["groups"]) else ""
    limit = parameter(answer["threshold"])
    return f"Qualified are the trials whose minimum loss is at most the threshold {limit}{seeds}.{guess}"


def _guess(groups: Sequence[Mapping[str, Any]]) -> str:
    """That a winner with one seed may be a lucky one where nothing is recommended, and why nothing is."""
    won = [group for group in groups if group["winner"]]
    guessed = [group for group in won if group["winner"]["repeats"] == 1 and not group.get("recommended")]
    if not guessed:
        return ""
    where = f"In {len(guessed)} of {len(won)} groups" if len(guessed) < len(won) else "With one seed each"
    # A service of an earlier version does not say why.
    why = "; ".join(dict.fromkeys(words for group in guessed if (words := group.get("not_recommended"))))
    return f" {where} a winner is a guess{': ' if why else ''}{why}."


def print_extremes(answer: Mapping[str, Any]) -> None:
    """The cheapest and the fastest setting side by side, where a price is known."""
    cheapest, fastest = answer["cheapest"], answer["fastest"]
    if not (cheapest and fastest):
        return
    click.echo()
    names = list(dict.fromkeys([*cheapest["parameters"], *fastest["parameters"]]))
    rows = [
        [
            what,
            *(parameter(one["parameters"].get(name)) for name in names),
            measure(one["area_dollars"]),
            measure(one["area_seconds"]),
            dollars(one["dollars"]),
            measure(one["seconds"]),
        ]
        for what, one in (("cheapest", cheapest), ("fastest", fastest))
    ]
    rate = answer["dollars_per_worker_hour"]
    headers = [f"at ${parameter(rate)} per worker and hour", *names, "area over dollars", "area over seconds"]
    headers += ["training cost", "seconds"]
    spare, keep = ("area over seconds", "seconds"), (headers[0], *headers[-4:-1])
    print_table(headers, rows, left=headers[:1], words=names, spare=spare, keep=keep)
