"""Problems of tools that MCP servers offer."""

from collections.abc import Sequence
from typing import Literal

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, Remove, rule


@rule("E509")
def server_not_listed(server: str, state: Literal["unlisted", "moved"]) -> ProblemText:
    why = {
        "unlisted": "nobody has listed them yet",
        "moved": "its `command` or `url` has changed since somebody listed them",
    }[state]
    return ProblemText(
        f"the tools of the MCP server {server!r} are not known: {why}",
        fix=f"run `coterie tools refresh {server}`",
    )


@rule("E204")
def server_without_tools(server: str) -> ProblemText:
    return ProblemText(
        f"the MCP server {server!r} has no tools",
        fix=f"check the server, then run `coterie tools refresh {server}`",
    )


@rule("E107")
def included_by_tool(name: str) -> ProblemText:
    return ProblemText(
        f"`include` chooses tools of a whole MCP server, and {name!r} is one tool",
        fix="remove `include`, or write only the server's name in `mcp`",
        edit=Remove("include"),
    )


@rule("E107")
def group_described(name: str) -> ProblemText:
    return ProblemText(
        f"`description` has no effect: {name!r} stands for several tools, and each has its own",
        fix="remove `description`, or declare one of the tools on its own",
        edit=Remove("description"),
    )


@rule("W527")
def schemas_rewritten(
    tools: Sequence[str], vendors: Sequence[str], findings: Sequence[str]
) -> ProblemText:
    verb = "refuses" if len(vendors) == 1 else "refuse"
    whose = "a schema with" if len(tools) == 1 else "schemas with"
    return ProblemText(
        f"{' and '.join(vendors)} {verb} {whose} {', '.join(findings)}: {listed(tools)}; models "
        "see them rewritten, and calls get the tool's own names",
        fix="keep it, change the tool, or leave it out with `include` or `exclude_tools`",
    )


@rule("W527")
def tools_left_out(persona: str, vendor: str, most: int, left_out: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"{vendor} takes {most} tools in a request, so {persona!r} does not offer "
        f"{len(left_out)} of its own: {listed(left_out)}",
        fix="name fewer tools, or choose from a group with `include`",
    )


@rule("E204")
def group_called(name: str, members: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"{name!r} stands for several tools of an MCP server, and a step calls one",
        listed(members),
        "name one of these",
    )
