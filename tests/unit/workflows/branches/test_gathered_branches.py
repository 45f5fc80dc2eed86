"""What a concentrator gathers of its branches: `branches`, and `aggregate` of those that are done.

Each run is repeated with a stop at every second step, and comes to the same.
"""

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, FunctionRequest
from coterie.dsl.values import Json
from tests.support.compiling import plan_of
from tests.support.runs import task_data
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

SET = "{{name: {}, type: set, values: {}}}"
FAN_OUT = """
orchestration:
  entry_team: start
  teams:
    start:
      tasks: [{{name: begin, type: set, values: {{x: 1}}}}]
      routing:
        rules: [{{condition: all_success, next_team: [left, right, bad], concentrator: both}}]
    left:
      tasks:
        - {{name: one, type: set, values: {{a: {{x: 1, y: 1}}, l: 1}}}}
        - {{name: skipped, type: set, values: {{b: 1}}, when: "{{{{ false }}}}"}}
      routing: {{default: both}}
    right:
      tasks: [{{name: one, type: set, values: {{a: {{y: 2}}, r: [2]}}}}]
      routing: {{default: both}}
    bad:
      tasks: [{{name: two, type: fail, error: Bad, message: broken}}]
      routing: {{rules: [{{condition: all_success, next_team: both}}]}}
    both:
      type: concentrator
      collect: {{aggregate: {aggregate}}}
      tasks:
        - name: seen
          type: set
          values: {{aggregate: "{{{{ aggregate }}}}", branches: "{{{{ branches }}}}"}}
"""
LEFT: JsonValue = {"one": {"a": {"x": 1, "y": 1}, "l": 1}}
RIGHT: JsonValue = {"one": {"a": {"y": 2}, "r": [2]}}


def nobody(request: AgentRequest | FunctionRequest) -> Json:
    raise AssertionError(request)


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("list", [LEFT, RIGHT]),
        ("merge_dict", {"one": {"a": {"x": 1, "y": 2}, "l": 1, "r": [2]}}),
    ],
)
async def test_an_aggregate_is_made_of_what_the_done_branches_came_to(
    aggregate: str, expected: JsonValue
) -> None:
    plan = plan_of(FAN_OUT.format(aggregate=aggregate))
    first, _ = await undisturbed(plan, {}, nobody)
    again, _ = await stopped_everywhere(plan, {}, nobody)
    for result in (first, again):
        seen = task_data(result)["seen"]
        assert isinstance(seen, dict)
        assert seen["aggregate"] == expected
        assert seen["branches"] == {
            "left": {"status": "done", "data": LEFT, "error": None},
            "right": {"status": "done", "data": RIGHT, "error": None},
            "bad": {
                "status": "failed",
                "data": {},
                "error": {
                    "type": "TeamFailed",
                    "message": "task 'two' of team 'bad' failed: Bad: broken",
                },
            },
        }
