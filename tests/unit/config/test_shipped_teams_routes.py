"""Where the development team goes after each thing that can happen, asked without running it."""

import pytest

from coterie.dsl.errors import TeamFailed
from coterie.dsl.evaluate.context_writes import shown_writes
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.facts import Facts, Outcomes
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import SetStep
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json, JsonValue
from tests.support.documents.shipped import compiled

TEAMS = compiled("development").compiled.plan.teams
STOPPABLE = ("solution", "engineering", "test_automation", "implementation_review", "correction")


def decided(verdict: str, comment: str = "") -> Outcome:
    data: Json = {"decision": verdict, "by": "ada", "comment": comment, "at": "2030-01-01"}
    if verdict == "approved":
        return Outcome.succeeded(data)
    return Outcome.failed("Rejected", f"ada rejected it: {comment}", data)


def test_a_rejected_design_goes_back_to_the_designer_with_the_comment() -> None:
    facts = Facts(
        context={}, tasks={"approve_design": decided("rejected", "too much")}, run={"visit": 2}
    )
    route = choose(TEAMS["approval"], facts)
    assert (route.next_team, shown_writes(route.writes)) == (
        "solution",
        {"design_feedback": "too much"},
    )


def test_a_design_rejected_without_a_word_asks_for_a_simpler_way() -> None:
    facts = Facts(context={}, tasks={"approve_design": decided("rejected")}, run={"visit": 1})
    assert "simpler way" in str(
        shown_writes(choose(TEAMS["approval"], facts).writes)["design_feedback"]
    )


def test_the_third_rejection_ends_the_run() -> None:
    facts = Facts(context={}, tasks={"approve_design": decided("rejected", "no")}, run={"visit": 3})
    with pytest.raises(TeamFailed, match="Rejected: ada rejected it: no"):
        choose(TEAMS["approval"], facts)


def test_a_design_that_nobody_decides_on_ends_the_run() -> None:
    tasks = {"approve_design": Outcome.failed("NotDecided", "nobody decided in time")}
    with pytest.raises(TeamFailed, match="nobody decided in time"):
        choose(TEAMS["approval"], Facts(context={}, tasks=tasks, run={"visit": 1}))


@pytest.mark.parametrize(
    ("status", "tests_passed", "next_team"),
    [
        ("FAIL", False, "correction"),
        ("FAIL", True, "correction"),
        ("PASS", True, None),
        ("PASS", False, "manual_approval"),
    ],
)
def test_the_review_and_the_tests_decide_together(
    status: str, tests_passed: bool, next_team: str | None
) -> None:
    context: Json = {"test_outcome": {"passed": tests_passed}}
    tasks = {"impl_evaluator": Outcome.succeeded({"status": status})}
    route = choose(TEAMS["implementation_review"], Facts(context=context, tasks=tasks))
    assert route.next_team == next_team


@pytest.mark.parametrize(
    ("passed", "verdict", "expected"),
    [(True, "PASS", True), (True, "FAIL", False), (False, "PASS", False)],
)
def test_tests_count_as_passed_only_if_the_command_and_its_reader_say_so(
    passed: bool, verdict: str, expected: bool
) -> None:
    data: Json = {"tests": {"passed": passed}, "assessment": {"verdict": verdict}}
    tasks = {"run_tests": Outcome.succeeded(data), "read_result": Outcome.succeeded({})}
    route = choose(TEAMS["test_automation"], Facts(context={}, tasks=tasks))
    assert shown_writes(route.writes) == {"test_outcome.passed": expected}


@pytest.mark.parametrize("team", STOPPABLE)
def test_a_team_that_fails_is_taken_care_of(team: str) -> None:
    tasks = {step.name: Outcome.failed("Timeout", "too late") for step in TEAMS[team].steps}
    assert choose(TEAMS[team], Facts(context={}, tasks=tasks)).next_team == "handle_error"


def facts_of(stopped: str, tasks: Outcomes) -> dict[str, JsonValue]:
    """What the error team's first task makes of a failed team."""
    step = TEAMS["handle_error"].steps[0]
    assert isinstance(step, SetStep)
    facts = Facts(context={}, teams={stopped: tasks}, routing={"from": stopped})
    return {name: fill(value, facts.names()) for name, value in step.values.items()}


def test_the_error_team_tells_who_stopped_and_why() -> None:
    tasks = {
        "run_tests": Outcome.succeeded({}),
        "read_result": Outcome.failed("FunctionFailed", "the disk is gone"),
    }
    assert facts_of("test_automation", tasks) == {
        "stopped": "test_automation",
        "kind": "FunctionFailed",
        "message": "the disk is gone",
    }


@pytest.mark.parametrize("team", STOPPABLE)
def test_once_a_person_says_so_the_team_that_stopped_begins_anew(team: str) -> None:
    tasks = {
        "what_failed": Outcome.succeeded({"stopped": team}),
        "explain": Outcome.failed("MissingSecret", "no key"),
        "try_again": decided("approved", "I set the key"),
    }
    assert choose(TEAMS["handle_error"], Facts(context={}, tasks=tasks)).next_team == team


def test_run_fails_when_nobody_wants_another_attempt() -> None:
    tasks = {
        "what_failed": Outcome.succeeded({"stopped": "engineering"}),
        "try_again": decided("rejected", "leave it"),
    }
    with pytest.raises(TeamFailed, match="ada rejected it: leave it"):
        choose(TEAMS["handle_error"], Facts(context={}, tasks=tasks))
