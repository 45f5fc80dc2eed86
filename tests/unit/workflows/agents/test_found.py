"""What counts as found for prompts, and by which models."""

import pytest
from pydantic import JsonValue

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.steps import FunctionStep, SetStep
from coterie.workflows.core.views import CollectedFiles
from coterie.workflows.sequence import found_by

READER = Persona(provider="anthropic", model="small")
PLAN = Plan(
    name="p",
    entry_team="t",
    teams={},
    personas={
        "a": READER,
        "b": READER,
        "looks": Persona(execution_plan=(SetStep(kind="set", name="s", values={}),)),
    },
)
COLLECT = FunctionStep(kind="skill", name="look", skill="Discovery.collect")


def test_a_collection_tells_its_size_and_the_models_that_are_asked() -> None:
    outcome = Outcome.succeeded({"files": [1, 2], "estimated_tokens": 7})
    found = found_by(COLLECT, outcome, PLAN)
    assert found == CollectedFiles(files=2, estimated_tokens=7, models=("anthropic/small",))
    assert found_by(SetStep(kind="set", name="s", values={}), outcome, PLAN) is None


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        {"files": 3, "estimated_tokens": 7},
        {"files": []},
        {"files": [], "estimated_tokens": True},
        {"files": [], "estimated_tokens": "7"},
    ],
)
def test_a_result_of_another_shape_is_no_collection(data: JsonValue) -> None:
    assert found_by(COLLECT, Outcome.succeeded(data), PLAN) is None
