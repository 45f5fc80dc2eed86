"""A team test never reaches an MCP server: a call has a result in the file, or says what to add."""

from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.contracts import SkillRequest
from activities.workspace.skill_base import Workspace
from coterie.testing.files.test_document import SkillResultDocument
from coterie.testing.simulation.stub_skills import StubSkills

REQUEST = SkillRequest(skill="time/now", key="run-1/trip/look#1", listing="0" * 64)


async def test_a_call_has_the_result_of_the_file(tmp_path: Path) -> None:
    entry = SkillResultDocument.model_validate({"step": "trip/look", "data": {"hour": 3}})
    stubs = StubSkills(Workspace(tmp_path), [entry], {}, {})
    assert (await stubs.call_skill(REQUEST)).data == {"hour": 3}


async def test_a_call_without_a_result_fails_with_what_to_add(tmp_path: Path) -> None:
    stubs = StubSkills(Workspace(tmp_path), [], {}, {})
    with pytest.raises(ApplicationError, match=r"add `- \{step: ") as caught:
        await stubs.call_skill(REQUEST)
    assert "the MCP tool time/now has no result for this call" in caught.value.message
    assert list(stubs.unanswered) != []
