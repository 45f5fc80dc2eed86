"""A team test never reaches an MCP server: a call has a result in the file, or says what to add."""

from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FunctionRequest
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.tools.asked_input import GivenInput
from coterie.testing.files.case_document import FunctionResultDocument
from coterie.testing.simulation.stub_functions import StubFunctions
from tests.support.servers.mcp_tools import asked_by

REQUEST = FunctionRequest(skill="time/now", key="run-1/an-execution/trip/look#1", listing="0" * 64)


async def test_a_call_has_the_result_of_the_file(tmp_path: Path) -> None:
    entry = FunctionResultDocument.model_validate({"step": "trip/look", "data": {"hour": 3}})
    stubs = StubFunctions(Workspace(tmp_path), [entry], {}, {})
    assert (await stubs.call_function(REQUEST)).data == {"hour": 3}


async def test_a_call_asks_before_it_has_the_result_of_the_file(tmp_path: Path) -> None:
    asks = {"message": "Now?", "schema": {"type": "object"}}
    entry = FunctionResultDocument.model_validate({"step": "trip/look", "asks": asks, "data": 3})
    stubs = StubFunctions(Workspace(tmp_path), [entry], {}, {})
    with pytest.raises(ApplicationError) as caught:
        await stubs.call_function(REQUEST)
    assert caught.value.non_retryable, "a person answers, and no further attempt"
    asked = asked_by(caught.value)
    assert [one.message for one in asked.questions.values()] == ["Now?"]
    again = REQUEST.model_copy(update={"given_input": GivenInput(asked=asked)})
    assert (await stubs.call_function(again)).data == 3


async def test_a_call_without_a_result_fails_with_what_to_add(tmp_path: Path) -> None:
    stubs = StubFunctions(Workspace(tmp_path), [], {}, {})
    with pytest.raises(ApplicationError, match=r"add `- \{step: ") as caught:
        await stubs.call_function(REQUEST)
    assert "the tool time/now has no result for this call" in caught.value.message
    assert list(stubs.unanswered) != []
