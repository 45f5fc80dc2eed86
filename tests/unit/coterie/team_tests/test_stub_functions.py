"""A function's call in a team test: the entry it takes, a stand-in's data, or the real function."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType, FunctionRequest
from coterie.activities.tool_functions.function_results import asked_of
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.tools.asked_input import AskedForm, GivenInput
from coterie.dsl.values import Json
from coterie.testing.files.case_document import FunctionResultDocument
from coterie.testing.files.stand_ins import StandInDocument
from coterie.testing.simulation.stub_functions import StubFunctions

SEARCH = "Archive.search"
WITH_DATA = StandInDocument.model_validate(
    {"data": "found", "input_schema": {"type": "object", "required": ["q"]}}
)
WITHOUT_DATA = StandInDocument()


def stubs(folder: Path, *entries: Json, stand_in: StandInDocument = WITH_DATA) -> StubFunctions:
    played = [FunctionResultDocument.model_validate({"data": n} | e) for n, e in enumerate(entries)]
    return StubFunctions(Workspace(folder), played, {SEARCH: stand_in}, {})


def request(
    key: str = "run/e1/t/s#1", given: Any = None, function: str = SEARCH
) -> FunctionRequest:
    return FunctionRequest(skill=function, key=key, input={"q": 1} if given is None else given)


ANY: Json = {"step": "t/s"}
FIRST: Json = {"step": "t/s", "visit": 1}
SECOND: Json = {"step": "t/s", "visit": 2}


@pytest.mark.parametrize(
    ("entries", "key", "taken"),
    [
        ([ANY], "run/e1/t/s#1", 0),
        ([ANY, ANY], "run/e1/t/s#1", 0),
        ([ANY, SECOND], "run/e1/t/s#2", 1),
        ([ANY, SECOND], "run/e1/t/s#1", 0),
        ([SECOND, FIRST, FIRST], "run/e1/t/s#1", 1),
        ([{"step": "t/o"}, ANY], "run/e1/t/s#3", 1),
        ([{"step": "t/each/s"}], "run/e1/t/each/4/s#1", 0),
        ([{"step": "t/each/4/s"}], "run/e1/t/each/4/s#1", 0),
        ([{"step": "t/ask/search"}], "run/e1/t/ask/search@2.1#1", 0),
        ([{"step": "t/each/s"}, {"step": "t/each/4/s"}], "run/e1/t/each/4/s#1", 1),
        ([{"step": "t/each/s", "visit": 1}, {"step": "t/each/4/s"}], "run/e1/t/each/4/s#1", 1),
        ([{"step": "t/ask/search"}, {"step": "t/ask/search@2.1"}], "run/e1/t/ask/search@2.1#1", 1),
    ],
)
async def test_a_call_takes_the_most_specific_entry_and_the_first_of_equals(
    tmp_path: Path, entries: list[Json], key: str, taken: int
) -> None:
    made = stubs(tmp_path, *entries)
    assert (await made.call_function(request(key))).data == taken
    assert made.used == {taken}


async def test_a_stand_in_without_an_entry_returns_its_own_data(tmp_path: Path) -> None:
    made = stubs(tmp_path, SECOND)
    assert (await made.call_function(request())).data == "found"
    assert (made.used, made.unanswered) == (set(), {})


async def refusal(made: StubFunctions, asked: FunctionRequest) -> tuple[str | None, str]:
    with pytest.raises(ApplicationError) as failed:
        await made.call_function(asked)
    assert failed.value.non_retryable
    return failed.value.type, failed.value.message


async def test_a_stand_in_without_any_data_says_which_entry_to_add(tmp_path: Path) -> None:
    made = stubs(tmp_path, stand_in=WITHOUT_DATA)
    fix = "add `- {step: t/s, visit: 2, data: ...}` under `functions`"
    assert await refusal(made, request("run/e1/t/s#2")) == (
        FailureType.FUNCTION_FAILED,
        f"the stand-in {SEARCH} has no result for this call: {fix}",
    )
    assert made.unanswered == {f"{SEARCH} in t/s#2": fix}


@pytest.mark.parametrize("entries", [[], [ANY]])
async def test_a_stand_in_refuses_an_input_that_its_schema_does_not_allow(
    tmp_path: Path, entries: list[Json]
) -> None:
    kind, message = await refusal(stubs(tmp_path, *entries), request(given={"p": 1}))
    assert kind == FailureType.FUNCTION_REFUSED
    assert message.startswith(f"{SEARCH}: the input does not match its schema: $ lacks the key 'q'")


async def test_an_entry_may_be_a_failure(tmp_path: Path) -> None:
    error = {"step": "t/s", "error": {"type": "Down", "message": "away"}}
    played = [FunctionResultDocument.model_validate(error)]
    made = StubFunctions(Workspace(tmp_path), played, {}, {})
    asked = request(function="AssetManager.process_action")
    assert await refusal(made, asked) == ("Down", "away")


async def test_a_function_that_exists_really_runs_unless_an_entry_has_its_result(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("text")
    made = stubs(tmp_path, {"step": "t/o"})
    given = {"file_path": "a.txt", "type": "delete"}
    asked = request("run/e1/t/o#1", given, "AssetManager.process_action")
    assert (await made.call_function(asked)).data == 0
    assert (tmp_path / "a.txt").exists()
    await made.call_function(asked.model_copy(update={"key": "run/e1/t/s#1"}))
    assert not (tmp_path / "a.txt").exists()


async def test_an_entry_may_ask_a_person_before_it_has_its_result(tmp_path: Path) -> None:
    schema: Json = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    made = stubs(tmp_path, {**ANY, "asks": {"message": "Sure?", "schema": schema}})
    with pytest.raises(ApplicationError) as raised:
        await made.call_function(request())
    asked = asked_of(raised.value)
    assert (raised.value.type, raised.value.non_retryable) == (FailureType.INPUT_REQUIRED, True)
    assert asked is not None
    assert asked.questions == {"answer": AskedForm(message="Sure?", form=schema)}
    given = request().model_copy(update={"given_input": GivenInput(asked=asked)})
    assert (await made.call_function(given)).data == 0
