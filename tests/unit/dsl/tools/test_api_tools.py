"""Operations of HTTP APIs in documents: names, groups, contracts, and what is wrong with them."""

import json

import pytest

from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import Effect, Label, ServerListing, ServerTool
from coterie.dsl.model.sections.api_document import ApiSection, digest_of_api
from coterie.dsl.model.sections.mcp_document import digest_of_tool
from coterie.dsl.model.tools.tool_contract import ApiTool
from coterie.dsl.values import Json
from tests.support.compiling import CAPABILITIES

SHOP: dict[str, object] = {"server": "https://shop.example/v1", "openapi": "docs/shop.yaml"}
TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    actor: { prompts: { user: Act. }, tools: [t] }
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - { name: act, persona_key: actor }
tools:
  t: { %s }
"""


def operation(name: str, method: str, path: str = "/orders", *arguments: str) -> ServerTool:
    return ServerTool.model_validate(
        {
            "name": name,
            "description": f"Does {name}.",
            "input_schema": {
                "type": "object",
                "properties": {argument: {"type": "string"} for argument in arguments},
                "required": [*arguments],
                "additionalProperties": False,
            },
            "request": {
                "method": method,
                "path": path,
                "parameters": [
                    {"name": argument, "place": "query", "argument": argument}
                    for argument in arguments
                ],
            },
        }
    )


OPERATIONS = (
    operation("list", "GET"),
    operation("find", "GET", "/orders", "key", "words"),
    operation("look", "HEAD", "/orders", "id"),
    operation("replace", "PUT", "/orders", "id"),
    operation("delete", "DELETE", "/orders", "id"),
    operation("create", "POST"),
    operation("change", "PATCH", "/orders", "id"),
)


def compiled(
    tool: str, shop: dict[str, object] = SHOP, *, changes: tuple[str, ...] = (), **more: object
) -> Compiled:
    configuration = digest_of_api(ApiSection.model_validate(SHOP))
    listing = ServerListing(configuration=configuration, tools=OPERATIONS, changes=changes)
    known = CAPABILITIES.model_copy(update={"server_listings": {"shop": listing}})
    worker = {"worker": {"apis": {"shop": shop}, **more}}
    sources = [SourceText("t.yml", TEAM % tool), SourceText("coterie.yml", json.dumps(worker))]
    return compile_sources(sources, known, name="test")


def made(tool: str, shop: dict[str, object] = SHOP, name: str = "t") -> ApiTool:
    found = compiled(tool, shop).plan.tools[name]
    assert isinstance(found, ApiTool)
    return found


@pytest.mark.parametrize(
    ("name", "effect", "retries", "labels"),
    [
        ("list", "read", 2, ("untrusted",)),
        ("find", "read", 2, ("untrusted", "egress")),
        ("look", "read", 2, ("untrusted", "egress")),
        ("replace", "idempotent", 2, ("untrusted", "egress")),
        ("delete", "idempotent", 2, ("untrusted", "egress")),
        ("create", "once", 0, ("untrusted", "egress")),
        ("change", "once", 0, ("untrusted", "egress")),
    ],
)
def test_the_method_gives_the_effect_of_an_operation(
    name: str, effect: Effect, retries: int, labels: tuple[Label, ...]
) -> None:
    tool = made(f"api: shop/{name}")
    assert (tool.effect, tool.terms.retries, tool.labels) == (effect, retries, labels)
    assert tool.terms.timeout == 30
    assert tool.description == f"Does {name}."
    assert tool.listing == digest_of_tool(next(one for one in OPERATIONS if one.name == name))


@pytest.mark.parametrize(
    ("terms", "effect", "retries"),
    [
        ({"effect": "read"}, "read", 2),
        ({"effect": "idempotent", "retries": 5}, "idempotent", 5),
        ({"key_header": "Idempotency-Key"}, "idempotent", 2),
        ({"effect": "once", "key_header": "Idempotency-Key"}, "once", 0),
    ],
)
def test_the_worker_says_another_effect(
    terms: dict[str, object], effect: Effect, retries: int
) -> None:
    tool = made("api: shop/create", {**SHOP, "tools": {"cre*": {**terms, "labels": ["private"]}}})
    assert (tool.effect, tool.terms.retries, tool.labels) == (effect, retries, ("private",))


def test_what_the_worker_gives_is_no_argument() -> None:
    tool = made("api: shop/find", {**SHOP, "query": {"key": "SHOP_KEY"}})
    assert tool.input_schema is not None
    assert tool.input_schema["properties"] == {"words": {"type": "string"}}
    assert tool.input_schema["required"] == ["words"]


def test_the_header_of_the_key_is_no_argument() -> None:
    pay = {"path": "/pay/{id}", "method": "POST", "headers": {"idempotency-key": "{key}"}}
    terms = {"pay": {"key_header": "Idempotency-Key"}}
    tool = made("api: shop/pay", {**SHOP, "calls": {"pay": pay}, "tools": terms})
    assert tool.input_schema is not None
    assert tool.input_schema["required"] == ["id"]


def test_a_group_has_its_operations_and_declared_calls() -> None:
    calls: dict[str, object] = {"list": {"path": "/all"}, "pack": {"path": "/pack/{id}"}}
    plan = compiled("api: shop, include: [list, pack]", {**SHOP, "calls": calls}).plan
    assert [*plan.tools] == ["t_list", "t_pack"]
    listing = plan.tools["t_list"]
    assert isinstance(listing, ApiTool)
    assert listing.api == "shop/list"
    assert listing.listing != digest_of_tool(OPERATIONS[0])  # the declared call takes its place


def test_declared_calls_need_no_listing() -> None:
    shop: Json = {"server": "https://other.example", "calls": {"pack": {"path": "/pack/{id}"}}}
    tool = made("api: shop/pack", {**shop})
    assert tool.input_schema is not None
    assert tool.input_schema["required"] == ["id"]
    with pytest.raises(InvalidDocument, match="unknown operation 'shop/list'"):
        compiled("api: shop/list", {**shop})


@pytest.mark.parametrize(
    ("tool", "shop", "code", "said"),
    [
        ("api: shap/list", SHOP, "E204", "unknown API 'shap'"),
        ("mcp: shop/list", SHOP, "E204", "unknown MCP server 'shop'"),
        ("api: shop/lost", SHOP, "E204", "unknown operation 'shop/lost'"),
        ("api: shop, include: [lost*]", SHOP, "E204", "unknown operation 'lost*'"),
        (
            "api: shop/list, include: [a]",
            SHOP,
            "E107",
            "`include` chooses tools of a whole API, and 't' is one tool",
        ),
        (
            "api: shop",
            {**SHOP, "server": "https://evil.example"},
            "E509",
            "its `server`, `openapi` or `include` has changed since somebody listed them",
        ),
        ("api: shop", {**SHOP, "openapi": "new.yaml"}, "E509", "has changed since somebody listed"),
        (
            "api: shop",
            {"server": "https://a.example"},
            "E103",
            "has `openapi`, `calls`, both, or `agent`",
        ),
        (
            "api: shop",
            {**SHOP, "token_env": "A", "basic_env": "B"},
            "E103",
            "one of `token_env` and `basic_env`",
        ),
        (
            "api: shop",
            {**SHOP, "calls": {"a": {"path": "/a", "query": {"q": "x{b}"}}}},
            "E103",
            "`{b}` is the whole value",
        ),
        (
            "api: shop",
            {**SHOP, "calls": {"a": {"path": "/a", "input_schema": {"b": {"type": "string"}}}}},
            "E103",
            "`b` stands nowhere",
        ),
    ],
)
def test_a_wrong_api_is_reported(tool: str, shop: dict[str, object], code: str, said: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        compiled(tool, shop)
    assert code in {one.code for one in caught.value.problems}
    assert said in " ".join(map(str, caught.value.problems))


def test_a_changed_document_is_refused_with_the_difference() -> None:
    changes = ('list: request.method: "GET" -> "POST"', *(f"n{n}: added" for n in range(6)))
    with pytest.raises(InvalidDocument) as caught:
        compiled("api: shop/list", changes=changes)
    (problem,) = caught.value.problems
    assert (problem.code, problem.line) == ("E509", 14)
    assert 'has changed since somebody listed them (list: request.method: "GET"' in problem.message
    assert "n3: added; and 2 more)" in problem.message
    assert problem.fix == "run `coterie tools refresh shop`"


def test_an_api_and_an_mcp_server_have_different_names() -> None:
    with pytest.raises(InvalidDocument) as caught:
        compiled("api: shop", mcp_servers={"shop": {"command": ["shop"]}})
    assert "an API and an MCP server cannot both be `shop`" in str(caught.value.problems[0])


@pytest.mark.parametrize(
    "server",
    ["ftp://a.example", "https://a@b.example", "https://a.example?x", "https://{h}.example", "a"],
)
def test_a_server_is_a_whole_address_without_credentials_and_variables(server: str) -> None:
    with pytest.raises(InvalidDocument):
        compiled("api: shop", {**SHOP, "server": server})
