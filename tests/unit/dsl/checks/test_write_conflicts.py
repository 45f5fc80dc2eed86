"""Concurrent writers of one context path are found before the run, where they must conflict."""

import pytest

from tests.support.compiling import compiled
from tests.support.one_team import document


def step(name: str, updates: str, more: str = "") -> str:
    return f"{{name: {name}, type: set, values: {{x: 1}}, context_updates: {updates}{more}}}"


def parallel(left: str, right: str, more: str = "") -> str:
    return f"""
- name: both
  type: parallel
  {more}
  branches:
    left: {left}
    right: {right}
"""


def warnings(tasks: str) -> list[tuple[str, str]]:
    text = document(tasks)
    found = [one for one in compiled(text).warnings if one.code == "W525"]
    return [(text.splitlines()[one.line - 1][one.column - 1 :], one.message) for one in found]


SET_3, SET_4 = f"[{step('a', '{n: 3}')}]", f"[{step('b', '{n: 4}')}]"


@pytest.mark.parametrize(
    ("left", "right", "more"),
    [
        (SET_3, SET_4, ""),
        (SET_3, f"[{step('b', '{n: {increment: 1}}')}]", ""),
        (f"[{step('a', '{n: {append: 1}}')}]", f"[{step('b', '{n: {remove: 1}}')}]", ""),
        (f"[{step('a', '{n: {x: 1}}')}]", f"[{step('b', '{n.x: 1}')}]", ""),
        (f"[{step('a', '{n: {merge: {x: 1}}}')}]", f"[{step('b', '{n.x: 1}')}]", ""),
        (SET_3, SET_4, "join: any\n  losers: finish"),
        (SET_3, SET_4, "join: 2\n  losers: finish"),
        (SET_3, SET_4, "only: [left, right]"),
        (f"[{step('c', '{m: 1}', ', when: all_success')}, {step('a', '{n: 3}')}]", SET_4, ""),
        (f"{{steps: {SET_3}}}", SET_4, ""),
        (f"[{{name: group, type: block, steps: {SET_3}}}]", SET_4, ""),
    ],
)
def test_branches_that_must_conflict_are_reported_at_the_last_writer(
    left: str, right: str, more: str
) -> None:
    ((at, message),) = warnings(parallel(left, right, more))
    assert at.startswith("n")
    assert "the branches 'left' and 'right' of 'both' write the context's 'n" in message


@pytest.mark.parametrize(
    ("left", "right", "more"),
    [
        (SET_3, f"[{step('b', '{m: 4}')}]", ""),
        (f"[{step('a', '{n: {append: 1}}')}]", f"[{step('b', '{n: {extend: [1]}}')}]", ""),
        (f"[{step('a', '{n: {increment: 1}}')}]", f"[{step('b', '{n: {increment: 2}}')}]", ""),
        (f"[{step('a', '{n: {merge: {x: 1}}}')}]", f"[{step('b', '{n: {merge: {y: 1}}}')}]", ""),
        (SET_3, f"[{step('b', '{n: 4}', ', when: all_success')}]", ""),
        (SET_3, SET_4, "merge: {context.n: replace}"),
        (SET_3, SET_4, "join: any"),
        (SET_3, SET_4, "join: best"),
        (SET_3, SET_4, "join: fallback"),
        (SET_3, SET_4, "only: [left]"),
        (SET_3, SET_4, 'only: "{{ context.chosen }}"'),
        (SET_3, SET_4, 'only: [left, right, "{{ context.chosen }}"]'),
        (SET_3, SET_4, "join: 2\n  losers: cancel"),
        (f"[{step('a', '''{'n.{{ run.id }}': 1}''')}]", SET_4, ""),
        (f"[{{name: end, type: return}}, {step('a', '{n: 3}')}]", SET_4, ""),
    ],
)
def test_branches_that_may_join_are_not_reported(left: str, right: str, more: str) -> None:
    assert warnings(parallel(left, right, more)) == []


@pytest.mark.parametrize(
    ("loop", "updates", "count"),
    [
        ("iterate_on: '{{ context.all }}', concurrency: 2", "{n: 3}", 1),
        ("iterate_on: [1, 2], concurrency: 2", "{n: {remove: 1}}", 1),
        ("iterate_on: [1, 2], concurrency: 2", "{n: {append: 1}}", 0),
        ("iterate_on: [1], concurrency: 2", "{n: 3}", 0),
        ("iterate_on: [1, 2], concurrency: 2, max_iterations: 1", "{n: 3}", 0),
        ("iterate_on: [1, 2], concurrency: 2, max_iterations: 2", "{n: 3}", 1),
        ("iterate_on: [1, 2], concurrency: 1", "{n: 3}", 0),
        ("iterate_on: [1, 2], concurrency: 2", "{n: 3, m: 4}", 2),
        ("iterate_on: [1, 2]", "{n: 3}", 0),
        ("iterate_on: [1, 2], concurrency: 2", "{'n.{{ item }}': 3}", 0),
    ],
)
def test_concurrent_rounds_that_write_one_path_are_reported(
    loop: str, updates: str, count: int
) -> None:
    body = f"[{step('a', updates)}]"
    found = warnings(f"- {{name: all, type: loop, loop_variable: item, {loop}, body: {body}}}")
    assert len(found) == count
    assert all("the concurrent rounds of 'all' all write" in message for _, message in found)
