"""What is recommended of a sweep whose threshold is being moved."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from dashboards.pages.kept_tables import Tables
from dashboards.pages.view import View
from sweeper.store import Store
from tests.dashboards.figures.candidates.close import close
from tests.processes import eventually


def has_asked(tables: Tables, sweep: str, view: View) -> bool:
    return view.threshold in (tables._asked.get(sweep) or ())


def test_only_the_last_question_about_a_sweep_is_worked_out(store: Store) -> None:
    tables, sweep = Tables(store), close(store)
    views = [View(threshold=limit) for limit in (1.3, 1.4, 1.5)]
    with ThreadPoolExecutor(3) as pool:
        with tables._alone:  # somebody else's answer is being worked out
            answers = []
            for view in views:
                answers.append(pool.submit(tables.recommended, sweep, view))
                assert eventually(partial(has_asked, tables, sweep.id, view))
        found = [answer.result(timeout=120) for answer in answers]
    assert [answer["threshold"] for answer in found] == [1.3, 1.4, 1.5]
    assert ["recommended" in answer["groups"][0] for answer in found] == [False, False, True]
    assert tables.best(sweep, views[2]) is found[2]
    assert "recommended" not in tables.best(sweep, views[0])["groups"][0]
