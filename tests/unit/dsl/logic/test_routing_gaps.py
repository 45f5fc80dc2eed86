"""Which outcomes of a team's tasks no rule covers."""

import pytest
from pydantic import TypeAdapter

from coterie.dsl.logic.routing_gaps import RoutingGaps, holes
from coterie.dsl.logic.solver import Effort
from coterie.dsl.model.conditions import Condition
from coterie.dsl.values import JsonValue
from tests.support.one_team import agent, work

CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)
TASKS = work(f"- {agent('a')}\n- {agent('b')}").teams["work"].steps


def status(task: str, value: str) -> JsonValue:
    return {"task": task, "status": value}


A_FAILS, B_FAILS = status("a", "failure"), status("b", "failure")
BOTH: JsonValue = {"and": [status("a", "success"), status("b", "success")]}


@pytest.mark.parametrize(
    ("rules", "gaps"),
    [
        ([], RoutingGaps(True, ("a", "b"))),
        ([None], RoutingGaps(False, ())),
        ([BOTH], RoutingGaps(False, ("a", "b"))),
        ([A_FAILS], RoutingGaps(True, ("b",))),
        ([A_FAILS, B_FAILS], RoutingGaps(True, ())),
        ([BOTH, B_FAILS], RoutingGaps(False, ("a",))),
        ([BOTH, A_FAILS, B_FAILS], RoutingGaps(False, ())),
        ([status("b", "skipped")], RoutingGaps(True, ("b",))),
    ],
)
def test_an_outcome_without_a_rule_is_a_gap(rules: list[JsonValue], gaps: RoutingGaps) -> None:
    conditions = [None if one is None else CONDITION.validate_python(one) for one in rules]
    assert holes(TASKS, True, conditions, Effort()) == gaps
