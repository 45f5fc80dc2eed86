"""Call a tool or a tool function from the terminal: really, in this process, on the workspace."""

import secrets
from shlex import quote

from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FunctionRequest
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS
from coterie.activities.tool_functions.function_results import asked_of
from coterie.activities.workspace.function_base import Workspace
from coterie.display.keyboard import ask_yes_no
from coterie.documents.tool_discovery import tool_code
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.tools.asked_input import GivenInput
from coterie.dsl.values import Json
from coterie.explaining.tools_text import ListedTool
from coterie.failures import CommandError
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.terminal import is_interactive, note
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.surroundings import (
    apis_of,
    mcp_servers_of,
    python_functions,
    workspace_of,
)

_EFFECTS = {
    "read": "changes nothing",
    "idempotent": "may change something; a repeated call changes nothing more",
    "once": "must not happen twice",
}


def call_from_terminal(
    tool: ListedTool, arguments: Json, trusted: TrustedConfig, settings: Settings, *, yes: bool
) -> JsonValue:
    """Check the arguments, show the effect, and call.

    Args:
        tool: A tool function or an MCP tool, or what a document makes of one.
        arguments: As given; what the tool fixes is merged over them.
        trusted: The worker's configuration.
        settings: Of the command.
        yes: Whether a call that must not happen twice needs no further word.

    Raises:
        CommandError: The arguments do not match, the person declines, or the call fails.
    """
    _check(tool, arguments)
    function = tool.source or tool.name
    made_of = "" if tool.name == function else f" ({function})"
    note(f"{tool.name}{made_of}: {_EFFECTS[tool.effect]}")
    if tool.effect == "once" and not yes:
        _confirm(tool.name)
    sandbox, warning = command_sandbox(trusted, settings)
    if warning is not None:
        note(f"coterie: {warning}")
    workspace = workspace_of(trusted, settings, sandbox)
    request = FunctionRequest(
        skill=function,
        input={**arguments, **tool.fixed},
        key=f"terminal-{secrets.token_hex(8)}/{tool.name}",
        listing=tool.listing or None,
    )
    try:
        return run_async(_result(request, workspace, trusted, settings))
    except ApplicationError as error:
        raise CommandError(f"{tool.name} failed with {error.type}: {error.message}") from None


async def _result(
    request: FunctionRequest, workspace: Workspace, trusted: TrustedConfig, settings: Settings
) -> JsonValue:
    user_code = tool_code(settings, workspace.root)
    servers = mcp_servers_of(trusted, settings)
    try:
        functions = {**TOOL_FUNCTIONS, **python_functions(trusted, settings, user_code)}
        apis = apis_of(trusted, settings)
        activities = FunctionActivities(workspace, functions, servers=servers, apis=apis)
        return await _call_to_end(activities, request)
    finally:
        await servers.close()
        await user_code.close()


async def _call_to_end(activities: FunctionActivities, request: FunctionRequest) -> JsonValue:
    """Call; follow the task that a server begins instead of a result."""
    while True:
        try:
            return (await activities.call_function(request)).data
        except ApplicationError as error:
            question = asked_of(error)
            if question is None or not question.continues:
                raise
            if request.given_input is None and question.task is not None:
                note(f"the server continues the call as the task {question.task.id}")
            request = request.model_copy(update={"given_input": GivenInput(asked=question)})


def _check(tool: ListedTool, arguments: Json) -> None:
    fixed_names = [name for name in arguments if name in tool.fixed]
    if fixed_names:
        raise CommandError(f"the tool {tool.name!r} fixes {fixed_names[0]!r}; leave it out")
    try:
        problems = mismatches(arguments, tool.input_schema, "`--arguments`")
    except UnusableSchema:
        return  # the tool function checks its own input
    if problems:
        raise CommandError(
            f"{'; '.join(problems)}. `coterie tools show {quote(tool.name)}` prints what it takes"
        )


def _confirm(name: str) -> None:
    """Ask before a call that must not happen twice."""
    if not is_interactive():
        raise CommandError(f"{name!r} must not happen twice, and nobody can confirm; add --yes")
    if not run_async(ask_yes_no(f"Call {name} now?")):
        raise CommandError("not called")
