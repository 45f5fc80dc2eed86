"""How tasks may have ended when a team's routing is evaluated, from their text alone."""

import pytest

from coterie.dsl.logic.possible_statuses import after_all, after_failures, after_success, during
from coterie.dsl.logic.solver import ABSENT, ANY_STATUS, FAILURE, SKIPPED, SUCCESS, Effort, Statuses
from coterie.dsl.model.plan import Team
from tests.unit.dsl.analysis.documents import compiled

NOTE = "{ name: note, type: set, values: { a: 1 } }"
LOOK = "{ name: look, type: tool, tool: look }"
SEE = "{ name: see, type: tool, tool: look }"
GROUP = f"{{ name: group, type: block, steps: [{SEE}] }}"
EITHER = SUCCESS | FAILURE
INSIDE = SKIPPED | ABSENT


def team(tasks: str, more: str = "") -> Team:
    """The one team of a document."""
    text = f"a:\n  tasks: [{tasks}]\n{more}  routing: {{ default: null }}\n"
    return compiled(text).plan.teams["a"]


def after(tasks: str, *, stop: bool = True) -> tuple[Statuses, ...]:
    """The ways in which the tasks may have ended."""
    return after_all(team(tasks).steps, stop)


def test_each_task_that_can_stop_the_team_gives_a_case() -> None:
    one = ("note", "look", "group")
    assert after(f"{NOTE}, {LOOK}, {GROUP}") == (
        Statuses({"note": SUCCESS, "look": SUCCESS, "group": SUCCESS, "see": EITHER | INSIDE}, one),
        Statuses({"note": SUCCESS, "look": FAILURE, "group": SKIPPED, "see": ABSENT}, one),
        Statuses({"note": SUCCESS, "look": SUCCESS, "group": FAILURE, "see": EITHER | INSIDE}, one),
    )


def test_without_a_stop_there_is_one_case_of_all_ends() -> None:
    ends = {"note": SUCCESS, "look": EITHER, "group": EITHER, "see": EITHER | INSIDE}
    tasks = f"{NOTE}, {LOOK}, {GROUP}"
    assert after(tasks, stop=False) == (Statuses(ends, ("note", "look", "group")),)


def test_a_task_whose_failure_changes_nothing_stops_nothing() -> None:
    tasks = f"{LOOK.replace(' }', ', on_failure: continue }')}, {SEE}"
    assert after(tasks) == (
        Statuses({"look": EITHER, "see": SUCCESS}, ("look", "see")),
        Statuses({"look": EITHER, "see": FAILURE}, ("look", "see")),
    )


@pytest.mark.parametrize(
    ("tasks", "ends"),
    [
        ("{ name: f, type: fail, message: no }", {"f": FAILURE}),
        (
            "{ name: f, type: fail, message: no, when: '{{ context.x }}' }",
            {"f": FAILURE | SKIPPED},
        ),
        (
            "{ name: w, type: set, values: { a: 1 }, when: { context_field: x, value: 1 } }",
            {"w": SUCCESS | SKIPPED},
        ),
        (LOOK.replace(" }", ", on_failure: ask }"), {"look": EITHER | SKIPPED}),
        # what follows a return, at any depth, may be skipped
        (
            "{ name: group, type: block, steps: [{ name: end, type: return }, "
            f"{SEE}] }}, {NOTE}",
            {
                "group": EITHER | SKIPPED,
                "end": SUCCESS | INSIDE,
                "see": EITHER | INSIDE,
                "note": SUCCESS | SKIPPED,
            },
        ),
        (
            f"{{ name: end, type: return, when: {{ context_field: x, value: 1 }} }}, {NOTE}",
            {"end": SUCCESS | SKIPPED, "note": SUCCESS | SKIPPED},
        ),
    ],
)  # fmt: skip
def test_the_ends_of_a_task_follow_from_its_text(tasks: str, ends: dict[str, int]) -> None:
    (found,) = after(tasks, stop=False)
    assert found.of == ends


@pytest.mark.parametrize("number", [12, 13])
def test_many_tasks_that_can_stop_a_team_give_one_weaker_case(number: int) -> None:
    looks = [LOOK.replace("look", f"look{one}", 1) for one in range(number)]
    found = after(", ".join([NOTE, *looks]))
    names = ("note", *(f"look{one}" for one in range(number)))
    if number == 12:
        assert len(found) == 1 + number
        assert found[-1] == Statuses(dict.fromkeys(names, SUCCESS) | {names[-1]: FAILURE}, names)
    else:
        later = dict.fromkeys(names[2:], EITHER | SKIPPED)
        assert found == (Statuses({"note": SUCCESS, "look0": EITHER, **later}, names),)


@pytest.mark.parametrize("stop", [True, False])
def test_after_the_first_failure_the_other_tasks_are_skipped_where_it_stops(stop: bool) -> None:
    steps = team(f"{LOOK}, {GROUP}").steps
    ends = [(step.name, world().of) for step, world in after_failures(steps, stop, Effort())]
    rest = {"group": SKIPPED, "see": ABSENT} if stop else {"group": EITHER, "see": EITHER | INSIDE}
    assert ends == [
        ("look", {"look": FAILURE, **rest}),
        ("group", {"look": SUCCESS, "group": FAILURE, "see": EITHER | INSIDE}),
    ]


def test_a_team_succeeds_where_no_task_of_its_own_failed() -> None:
    steps = team(f"{LOOK.replace(' }', ', on_failure: continue }')}, {GROUP}").steps
    ends = {"look": EITHER, "group": SUCCESS, "see": EITHER | INSIDE}
    assert after_success(steps) == Statuses(ends, ("look", "group"))


def test_while_others_run_a_task_may_have_ended_in_any_way() -> None:
    everyone = ("note", "group", "see")
    steps = team(f"{NOTE}, {GROUP}").steps
    assert during(steps) == (Statuses(dict.fromkeys(everyone, ANY_STATUS), everyone),)
