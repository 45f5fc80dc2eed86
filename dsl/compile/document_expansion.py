"""What a document declares, expanded: names beside those of the worker, and tools.

`{mcp: server}` and `{api: server}` become a tool for each tool of that server, and each subagent
becomes a tool. Nothing connects to a server here: its tools come from a recorded listing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from coterie.dsl.checks.tools.tool_names import subagents_of
from coterie.dsl.compile.server_offers import server_of, with_servers
from coterie.dsl.compile.temporal_offers import with_temporal_calls
from coterie.dsl.egress.channel_labels import open_commands
from coterie.dsl.model.capabilities import (
    Capabilities,
    Reach,
    ServerContract,
    ServerKind,
    ServerState,
)
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.sections.worker_document import sandbox_mode
from coterie.dsl.model.tools.tool_groups import is_included, member_name
from coterie.dsl.model.tools.tool_section import (
    AgentToolSection,
    ApiToolSection,
    McpToolSection,
    ServerGroupSection,
    ServerToolSection,
)
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import NodePath


def with_declarations(capabilities: Capabilities, document: SystemDocument) -> Capabilities:
    """Return the capabilities with the document's own providers, commands, servers and channels."""
    update: dict[str, object] = {}
    if document.worker is not None:
        commands = capabilities.commands or ()
        own = document.worker.commands
        once = (name for name, command in own.items() if command.once)
        update["commands"] = tuple(dict.fromkeys((*commands, *own)))
        update["once_commands"] = (*capabilities.once_commands, *once)
        mode = sandbox_mode(document.worker.sandbox)
        sandboxed = mode == "bubblewrap" or (mode == "auto" and capabilities.sandboxed)
        reach = capabilities.reach
        update["reach"] = Reach(
            commands=(*reach.commands, *open_commands(own, sandboxed=sandboxed)),
            offline_tools=(*reach.offline_tools, *document.worker.offline_tools),
            trusted_paths=(*reach.trusted_paths, *document.worker.trusted_paths),
        )
        if document.worker.mcp_servers or document.worker.apis:
            servers, apis = document.worker.mcp_servers, document.worker.apis
            capabilities = with_servers(capabilities, servers, apis)
        if on_temporal := document.worker.on_temporal:
            capabilities = with_temporal_calls(capabilities, on_temporal)
        if document.worker.notify:
            channels = (*(capabilities.channels or ()), *document.worker.notify)
            update["channels"] = tuple(dict.fromkeys(channels))
    if not capabilities.decides:
        update |= {"commands": None, "channels": None}
    providers = (*capabilities.providers, *document.llm_config.providers)
    update["providers"] = tuple(dict.fromkeys(providers))
    return capabilities.model_copy(update=update)


def with_server_tools(
    document: SystemDocument, capabilities: Capabilities, tree: Node, problems: Problems
) -> tuple[SystemDocument, Node]:
    """Return the document and its tree with a tool for each member of a group.

    A tool that the document declares under a member's name takes its place.
    """
    expansion = _Expansion(capabilities, tree, problems)
    tools = dict(document.tools)
    nodes = dict(tree.find(("tools",)).entries())
    for name, section in document.tools.items():
        if isinstance(section, ServerToolSection):
            expansion.check_one(name, section)
        if not isinstance(section, ServerGroupSection):
            continue
        contracts = expansion.tools_of(section, ("tools", name, section.kind))
        for tool, contract in expansion.members(name, section, contracts):
            member = member_name(name, tool)
            if member in document.tools:
                continue
            if member in tools:
                member = member_name(name, tool, taken=True)
            shared: dict[str, Any] = {key: value for key, value in section if key != "include"}
            own = {section.kind: contract.name, "description": ""}
            model = McpToolSection if section.kind == "mcp" else ApiToolSection
            tools[member] = model.model_construct(None, **shared | own)
            nodes[member] = nodes[name]
    if len(tools) == len(document.tools):
        return document, tree
    tools_node = tree.find(("tools",)).with_value(nodes)
    expanded = tree.with_value({**tree.entries(), "tools": tools_node})
    return document.model_copy(update={"tools": tools}), expanded


@rule("E208")
def subagent_named_like_tool(name: str) -> ProblemText:
    return ProblemText(
        f"the subagent {name!r} would be a tool of that name, and the document has another one",
        fix=f"rename the tool {name!r} of the document, or offer the agent by a tool of its own",
    )


def with_subagents(
    document: SystemDocument, tree: Node, problems: Problems
) -> tuple[SystemDocument, Mapping[str, NodePath]]:
    """Return the document with a tool for each subagent, and `{tool: where it is written}`."""
    tools = dict(document.tools)
    paths: dict[str, NodePath] = {name: ("tools", name) for name in tools}
    for key, path in subagents_of(document):
        persona = document.llm_config.personas.get(key)
        section = document.tools.get(key)
        if section is not None and (section.kind, section.made_of) != ("agent", key):
            details = subagent_named_like_tool(key)
            problems.report(details, tree.value_at(path))
        elif persona is not None and key not in tools:
            tools[key] = AgentToolSection(agent=key, description=persona.description or "")
            paths[key] = path
    return document.model_copy(update={"tools": tools}), paths


