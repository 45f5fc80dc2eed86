"""What the branches of a parallel step set, and when the step succeeds."""

import json

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from coterie.workflows.core.results import RunFailed
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

CHANGES: list[tuple[JsonValue, JsonValue]] = [
    (1, True),
    (0, False),
    (True, 1),
    (False, 0),
    ([1, 2], [True, 2]),
    ({"a": 0}, {"a": False}),
]


def setting(first: JsonValue, second: JsonValue, third: JsonValue) -> str:
    """A variable, and what two branches set it to."""
    return f"""
- {{name: begin, type: set, values: {{flag: {json.dumps(first)}}}}}
- name: both
  type: parallel
  branches:
    left: [{{name: l, type: set, values: {{flag: {json.dumps(second)}}}}}]
    right: [{{name: r, type: set, values: {{flag: {json.dumps(third)}}}}}]
- {{name: end, type: set, values: {{seen: "{{{{ flag }}}}"}}}}
"""


@pytest.mark.parametrize(("before", "after"), CHANGES, ids=str)
async def test_a_branch_that_makes_a_number_a_truth_value_changes_its_variable(
    before: JsonValue, after: JsonValue
) -> None:
    plan = work(setting(before, after, before))
    first, _ = await undisturbed(plan, {}, lambda _: {})
    again, _ = await stopped_everywhere(plan, {}, lambda _: {})
    for result in (first, again):
        assert json.dumps(task_data(result)["end"]) == json.dumps({"seen": after})


async def test_two_branches_of_which_one_makes_a_number_a_truth_value_are_in_conflict() -> None:
    with pytest.raises(RunFailed, match="'left' and 'right' of 'both' both set the variable 'fl"):
        await undisturbed(work(setting(1, True, 2)), {}, lambda _: {})


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    return {"fails": "Broken"} if request.task.startswith("bad") else {"n": 1}


@pytest.mark.parametrize(
    ("join", "tasks", "status"),
    [
        ("all", "good1 good2", "success"),
        ("all", "good1 bad1", "failure"),
        ("any", "bad1 good1", "success"),
        ("any", "bad1 bad2", "failure"),
        ("2", "good1 bad1 good2", "success"),
        ("2", "good1 bad1 bad2", "failure"),
    ],
)
async def test_a_parallel_step_succeeds_when_as_many_branches_as_it_joins_succeed(
    join: str, tasks: str, status: str
) -> None:
    branches = ", ".join(f"way_{name}: [{agent(name)}]" for name in tasks.split())
    plan = work(f"""
- {{name: many, type: parallel, join: {join}, branches: {{{branches}}}, on_failure: continue}}
- {{name: end, type: set, values: {{seen: "{{{{ tasks.many.status }}}}"}}}}
""")
    result, _ = await undisturbed(plan, {}, answer)
    assert task_data(result)["end"] == {"seen": status}
