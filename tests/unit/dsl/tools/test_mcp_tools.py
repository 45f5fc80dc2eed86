"""Tools of MCP servers in documents: names, groups, contracts, and what is wrong with them."""

import re

import pytest

from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import ServerListing, ServerTool
from coterie.dsl.model.sections.mcp_document import (
    McpServerSection,
    digest_of_address,
    digest_of_tool,
)
from coterie.dsl.model.tools.tool_contract import McpTool
from coterie.dsl.values import Json
from tests.support.compiling import CAPABILITIES

WORKER = """
worker:
  mcp_servers:
    hub:
      command: [hub]
      timeout: 30s
      tools:
        "search_*": { effect: read, labels: [private], retries: 5 }
        delete: { timeout: 5s }
    bare: { command: [bare] }
    long: { command: [long] }
    books: { command: [books], tools: { "*": { effect: once }, "resource:*": { labels: [] } } }
    moved: { command: [elsewhere] }
"""
BASE = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    actor: { prompts: { user: Act. }, %s }
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - { name: act, persona_key: actor }
tools:
%s
"""
QUERY: Json = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "page": {"type": "integer"}},
    "required": ["query"],
}


def tool(name: str, **more: object) -> ServerTool:
    return ServerTool.model_validate({"name": name, "input_schema": QUERY, **more})


TOOLS = (
    tool("search_code", description="Finds code.", hints={"read_only_hint": True}),
    tool("search.issues", description="Finds issues."),
    tool("search_issues", output_schema={"type": "object", "properties": {"total": {}}}),
    tool("delete", hints={"read_only_hint": True, "destructive_hint": False}),
    tool("resource:search_help", uri="hub://help", input_schema={"type": "object"}),
    tool("resource:search_page", uri="hub://page/{page}"),
    tool("prompt:search_well"),
)
ODD = {"type": "object", "properties": {"$top": {}, "rows": {"type": "array"}}}
LONG = (
    tool("a" * 70),
    tool("a" * 69 + "b"),
    tool("a.b.c"),
    tool(
        "short",
        input_schema={"type": "object", "properties": {"$top": {}, "rows": {"type": "array"}}},
    ),
    *(tool(f"number{number}") for number in range(140)),
)
LISTINGS = {
    "long": ServerListing(
        configuration=digest_of_address(McpServerSection(command=("long",))), tools=LONG
    ),
    "hub": ServerListing(
        configuration=digest_of_address(McpServerSection(command=("hub",))), tools=TOOLS
    ),
    "books": ServerListing(
        configuration=digest_of_address(McpServerSection(command=("books",))), tools=TOOLS[-3:]
    ),
    "moved": ServerListing(configuration="of another command", tools=TOOLS),
}


def compiled(tools: str, persona: str = "tools: [t]", more: str = "") -> Compiled:
    known = CAPABILITIES.model_copy(update={"server_listings": LISTINGS})
    text = BASE % (persona, "".join(f"  {line}\n" for line in tools.splitlines())) + more
    sources = [SourceText("team.yml", text), SourceText("coterie.yml", WORKER)]
    return compile_sources(sources, known, name="test")


def problems(tools: str, persona: str = "tools: [t]") -> list[tuple[str, int, int, str]]:
    """`(code, line, column, message)` of all that is wrong."""
    with pytest.raises(InvalidDocument) as caught:
        compiled(tools, persona)
    return [(one.code, one.line, one.column, one.message) for one in caught.value.problems]


def test_a_tool_has_the_contract_of_its_listing_by_the_terms_of_the_worker() -> None:
    made = compiled("t: { mcp: hub/search_code, fixed: { page: 1 } }").plan.tools["t"]
    assert isinstance(made, McpTool)
    assert made.mcp == "hub/search_code"
    assert made.description == "Finds code."
    assert (made.terms.effect, made.terms.timeout, made.terms.retries) == ("read", 30, 5)
    assert made.labels == ("private",)
    assert made.listing == digest_of_tool(TOOLS[0])
    assert made.input_schema is not None
    assert made.input_schema["properties"] == {"query": {"type": "string"}}


def test_hints_of_a_server_relax_nothing() -> None:
    made = compiled("t: { mcp: hub/delete }").plan.tools["t"]
    assert isinstance(made, McpTool)
    assert (made.terms.effect, made.terms.timeout, made.terms.retries) == ("once", 5, 0)
    assert made.labels == ("untrusted", "egress")


@pytest.mark.parametrize(
    ("name", "effect", "labels"),
    [
        ("hub/resource:search_help", "read", ("untrusted",)),
        ("hub/resource:search_page", "read", ("untrusted", "egress")),
        ("hub/prompt:search_well", "read", ("untrusted", "egress")),
        ("books/resource:search_page", "read", ()),
        ("books/prompt:search_well", "read", ("untrusted", "egress")),
    ],
)
def test_a_resource_and_a_prompt_read_and_are_untrusted_until_an_entry_names_their_kind(
    name: str, effect: str, labels: tuple[str, ...]
) -> None:
    made = compiled(f't: {{ mcp: "{name}" }}').plan.tools["t"]
    assert isinstance(made, McpTool)
    assert (made.terms.effect, made.labels) == (effect, labels)
    assert made.terms.retries == 2


def test_a_group_has_resources_and_prompts_only_by_a_glob_of_their_kind() -> None:
    plan = compiled('hub: { mcp: hub, include: ["search_c*", "prompt:*"] }', "tools: [hub]").plan
    assert list(plan.tools) == ["hub_search_code", "hub_prompt_search_well"]
    plan = compiled('hub: { mcp: hub, include: ["*_c*", "resource:*_help"] }', "tools: [hub]").plan
    assert list(plan.tools) == ["hub_search_code", "hub_resource_search_help"]


def test_the_uri_of_a_resource_belongs_to_its_contract_and_a_tool_has_none() -> None:
    one, other = tool("resource:a", uri="a://1"), tool("resource:a", uri="a://2")
    assert digest_of_tool(one) != digest_of_tool(other)
    assert "uri" not in tool("a").model_dump()
    assert ServerTool.model_validate(one.model_dump()) == one


def test_another_listing_is_another_contract() -> None:
    before = digest_of_tool(tool("a", description="Adds."))
    assert digest_of_tool(tool("a", description="Adds")) != before
    assert digest_of_tool(tool("a", description="Adds.", hints={"x": True})) != before
    turned = {key: QUERY[key] for key in reversed(QUERY)}
    assert digest_of_tool(tool("a", description="Adds.", input_schema=turned)) == before


def test_a_group_offers_the_tools_that_match() -> None:
    plan = compiled("hub: { mcp: hub, include: [search_*, del*] }", "tools: [hub]").plan
    assert list(plan.tools) == ["hub_search_code", "hub_search_issues", "hub_delete"]
    assert plan.personas["actor"].tools == tuple(plan.tools)
    assert plan.tools["hub_delete"].made_of == "hub/delete"


def test_a_tool_of_its_own_takes_the_place_of_a_member() -> None:
    tools = (
        "hub: { mcp: hub, include: [search_c*, delete], requires_approval: true }\n"
        "hub_search_code: { mcp: hub/search_code, description: Mine. }"
    )
    plan = compiled(tools, "tools: [hub]").plan
    assert plan.tools["hub_search_code"].description == "Mine."
    assert plan.tools["hub_search_code"].requires_approval is False
    assert plan.tools["hub_delete"].requires_approval is True
    assert plan.personas["actor"].tools == ("hub_search_code", "hub_delete")


def test_a_persona_may_exclude_a_member() -> None:
    persona = "tools: [hub], exclude_tools: [hub_delete]"
    plan = compiled("hub: { mcp: hub, include: [search_c*, delete] }", persona).plan
    assert plan.personas["actor"].tools == ("hub_search_code",)


def test_two_members_of_one_name_are_told_apart() -> None:
    tools = compiled("hub: { mcp: hub }", "tools: [hub]").plan.tools
    issues = {name: one.made_of for name, one in tools.items() if "issues" in name}
    assert issues == {
        "hub_search_issues": "hub/search.issues",
        "hub_search_issues_afd834a1": "hub/search_issues",
    }


def test_a_long_name_of_a_member_is_shortened_alone() -> None:
    made = compiled("hub: { mcp: long }", "tools: [hub]").plan
    assert set(made.personas["actor"].tools) == set(made.tools)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in made.tools)
    assert {one.made_of for one in made.tools.values()} == {f"long/{one.name}" for one in LONG}


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("{ mcp: hud/x }", ("E204", 14, 13, "unknown MCP server 'hud'")),
        ("{ mcp: hub/serch_code }", ("E204", 14, 13, "unknown MCP tool 'hub/serch_code'")),
        ("{ mcp: books }", ("E204", 14, 13, "the MCP server 'books' has no tools")),
        ("{ mcp: hub, include: [find_*] }", ("E204", 14, 28, "unknown MCP tool 'find_*'")),
        (
            "{ mcp: bare/x }",
            (
                "E509",
                14,
                13,
                "the tools of the MCP server 'bare' are not known: nobody has listed them yet",
            ),
        ),
        (
            "{ mcp: moved/delete }",
            (
                "E509",
                14,
                13,
                "the tools of the MCP server 'moved' are not known: its `command` or `url` has "
                "changed since somebody listed them",
            ),
        ),
        (
            "{ mcp: hub/delete, retries: 2 }",
            ("E107", 14, 25, "a call of 't' must not happen twice, so it is never retried"),
        ),
        (
            "{ mcp: hub/delete, cache: run }",
            (
                "E107",
                14,
                25,
                "`cache: run` would leave out calls of 't', and they have an effect ('once')",
            ),
        ),
        (
            "{ mcp: hub/delete, include: [a] }",
            (
                "E107",
                14,
                25,
                "`include` chooses tools of a whole MCP server, and 't' is one tool",
            ),
        ),
        (
            "{ mcp: hub, include: [delete], description: X. }",
            (
                "E107",
                14,
                37,
                "`description` has no effect: 't' stands for several tools, and each has its own",
            ),
        ),
        (
            "{ mcp: hub/delete, fixed: { pag: 1 } }",
            ("E213", 14, 34, "hub/delete takes no input 'pag'"),
        ),
    ],
)
def test_a_mistake_is_reported_at_its_place(written: str, found: tuple[str, int, int, str]) -> None:
    assert problems(f"t: {written}") == [found]


def test_a_step_calls_a_member_and_no_group() -> None:
    step = 'work2: { tasks: [{ name: s, type: tool, tool: %s, arguments: { query: "x" } }] }'
    tools = "hub: { mcp: hub, include: [delete] }"
    text = f"orchestration: {{ teams: {{ {step} }} }}"
    known = CAPABILITIES.model_copy(update={"server_listings": LISTINGS})
    said = "'hub' stands for several tools of an MCP server, and a step calls one"
    for name, wrong in (("hub", [said]), ("hub_delete", [])):
        base = BASE % ("tools: [hub]", f"  {tools}\n")
        sources = [SourceText("team.yml", base), SourceText("w.yml", WORKER)]
        sources.append(SourceText("more.yml", text % name))
        try:
            found: list[str] = []
            compile_sources(sources, known, name="t")
        except InvalidDocument as error:
            found = [one.message for one in error.problems]
        assert found == wrong


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ("{}", "an MCP server has one of `command` and `url`"),
        ("{ command: [a], url: 'https://a.example' }", "one of `command` and `url`"),
        ("{ url: 'https://a.example', env: [A] }", "`env` is for a command"),
        ("{ command: [a], token_env: A }", "`headers` and `token_env` are for a `url`"),
        ("{ url: 'https://ann:pw@a.example/' }", "url"),
        ("{ command: [a], tools: { x: { retries: 3 } } }", "`retries` needs `effect: read`"),
    ],
)
def test_a_server_is_a_command_or_an_address(server: str, said: str) -> None:
    text = f"worker: {{ mcp_servers: {{ a: {server} }} }}"
    sources = [SourceText("team.yml", BASE % ("name: a", "  {}\n")), SourceText("w.yml", text)]
    with pytest.raises(InvalidDocument) as caught:
        compile_sources(sources, CAPABILITIES, name="test")
    assert any(said in f"{one.message} {one.allowed} {one.path}" for one in caught.value.problems)


def warnings(tools: str, persona: str, code: str = "W527") -> list[str]:
    found = compiled(tools, persona).warnings
    return [one.message for one in found if one.code == code]


NAMES = "a property whose name has other characters than letters, digits, `_`, `.` and `-`"
ARRAYS = "an array without `items`"


@pytest.mark.parametrize(
    ("provider", "found"),
    [
        ("anthropic", [("Anthropic refuses", NAMES)]),
        ("openai", [("OpenAI refuses", ARRAYS)]),
        ("scripted", []),
    ],
)
def test_a_schema_is_warned_of_for_the_vendor_of_its_persona(
    provider: str, found: list[tuple[str, str]]
) -> None:
    said = warnings("t: { mcp: long/short }", f"provider: {provider}, model: m, tools: [t]")
    assert said == [
        f"{who} a schema with {what}: t; models see them rewritten, and calls get the tool's own "
        "names"
        for who, what in found
    ]


def test_a_rewritten_schema_is_in_the_plan_beside_the_tools_own() -> None:
    made = compiled("t: { mcp: long/short }").plan.tools["t"]
    assert made.input_schema is not None
    assert made.offered_schema is not None
    assert "$top" in str(made.input_schema["properties"])
    assert list(made.offered_schema["properties"]) == ["top", "rows"]  # pyright: ignore


@pytest.mark.parametrize(("provider", "offered"), [("openai", 128), ("anthropic", 144)])
def test_tools_beyond_what_a_vendor_takes_are_left_out_by_name(provider: str, offered: int) -> None:
    keys = "tools: [hub], tool_policy: [{ tool: hub_number139, min_calls: 1 }], tool_search: never"
    persona = f"provider: {provider}, model: m, {keys}"
    tools = compiled("hub: { mcp: long }", persona).plan.personas["actor"].tools
    assert len(tools) == offered
    assert "hub_number139" in tools
    said = [one for one in warnings("hub: { mcp: long }", persona) if "128 tools" in one]
    assert len(said) == (1 if provider == "openai" else 0)
    if said:
        assert "so 'actor' does not offer 16 of its own: hub_number123, hub_number124" in said[0]
