"""A loop whose bound is a template: asked once, and kept when the run is stopped and goes on."""

import pytest

from dsl.errors import InvalidPlan
from tests.support.one_team import work
from tests.support.simulation.stopping import stopped_everywhere, undisturbed

LOOP = """
- {name: start, type: set, values: {most: 3}}
- name: l
  type: loop
  %s
  max_iterations: {value: "{{ most }}", maximum: 9}
  body: [{name: b, type: set, values: {most: 1}}]
"""


@pytest.mark.parametrize(
    "over",
    [
        "while: '{{ true }}'",
        "{iterate_on: [1, 2, 3, 4], loop_variable: i",
        "{iterate_on: [1, 2, 3, 4], loop_variable: i, concurrency: 2",
    ],
    ids=["while", "list", "concurrent"],
)
async def test_the_bound_is_rendered_once_when_the_loop_starts(over: str) -> None:
    lines = over.lstrip("{").replace("], ", "]\n  ").replace("i, ", "i\n  ")
    plan = work(LOOP % lines)
    for result, _ in (
        await undisturbed(plan, {}, lambda _: {}),
        await stopped_everywhere(plan, {}, lambda _: {}),
    ):
        assert isinstance(result.output, dict)
        data = result.output["l"]
        assert isinstance(data, dict)
        assert (data["rounds"], data["completed"]) == (3, False)


async def test_a_plan_with_a_bound_without_a_maximum_is_refused_at_its_start() -> None:
    plan = work(LOOP % "while: '{{ true }}'")
    team = plan.teams["work"]
    endless = team.steps[1].model_copy(update={"max_iterations": "{{ most }}"})
    steps = (team.steps[0], endless)
    changed = plan.model_copy(update={"teams": {"work": team.model_copy(update={"steps": steps})}})
    with pytest.raises(InvalidPlan):
        await undisturbed(changed, {}, lambda _: {})
