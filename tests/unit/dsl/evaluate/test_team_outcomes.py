"""`all_success` and its like count a team's own tasks, not the steps inside them."""

import pytest

from coterie.dsl.errors import NoRoute
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model.conditions import TeamOutcome
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Routing, Rule, Team
from coterie.dsl.model.steps import FailStep, SetStep, TryStep

RISKY = FailStep(kind="fail", name="risky", message="no")
CAREFUL = TryStep(kind="try", name="careful", steps=(RISKY,))
AFTER = SetStep(kind="set", name="after", values={})


def chosen(outcome: str, tasks: dict[str, Outcome]) -> str:
    condition = TeamOutcome.model_validate({"outcome": outcome})
    team = Team(
        id="t",
        name="t",
        steps=(CAREFUL, AFTER),
        routing=Routing(rules=(Rule(condition=condition, next_team=None),)),
    )
    return choose(team, Facts(context={}, tasks=tasks)).because


def test_a_failure_that_was_caught_inside_a_task_is_no_failure_of_the_team() -> None:
    tasks = {
        "risky": Outcome.failed("Unsure", "no"),
        "careful": Outcome.succeeded(),
        "after": Outcome.succeeded(),
    }
    assert chosen("all_success", tasks) == "rule 1: all_success (careful success, after success)"
    with pytest.raises(NoRoute):
        chosen("any_failure", tasks)


def test_a_success_inside_a_failed_task_is_no_success_of_the_team() -> None:
    tasks = {
        "risky": Outcome.succeeded(),
        "careful": Outcome.failed("Timeout", "no"),
        "after": Outcome.skipped(),
    }
    assert chosen("all_failure", tasks) == "rule 1: all_failure (careful failure, after skipped)"
