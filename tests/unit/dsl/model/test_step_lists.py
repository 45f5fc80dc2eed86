"""One place knows which steps hold others; what walks, draws or changes steps asks it."""

import pytest
from pydantic import TypeAdapter

from coterie.dsl.model.conditions import Expression
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.step_list import (
    AtTheEnd,
    Choosing,
    Concurrent,
    EachRound,
    EachTask,
    Grouped,
    ListRole,
    OnError,
    OnFailedTask,
    Otherwise,
    Tried,
    WhenHolds,
)
from coterie.dsl.model.steps import STEP_KINDS, STEP_MODELS, Step
from coterie.dsl.model.traversal.agent_personas import execution_plan_steps
from coterie.dsl.model.traversal.step_walk import rebuilt
from coterie.dsl.values import Json, JsonValue, NodePath

RAISE: Json = {"kind": "fail", "name": "end", "error": "E", "message": "m"}
HOLDING: dict[str, Json] = {
    "loop": {"max_iterations": 2, "body": [RAISE]},
    "branch": {
        "branches": [{"condition": {"expression": "{{ a }}"}, "steps": [RAISE]}],
        "otherwise": [],
    },
    "parallel": {"branches": {"left": [RAISE], "right": [RAISE, {**RAISE, "name": "z"}]}},
    "task_graph": {
        "tasks": [],
        "task_variable": "t",
        "select": [RAISE],
        "chosen": "a",
        "body": [{**RAISE, "name": "z"}],
        "on_failed_task": [RAISE],
    },
    "block": {"steps": [RAISE]},
    "try": {
        "steps": [RAISE],
        "catch": [{"error": ["A", "B"], "steps": [RAISE]}, {"steps": []}],
        "finally": [RAISE],
    },
}
ROLES: dict[str, list[tuple[ListRole, NodePath]]] = {
    "loop": [(EachRound(maximum=2), (7, "body"))],
    "branch": [
        (WhenHolds(Expression(expression="{{ a }}")), (7, "branches", 0, "steps")),
        (Otherwise(), (7, "otherwise")),
    ],
    "parallel": [
        (Concurrent("left"), (7, "branches", "left")),
        (Concurrent("right"), (7, "branches", "right")),
    ],
    "task_graph": [
        (Choosing(), (7, "select")),
        (EachTask(), (7, "body")),
        (OnFailedTask(), (7, "on_failed_task")),
    ],
    "block": [(Grouped(), (7, "steps"))],
    "try": [
        (Tried(), (7, "steps")),
        (OnError(("A", "B")), (7, "catch", 0, "steps")),
        (OnError(("*",)), (7, "catch", 1, "steps")),
        (AtTheEnd(), (7, "finally")),
    ],
}


def step(kind: str, fields: Json) -> Step:
    value: JsonValue = {"kind": kind, "name": "x", **fields}
    made: Step = TypeAdapter[Step](Step).validate_python(value)
    return made


@pytest.mark.parametrize("kind", HOLDING)
def test_a_step_holds_its_lists_in_written_order_each_with_its_role(kind: str) -> None:
    found = [(one.role, one.path) for one in step(kind, HOLDING[kind]).lists((7,))]
    assert found == ROLES[kind]


@pytest.mark.parametrize("kind", HOLDING)
def test_a_changed_step_differs_in_the_lists_that_it_holds_and_in_nothing_else(kind: str) -> None:
    whole = step(kind, HOLDING[kind])
    assert rebuilt(whole, (7,), lambda steps, path: tuple(steps)) == whole
    seen: list[NodePath] = []

    def emptied(steps: object, path: NodePath) -> tuple[Step, ...]:
        seen.append(path)
        return ()

    changed = rebuilt(whole, (7,), emptied)
    assert seen == [one.path for one in whole.lists((7,))]
    assert [one.steps for one in changed.lists()] == [()] * len(seen)


def test_every_kind_whose_model_has_a_field_of_steps_holds_lists() -> None:
    """A new kind that holds steps cannot be forgotten."""
    holding = {
        kind
        for kind in STEP_KINDS
        if any(
            "Step" in str(info.annotation) for info in STEP_MODELS[kind][0].model_fields.values()
        )
        or kind == "branch"
    }
    assert holding == set(HOLDING)


@pytest.mark.parametrize(
    ("agent_type", "followed"),
    [("generic_orchestrating", 1), ("generic_single_shot", 0), ("mine", 0)],
)
def test_only_an_orchestrating_agent_follows_the_plan_of_its_persona(
    agent_type: str, followed: int
) -> None:
    persona = Persona(provider="p", model="m", execution_plan=(step("fail", RAISE),))
    agent = step("agent", {"agent_type": agent_type, "persona_key": "writer"})
    assert len(execution_plan_steps(agent, {"writer": persona})) == followed
    assert execution_plan_steps(agent, {}) == ()
    assert execution_plan_steps(step("fail", RAISE), {"": persona}) == ()
