"""`coterie tools`: list the tools of a document and of the worker, show one, call it; refresh."""

import json
from argparse import ArgumentParser, Namespace
from shlex import quote

from coterie.argument_values import json_object
from coterie.display.terminal_call import call_from_terminal
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.product_capabilities import capabilities, works_here
from coterie.documents.server_listings import compared_listings
from coterie.documents.tool_packages import known_functions
from coterie.documents.trusted_catalog import trusted_catalog, trusted_document
from coterie.documents.worker_trust import TrustedConfig, resolved
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.compile.server_offers import with_servers
from coterie.dsl.compile.temporal_offers import with_temporal_calls
from coterie.dsl.egress.channel_labels import call_labels
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.capabilities import Capabilities
from coterie.explaining.tools_text import ListedTool, tool_listing, tool_text, tools_table
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.terminal import say
from coterie.worker.tool_refresh import refresh_listings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("list", "show", "call", "refresh"), help="what to do")
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a tool, a tool function (Name.method) or a tool of a server (server/tool); for "
        "`refresh` an MCP server or HTTP API, default: all",
    )
    parser.add_argument(
        "--of",
        dest="target",
        metavar="TEAM_OR_FILE",
        help="the document with the tools; default: what the worker offers",
    )
    parser.add_argument(
        "--arguments", default="{}", metavar="JSON", help="the arguments of a call, a JSON object"
    )
    parser.add_argument(
        "--workspace", metavar="FOLDER", help="the folder that tool functions may touch, for `call`"
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not ask before a call that must not happen twice"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """List, show, call or refresh."""
    catalog = Catalog(settings)
    if args.action == "refresh":
        return _refresh(args, catalog, settings)
    compiled = None
    if args.target is not None:
        compiled = compile_located(catalog, catalog.locate(args.target))
    trusted = _trusted_config(args, compiled, catalog, settings)
    functions = known_functions(settings, trusted.tool_packages)
    listed = capabilities(functions=functions, server_listings=compared_listings(settings))
    labelled = _with_labels(listed, trusted, settings)
    offered = with_servers(labelled, trusted.mcp_servers, trusted.apis)
    offered = with_temporal_calls(offered, trusted.on_temporal)
    plan = None if compiled is None else compiled.plan
    others = {**offered.server_tools, **offered.temporal_calls}
    tools = tool_listing(plan, offered.functions, others)
    if args.action == "list":
        say(
            _json([listed_tool.as_dict() for listed_tool in tools])
            if args.json
            else tools_table(tools)
        )
        return ExitCode.DONE
    tool = _tool_by_name(args.name, args.action, tools)
    if args.action == "show":
        say(_json(tool.as_dict()) if args.json else tool_text(tool))
        return ExitCode.DONE
    say(_json(_call(tool, args, trusted, settings)))
    return ExitCode.DONE


def _with_labels(
    known_capabilities: Capabilities, trusted: TrustedConfig, settings: Settings
) -> Capabilities:
    """Return the capabilities with the labels that calls of tool functions have on this worker."""
    mode = trusted.sandbox.mode
    is_sandboxed = not trusted.commands or mode == "bubblewrap"
    reach = trusted.reach(sandboxed=is_sandboxed or (mode == "auto" and works_here(settings)))
    functions = {
        name: function.model_copy(update={"labels": call_labels(function, None, reach)})
        for name, function in known_capabilities.functions.items()
    }
    return known_capabilities.model_copy(update={"functions": functions})


def _refresh(args: Namespace, catalog: Catalog, settings: Settings) -> ExitCode:
    """Ask MCP servers for their tools anew; the document need not compile yet."""
    if args.target is None:
        trusted = trusted_catalog(settings, catalog, args.workspace)
    else:
        trusted = trusted_document(
            settings, catalog.sources(catalog.locate(args.target)), args.workspace
        )
    listings = refresh_listings(trusted, settings, () if args.name is None else (args.name,))
    if args.json:
        say(_json([listing.as_dict() for listing in listings]))
    else:
        say("\n".join(line for listing in listings for line in listing.lines()))
    return ExitCode.DONE if all(listing.is_whole for listing in listings) else ExitCode.RUN_FAILED


def _trusted_config(
    args: Namespace, compiled: Compiled | None, catalog: Catalog, settings: Settings
) -> TrustedConfig:
    if compiled is None:
        return trusted_catalog(settings, catalog, args.workspace)
    return resolved(compiled.worker, compiled.providers, compiled.tree, settings, args.workspace)


def _tool_by_name(name: str | None, action: str, tools: list[ListedTool]) -> ListedTool:
    """Return the tool of that name; a document's own comes before a tool function."""
    if name is None:
        example = f": coterie tools {quote(action)} {quote(tools[0].name)}" if tools else ""
        raise CommandError(f"name the tool{example}")
    match = next((tool for tool in tools if tool.name == name), None)
    if match is None:
        names = [tool.name for tool in tools]
        full = next((full_name for full_name in names if full_name.endswith(f":{name}")), None)
        hint = nearest(name, names) if full is None else f"did you mean {full!r}?"
        raise CommandError(f"unknown tool {name!r}; known: {listed(names)}. {hint}".rstrip(". "))
    return match


def _call(
    tool: ListedTool,
    args: Namespace,
    trusted: TrustedConfig,
    settings: Settings,
) -> object:
    if tool.kind not in ("skill", "mcp", "api"):
        raise CommandError(
            f"{tool.name!r} is made of the {tool.kind} {tool.source!r}, which only a run can call; "
            "run a team that uses it with `coterie run`"
        )
    text = "{}" if args.arguments.strip() == "null" else args.arguments
    arguments = json_object("--arguments", text, '{"path": "src"}')
    return call_from_terminal(tool, arguments, trusted, settings, yes=args.yes)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
