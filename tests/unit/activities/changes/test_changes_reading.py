"""In which forms a model's answer may be handed over, and what its changes are then."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.tool_functions.semantic_iterator import INITIALIZE
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal

CHANGE: dict[str, JsonValue] = {
    "file_path": "a.txt",
    "type": "create",
    "description": "new",
    "content": "a\n",
}
UNUSABLE: JsonValue = {
    "file_path": "b.txt",
    "type": "modify",
    "description": "changed",
    "diff": "no hunk\n",
}
READ: JsonValue = [{**CHANGE, "diff": None}]
BLOCK = """Done:
===CHANGE_BEGIN===
FILE: a.txt
TYPE: create
DESCRIPTION: new
CONTENT:
a
===CHANGE_END===
"""


async def read(value: JsonValue) -> JsonValue:
    return await INITIALIZE.call(value, FunctionContext(Workspace(Path("project")), key="k"))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(BLOCK, id="text"),
        pytest.param({"content": BLOCK}, id="content"),
        pytest.param({"text": BLOCK, "model": "m-1"}, id="an agent's data with text"),
        pytest.param({"content": BLOCK, "format": "change_blocks"}, id="a named format"),
        pytest.param(json.dumps([CHANGE]), id="JSON text"),
        pytest.param({"content": json.dumps(CHANGE), "format": "json"}, id="one change as JSON"),
        pytest.param([CHANGE], id="a list"),
        pytest.param({"changes": [CHANGE], "notes": "x"}, id="an agent's data with changes"),
        pytest.param({"changes": BLOCK}, id="changes as text"),
        pytest.param({"content": {"changes": [CHANGE]}}, id="content that is an object"),
        pytest.param(CHANGE, id="a single change"),
        pytest.param(
            {"path": "./a.txt", "action": "CREATE", "description": "new", "content": "a\n"},
            id="other names of the fields",
        ),
    ],
)
async def test_every_form_gives_the_same_changes(value: JsonValue) -> None:
    assert await read(value) == READ


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"content": json.dumps([CHANGE]), "format": "change_blocks"}, "has no change block"),
        ({"content": BLOCK, "format": "json"}, "neither a change block"),
        ({"content": None}, "contains no changes"),
        ({"content": 7}, "but got 7"),
        ("", "neither a change block"),
        ("{", "JSON is broken or cut"),
        (["a.txt"], "change 1: "),
        ([CHANGE, {**CHANGE, "file_path": "./a.txt"}], "a.txt has more than one change"),
        ([{"file_path": "a", "type": "delete", "content": "x"}], "a deleted file has no content"),
        ([{**CHANGE, "diff": "+a\n"}], "a diff or a content, not both"),
        ([CHANGE, UNUSABLE], "change 2 (b.txt): "),
    ],
)
async def test_reader_names_what_is_not_a_set_of_changes(value: JsonValue, reason: str) -> None:
    with pytest.raises(FunctionFailure) as caught:
        await read(value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("value", [None, 7, {"answer": BLOCK}, {"content": "", "format": "yaml"}])
async def test_reader_refuses_what_is_not_an_answer(value: JsonValue) -> None:
    with pytest.raises(FunctionRefusal, match="invalid input for"):
        await read(value)


async def test_every_change_outside_the_project_is_named() -> None:
    wrong: JsonValue = [{**CHANGE, "file_path": path} for path in ("/a", "../b", "c")]
    with pytest.raises(FunctionRefusal) as caught:
        await read(wrong)
    assert "change 1 (/a): the path '/a' is absolute" in str(caught.value)
    assert "change 2 (../b)" in str(caught.value)
    assert "change 3" not in str(caught.value)


async def test_keys_left_empty_by_a_strict_schema_count_as_absent() -> None:
    value: JsonValue = [
        {"file_path": "a", "type": "modify", "diff": "-a\n+b\n", "content": ""},
        {"file_path": "b", "type": "create", "diff": "", "content": ""},
        {"file_path": "c", "type": "delete", "diff": "", "content": ""},
    ]
    read_back = await read(value)
    assert isinstance(read_back, list)
    kept = [(one["diff"], one["content"]) for one in read_back if isinstance(one, dict)]
    assert kept == [("-a\n+b\n", None), (None, ""), (None, None)]
