"""`coterie tools`: list the tools of a document and the worker's skills, show one, or call it."""

import json
from argparse import ArgumentParser, Namespace
from typing import cast

from coterie.display.called_tool import CalledTool, call_from_terminal
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.tool_packages import known_skills, packages_in
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.documents.worker_trust import resolved
from coterie.explaining.tools_text import ListedTool, listed_tools, tool_text, tools_table
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.terminal import say
from dsl.compile.compiler import Compiled
from dsl.errors import listed, nearest
from dsl.values import Json


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("list", "show", "call"), help="what to do")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a tool, or a skill: Name.method")
    parser.add_argument(
        "--of",
        dest="target",
        metavar="TEAM_OR_FILE",
        help="the document with the tools; default: the worker's skills, and the functions with "
        "@tool that coterie.yml allows",
    )
    parser.add_argument(
        "--arguments", default="{}", metavar="JSON", help="the arguments of a call, a JSON object"
    )
    parser.add_argument(
        "--workspace", metavar="FOLDER", help="the folder that skills may touch, for `call`"
    )
    parser.add_argument(
        "--yes", action="store_true", help="call what must not happen twice without asking"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """List, show or call."""
    catalog = Catalog(settings)
    compiled = None
    if args.target is not None:
        compiled = compile_located(catalog, catalog.locate(args.target))
        packages = compiled.worker.tool_packages
    else:
        packages = packages_in(tuple(catalog.worker_sources()))
    skills = known_skills(settings, packages)
    tools = listed_tools(None if compiled is None else compiled.plan, skills)
    if args.action == "list":
        say(_json([one.as_dict() for one in tools]) if args.json else tools_table(tools))
        return ExitCode.DONE
    tool = _named(args.name, args.action, tools)
    if args.action == "show":
        say(_json(tool.as_dict()) if args.json else tool_text(tool))
        return ExitCode.DONE
    say(_json(_call(tool, args, compiled, catalog, settings)))
    return ExitCode.DONE


def _named(name: str | None, action: str, tools: list[ListedTool]) -> ListedTool:
    """Return the tool of that name; a document's own comes before a skill."""
    if name is None:
        raise CommandError(f"name the tool: coterie tools {action} NAME")
    found = next((one for one in tools if one.name == name), None)
    if found is None:
        names = [one.name for one in tools]
        hint = nearest(name, names)
        raise CommandError(f"unknown tool {name!r}; known: {listed(names)}. {hint}".rstrip(". "))
    return found


def _call(
    tool: ListedTool,
    args: Namespace,
    compiled: Compiled | None,
    catalog: Catalog,
    settings: Settings,
) -> object:
    kind, _, made_of = tool.made_of.partition(" ")
    if kind != "skill":
        raise CommandError(
            f"{tool.name!r} is made of the {kind} {made_of!r}, which only a run can call; run a "
            "team that uses it with `coterie run`"
        )
    if compiled is None:
        trusted = trusted_catalog(settings, catalog, args.workspace)
    else:
        trusted = resolved(
            compiled.worker, compiled.providers, compiled.tree, settings, args.workspace
        )
    called = CalledTool(tool, made_of or tool.name)
    return call_from_terminal(called, _arguments(args.arguments), trusted, settings, yes=args.yes)


def _arguments(text: str) -> Json:
    try:
        given = json.loads(text)
    except ValueError as error:
        raise CommandError(f"--arguments is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise CommandError('--arguments takes a JSON object, such as \'{"path": "src"}\'')
    return cast("Json", given)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