@rule("E509")
def server_not_listed(server: str, state: ServerState) -> ProblemText:
    what = {"mcp": "the tools of the MCP server", "api": "the operations of the API"}[state.kind]
    where = {"mcp": "its `command` or `url`", "api": "its `server`, `openapi` or `include`"}
    why = {
        "unlisted": "nobody has listed them yet",
        "moved": f"{where[state.kind]} has changed since somebody listed them",
        "changed": f"its document has changed since somebody listed them ({_cut(state.changes)})",
    }
    return ProblemText(
        f"{what} {server!r} are not known: {why[state.is_listed]}",
        fix=f"run `coterie tools refresh {server}`",
    )


def _cut(changes: Sequence[str]) -> str:
    more = len(changes) - _MAX_CHANGES
    return "; ".join((*changes[:_MAX_CHANGES], *([f"and {more} more"] if more > 0 else [])))


@rule("E204")
def server_without_tools(server: str, kind: ServerKind) -> ProblemText:
    if kind == "api":
        return ProblemText(
            f"the API {server!r} has no operations",
            fix=f"check its document, then run `coterie tools refresh {server}`",
        )
    return ProblemText(
        f"the MCP server {server!r} has no tools",
        fix=f"check the server, then run `coterie tools refresh {server}`",
    )


@rule("E107")
def group_described(name: str) -> ProblemText:
    return ProblemText(
        f"`description` has no effect: {name!r} stands for several tools, and each has its own",
        fix="remove `description`, or declare one of the tools on its own",
        edit=Remove("description"),
    )


class _Words(NamedTuple):
    """How a server of a kind, and what it offers, are called."""

    server: str
    tool: str


_WORDS: Mapping[str, _Words] = {
    "mcp": _Words("MCP server", "MCP tool"),
    "api": _Words("API", "operation"),
}
_MAX_CHANGES = 5


class _Expansion:
    """Looks up the tools of configured servers, and notes what is wrong."""

    def __init__(self, capabilities: Capabilities, tree: Node, problems: Problems) -> None:
        self.capabilities = capabilities
        self.tree = tree
        self.problems = problems

    def tools_of(
        self, section: ServerToolSection | ServerGroupSection, path: NodePath
    ) -> Sequence[ServerContract] | None:
        """Return the tools of a server; None, and a problem, if they are not known."""
        server = server_of(section.made_of)
        kind = "mcp" if section.kind == "mcp" else "api"
        states = self.capabilities.server_states
        state = states.get(server)
        if state is None or state.kind != kind:
            names = [name for name, known in states.items() if known.kind == kind]
            what = _WORDS[kind].server
            unknown(self.problems, self.tree.value_at(path), what, server, names)
            return None
        if state.is_listed != "listed":
            self.problems.report(server_not_listed(server, state), self.tree.value_at(path))
            return None
        tools = self.capabilities.server_tools
        return [tool for name, tool in tools.items() if server_of(name) == server]

    def check_one(self, name: str, section: ServerToolSection) -> None:
        """Note a single tool that its server does not have."""
        path: NodePath = ("tools", name, section.kind)
        contracts = self.tools_of(section, path)
        names = None if contracts is None else [contract.name for contract in contracts]
        if names is not None and section.made_of not in names:
            what = _WORDS[section.kind].tool
            unknown(self.problems, self.tree.value_at(path), what, section.made_of, names)

    def members(
        self, name: str, section: ServerGroupSection, contracts: Sequence[ServerContract] | None
    ) -> Iterator[tuple[str, ServerContract]]:
        """Yield each member of a group by its own name; note globs that match nothing."""
        if section.description:
            path: NodePath = ("tools", name, "description")
            self.problems.report(group_described(name), self.tree.key_at(path))
        if contracts is None:
            return
        plain = {contract.name.partition("/")[2]: contract for contract in contracts}
        if not plain or not (section.include or any(is_included(section, tool) for tool in plain)):
            path = ("tools", name, section.kind)
            details = server_without_tools(
                section.made_of, "mcp" if section.kind == "mcp" else "api"
            )
            self.problems.report(details, self.tree.value_at(path))
        for index, pattern in enumerate(section.include):
            alone = section.model_copy(update={"include": (pattern,)})
            if not any(is_included(alone, tool) for tool in plain):
                path = ("tools", name, "include", index)
                what = _WORDS[section.kind].tool
                unknown(self.problems, self.tree.value_at(path), what, pattern, plain)
        for tool, contract in plain.items():
            if is_included(section, tool):
                yield tool, contract
