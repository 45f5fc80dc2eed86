"""Each older form runs to its end as its author meant it, on a scripted model."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest
import pytest_asyncio
from pydantic import JsonValue
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from tests.support.documents.old_forms import NAMES, compiled_form
from tests.support.engine import Engine, engine, path_of, trail

ANSWERS: list[dict[str, JsonValue]] = [
    {"task": "write", "answer": "It falls."},
    {"task": "review", "answer": "FAIL: too short"},
    {"task": "start/again", "answer": "It falls again."},
    {"task": "start/once_more", "answer": "And again."},
    {"task": "start/ask", "answer": "The wind."},
    {"task": "start/sum_up", "answer": "All of it."},
    {"task": "start/careful", "answer": "It may fall."},
    {"task": "start/bold", "answer": "It will fall."},
]
CONTEXT: Json = {
    "topic": "rain",
    "phase": "draft",
    "size": 3,
    "files": ["a", "b"],
    "patient": True,
    "limits": {"rounds": 1},
}
EXPECTED: dict[str, tuple[list[str], Json]] = {
    "agent_call": (["start"], {"lead.review.text": "FAIL: too short"}),
    "agent_types": (["start"], {"once_more.text": "And again.", "look.found.root": "."}),
    "and_or_not": (["start", "again"], {"write.text": "It falls."}),
    "conditional": (["start"], {"by_size.chosen": 1, "by_phase.data.phase": "early"}),
    "config_field": (["start", "review"], {"review.text": "FAIL: too short"}),
    "field_of_a_plan": (["start"], {"code.way": "again"}),
    "generic_fallback": (["start"], {"careful.text": "It may fall.", "bold.text": "It will fall."}),
    "generic_skill": (["start"], {"change.result.0.file_path": "a.txt"}),
    "llm_call": (["start"], {"lead.gaps.text": "The wind."}),
    "next_team_none": (["start"], {"write.text": "It falls."}),
    "plain": (["start", "review"], {"review.text": "FAIL: too short"}),
    "plan_enabled": (["start"], {"code.files": 2, "rest": {}}),
    "set_value": (["start"], {"title.title": "On rain"}),
    "simple": (["start", "again"], {"write.text": "It falls."}),
    "skill_call": (["start"], {"code.changes.0.file_path": "a.txt"}),
    "team_call": (["start", "helper"], {"delegate.output.write.text": "It falls."}),
}
"""`{form: (teams in the order of their visits, {path in the last team's output: value})}`."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def here(
    env: WorkflowEnvironment, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Engine]:
    folder: Path = tmp_path_factory.mktemp("forms")
    async with engine(env, folder, ANSWERS) as made:
        yield made


def at(output: JsonValue, path: str) -> JsonValue:
    for segment in path.split("."):
        if isinstance(output, list):
            output = output[int(segment)]
        else:
            assert isinstance(output, dict), path
            output = output[segment]
    return output


def test_every_form_is_run() -> None:
    assert sorted(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
async def test_an_older_form_runs_to_its_end_as_it_was_meant(here: Engine, name: str) -> None:
    handle = await here.start(compiled_form(name, "old").plan, CONTEXT)
    result = cast("Json", await handle.result())
    path, output = EXPECTED[name]
    assert result["end"] == "completed"
    assert path_of(await trail(handle)) == path
    for place, value in output.items():
        assert at(result["output"], place) == value, result["output"]
