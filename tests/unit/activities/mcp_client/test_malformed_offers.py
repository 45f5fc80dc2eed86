"""One malformed offer does not take the others of its page; a listing without end is named."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp_types import methods
from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS

from coterie.activities.mcp_client.call_outcomes import FoundServerTools
from coterie.activities.mcp_client.malformed_offers import malformed_offer, without_malformed
from coterie.activities.mcp_client.offer_listing import OfferPage, list_offers
from coterie.activities.mcp_client.server_answers import server_tool
from coterie.dsl.values import Json

TABLE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[3] / "data" / "malformed_tools.json").read_text()
)
GOOD: Json = {"name": "good", "inputSchema": {"type": "object"}}
LAST: Json = {"name": "last", "inputSchema": {"type": "object"}}
MODERN: Json = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
OTHERS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "resources": (
        "resources/list",
        {"name": "good", "uri": "a:b"},
        [{"name": "x"}, {"uri": "a:c"}, 3, {"name": "x", "uri": 5}],
    ),
    "resourceTemplates": (
        "resources/templates/list",
        {"name": "good", "uriTemplate": "a:{b}"},
        [{"name": "x"}, {"uriTemplate": "a:{c}"}, "x"],
    ),
    "prompts": (
        "prompts/list",
        {"name": "good"},
        [{"name": 1}, {"name": "x", "arguments": "all"}, None],
    ),
}


async def listed(items: Sequence[Any], version: str) -> FoundServerTools:
    result = without_malformed({"tools": [*items], **MODERN}, version)
    page = methods.parse_server_result("tools/list", version, result)
    assert isinstance(page, types.ListToolsResult)

    async def page_at(cursor: str | None) -> OfferPage[types.Tool]:
        return OfferPage(page.tools, page.next_cursor)

    return await list_offers(
        page_at, lambda tool: malformed_offer(tool) or server_tool(tool), "tool"
    )


@pytest.mark.parametrize("version", SUPPORTED_PROTOCOL_VERSIONS)
@pytest.mark.parametrize("case", TABLE, ids=lambda case: case["case"])
async def test_a_malformed_tool_leaves_the_others(case: dict[str, Any], version: str) -> None:
    found = await listed([GOOD, case["item"], LAST], version)
    names = [tool.name for tool in found.tools]
    assert [name for name in names if name in ("good", "last")] == ["good", "last"]
    left = [one.why for one in found.left_out]
    assert len(names) + len(left) == 3  # nothing disappears
    if len(names) == 2:
        assert case["why"] in left[0]


async def test_a_table_of_malformed_tools_is_left_out_by_name() -> None:
    found = await listed([GOOD, *(one["item"] for one in TABLE), LAST], "2025-11-25")
    assert [tool.name for tool in found.tools] == ["good", "last"]
    assert len(found.left_out) == len(TABLE) >= 30
    named = {one.name for one in found.left_out}
    assert {"schema-without-type", "tools#20", "two\\u000alines"} <= named


@pytest.mark.parametrize("key", OTHERS)
def test_a_malformed_offer_of_another_kind_leaves_the_others(key: str) -> None:
    method, good, bad = OTHERS[key]
    result = without_malformed({key: [good, *bad, good]}, "2025-11-25")
    page: Any = methods.parse_server_result(method, "2025-11-25", result)
    field = "resource_templates" if key == "resourceTemplates" else key
    wrong = [malformed_offer(one) for one in getattr(page, field)]
    assert [one is None for one in wrong] == [True, *(False for _ in bad), True]


def test_a_header_that_a_client_must_not_send_is_named() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"a": {"type": "object", "x-mcp-header": "A"}},
    }
    tool: Json = {"name": "odd", "inputSchema": schema}
    made = without_malformed({"tools": [tool], **MODERN}, "2026-07-28")
    assert "x-mcp-header is only permitted on" in str(made["tools"])
    assert without_malformed({"tools": [tool]}, "2025-11-25") == {"tools": [tool]}


def test_a_page_that_is_malformed_itself_stays_as_it_is() -> None:
    pages: list[Json] = [
        {"tools": "none"},
        {"tools": [GOOD], "nextCursor": 3},
        {"tools": None},
        {},
    ]
    for page in pages:
        assert without_malformed(page, "2026-07-28") == page


Pages = list[tuple[list[str], str | None]]
ENDLESS: list[tuple[Pages, int, int, str | None]] = [
    ([(["a"], "same")], 1, 2, "in a circle"),
    ([(["a"], "x"), (["b"], "y"), (["c"], "x")], 3, 3, "in a circle"),
    ([(["a"], "p{}")], 1, 4, "3 pages in a row have no new tool"),
    ([([], "p{}")], 0, 3, "3 pages in a row have no new tool"),
    ([([], "p1"), ([], "p2"), (["a"], None)], 1, 3, None),
    ([([str(n)], "p{}") for n in range(200)], 100, 100, "more than 100 pages of tools"),
    ([*(([str(n)], "p{}") for n in range(99)), (["z"], None)], 100, 100, None),
]


async def pages_of(pages: Pages) -> tuple[FoundServerTools, int]:
    """What is listed, the last page again and again; and after how many requests."""
    asked = 0

    async def page_at(_: str | None) -> OfferPage[types.Tool]:
        nonlocal asked
        names, cursor = pages[min(asked, len(pages) - 1)]
        asked += 1
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
        return OfferPage(tools, cursor.format(asked) if cursor else None)

    return await list_offers(page_at, server_tool, "tool"), asked


@pytest.mark.parametrize(("pages", "tools", "requests", "why"), ENDLESS)
async def test_a_listing_without_end_is_named_and_costs_few_requests(
    pages: Pages, tools: int, requests: int, why: str | None
) -> None:
    found, asked = await pages_of(pages)
    assert (len(found.tools), asked) == (tools, requests)
    assert [why is not None and why in one.why for one in found.left_out] == [True] * (
        why is not None
    )


async def test_of_two_tools_of_one_name_the_first_counts_and_the_second_is_named() -> None:
    other = {"type": "object", "properties": {"n": {"type": "integer"}}}
    found = await listed([GOOD, {"name": "good", "inputSchema": other}, GOOD], "2025-11-25")
    assert [tool.input_schema for tool in found.tools] == [{"type": "object"}]
    assert [one.why for one in found.left_out] == ["an earlier tool has the same name"]
