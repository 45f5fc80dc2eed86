"""What a tool says beside its structured content reaches the model, and steps get both apart."""

import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from coterie.activities.contracts import FunctionRequest
from coterie.activities.mcp_client.server_answers import tool_answer
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.model.sections.mcp_document import McpServerSection, digest_of_tool
from tests.support.servers.mcp_tools import HOSTILE, mcp_servers
from tests.support.tool_functions import environment

JSON: dict[str, Any] = {"path": "a.txt", "size": 3}
IMAGE = types.ImageContent(type="image", data="AAAA", mime_type="image/png")


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


@pytest.mark.parametrize(
    ("content", "structured", "beside"),
    [
        ([text("The file.")], JSON, "The file."),
        ([text('{"size": 3, "path": "a.txt"}')], JSON, ""),
        ([text('{\n "path": "a.txt",\n "size": 3.0\n}')], JSON, ""),
        ([text("7")], {"result": 7}, ""),
        ([text("seven")], {"result": "seven"}, ""),
        ([text("[1, 2]")], {"result": [1, 2]}, ""),
        ([text(" ")], JSON, ""),
        ([], JSON, ""),
        ([text('{"other": 1}')], JSON, '{"other": 1}'),
        ([IMAGE], JSON, "[an image (image/png, 3 bytes), which is not passed on]"),
        (
            [text('{"size": 3, "path": "a.txt"}'), text("and more"), IMAGE],
            JSON,
            "and more\n[an image (image/png, 3 bytes), which is not passed on]",
        ),
    ],
)
def test_parts_beside_structured_content_are_its_text_unless_they_mirror_it(
    content: list[Any], structured: dict[str, Any], beside: str
) -> None:
    answer = tool_answer(types.CallToolResult(content=content, structured_content=structured))
    assert (answer.data, answer.text, answer.failed) == (structured, beside, False)


@pytest.mark.parametrize(
    ("content", "structured", "said"),
    [
        ([text("It broke.")], {"code": "E7"}, 'It broke.\n{"code": "E7"}'),
        ([text('{"code": "E7"}')], {"code": "E7"}, '{"code": "E7"}'),
        ([], {"code": "E7"}, '{"code": "E7"}'),
        ([], None, "it failed without a message"),
    ],
)
def test_an_error_keeps_its_structured_code(
    content: list[Any], structured: dict[str, Any] | None, said: str
) -> None:
    answer = tool_answer(
        types.CallToolResult(content=content, structured_content=structured, is_error=True)
    )
    assert (answer.data, answer.failed) == (said, True)


@pytest.mark.parametrize("keep", [True, False])
async def test_a_model_reads_both_and_a_step_the_json_and_the_text(
    keep: bool, tmp_path: Path
) -> None:
    section = McpServerSection(command=(sys.executable, "-P", str(HOSTILE), "beside"))
    blobs = MemoryBlobs()
    async with mcp_servers(tmp_path, {"bad": section}) as servers:
        good = next(one for one in (await servers.list_tools("bad")).tools if one.name == "good")
        activities = FunctionActivities(Workspace(tmp_path), blobs=blobs, servers=servers)
        request = FunctionRequest(
            skill="bad/good", input={}, key="k", keep=keep, listing=digest_of_tool(good)
        )
        result = await environment().run(activities.call_function, request)
    if not keep:
        assert (result.data, result.text) == ({"path": "a.txt"}, "The whole file.")
        return
    assert result.kept is not None
    assert await blobs.get(result.kept.name, "") == b'"{\\"path\\":\\"a.txt\\"}\\nThe whole file."'
