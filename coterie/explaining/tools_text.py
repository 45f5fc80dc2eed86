"""Tools, MCP tools and tool functions as text: a table of all, and the contract of one."""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coterie.dsl.json_schema.argument_schemas import arguments_schema
from coterie.dsl.model.capabilities import (
    FunctionContract,
    KeptLabel,
    Label,
    ServerContract,
    TemporalContract,
)
from coterie.dsl.model.decision_terms import call_approval
from coterie.dsl.model.memory_terms import MEMORY_FUNCTIONS, MemorySection
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.tool_contract import NestedTool, OneCallTool, ServerOffer, Tool
from coterie.dsl.model.tools.tool_section import ToolKind
from coterie.dsl.values import Json
from coterie.text.columns import aligned
from coterie.text.durations import duration


class ListedTool(NamedTuple):
    """A tool of a document, or a tool function that any document may make a tool of."""

    name: str
    kind: ToolKind
    source: str
    """The function, the server's tool, the agent or the team; empty if that is the row itself."""
    description: str
    effect: str
    timeout: float | None
    retries: int
    labels: tuple[Label, ...]
    grants: tuple[KeptLabel, ...]
    """Labels that ask nobody about its calls, though they send data out."""
    approval: str
    """`before`, `after`, or empty."""
    input_schema: Json
    output_schema: Json | None
    fixed: Json
    contract: str = ""
    listing: str = ""
    """Of a tool of a server: the digest of what it listed."""
    local_activity: bool = False
    """Whether its calls are local activities."""
    max_result: int | None = None
    """Characters of a result that a model gets; None for a share of its context window."""
    memory: str = ""
    """Whose memory its calls use, for people; empty for a tool function without one."""

    @property
    def made_of(self) -> str:
        """What it is made of, for people: `tool function Discovery.collect`."""
        kind = "tool function" if self.kind == "skill" else self.kind
        return f"{kind} {self.source}".rstrip()

    def as_dict(self) -> Json:
        """Return it as JSON."""
        data = self._asdict()
        data |= {"labels": [*self.labels], "grants": [*self.grants]}
        del data["kind"], data["source"]
        return {"name": self.name, "made_of": self.made_of, **data}


def tool_listing(
    plan: Plan | None,
    functions: Mapping[str, FunctionContract],
    servers: Mapping[str, ServerContract | TemporalContract],
) -> list[ListedTool]:
    """Return the tools of a plan in the order of the document, then all others by name.

    Args:
        plan: Of the document, if there is one.
        functions: All tool functions.
        servers: The tools of MCP servers and HTTP APIs, and what already runs on Temporal.
    """
    contracts = {**functions, **servers}
    own = (
        []
        if plan is None
        else [_of_tool(name, tool, contracts) for name, tool in plan.tools.items()]
    )
    function_rows = [_of_function(functions[name]) for name in sorted(functions)]
    return [*own, *(_of_server(servers[name]) for name in sorted(servers)), *function_rows]


def _of_tool(name: str, tool: Tool, functions: Mapping[str, FunctionContract]) -> ListedTool:
    approval = call_approval(tool.requires_approval)
    terms = tool.terms if isinstance(tool, OneCallTool) else None
    contract = None if terms is None else functions.get(tool.made_of)
    schema = tool.input_schema
    if schema is None and contract is not None:
        schema = arguments_schema(contract.input_schema, tool.fixed)
    return ListedTool(
        name,
        tool.kind,
        tool.made_of,
        tool.description,
        tool.effect if terms is not None else "",
        tool.timeout if isinstance(tool, NestedTool) else tool.terms.timeout,
        tool.retries if isinstance(tool, NestedTool) else tool.terms.retries,
        tool.labels,
        tool.grants,
        "" if approval is None else approval.at,
        schema or {},
        tool.output_schema if isinstance(tool, NestedTool) else contract and contract.output_schema,
        tool.fixed,
        tool.contract,
        tool.listing if isinstance(tool, ServerOffer) else "",
        terms is not None and terms.local_activity,
        tool.max_result,
        "" if terms is None else _memory(tool.made_of, terms.memory),
    )


def _memory(function: str, memory: MemorySection | None) -> str:
    if function not in MEMORY_FUNCTIONS:
        return ""
    terms = memory or MemorySection()
    ends = "" if terms.expires is None else f", for {duration(terms.expires)}"
    return f"{terms.scope}{ends}"


def _of_server(contract: ServerContract | TemporalContract) -> ListedTool:
    listing = contract.listing if isinstance(contract, ServerContract) else ""
    return _of_function(contract)._replace(kind=contract.kind, listing=listing)


def _of_function(contract: FunctionContract) -> ListedTool:
    return ListedTool(
        contract.name,
        "skill",
        "",
        contract.description,
        contract.effect,
        contract.timeout,
        contract.retries,
        contract.labels,
        (),
        "",
        contract.input_schema,
        contract.output_schema,
        {},
        local_activity=contract.local_activity,
    )


def tools_table(tools: Iterable[ListedTool]) -> str:
    """Return one line for each tool."""
    rows = [
        (tool.name, tool.made_of, tool.effect, ", ".join(tool.labels), tool.description)
        for tool in tools
    ]
    return "\n".join(aligned([("name", "made of", "effect", "labels", "description"), *rows]))


def tool_text(tool: ListedTool) -> str:
    """Return the contract of one tool."""
    limit = "none" if tool.timeout is None else duration(tool.timeout)
    facts = {
        "made of": tool.made_of,
        "effect": tool.effect,
        "timeout": f"{limit}, {tool.retries} retries",
        "labels": ", ".join(tool.labels),
        "grants": ", ".join(tool.grants),
        "approval": tool.approval,
        "local activity": "yes" if tool.local_activity else "",
        "memory": tool.memory,
        "max result": "" if tool.max_result is None else f"{tool.max_result:,} characters",
        "contract": tool.contract,
    }
    lines = [tool.name, f"  {tool.description}", ""]
    lines += [f"  {line}" for line in aligned([(k, v) for k, v in facts.items() if v])]
    if tool.fixed:
        lines += ["", "fixed", _json(tool.fixed)]
    lines += ["", "input", _json(tool.input_schema)]
    if tool.output_schema is not None:
        lines += ["", "output", _json(tool.output_schema)]
    return "\n".join(lines)


def _json(value: Json) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "\n".join(f"  {line}" for line in text.splitlines())
