"""Which calls send data out: the table of all channels by which a run reaches the outside. Pure.

The worker's configuration decides, never the author of a tool: what it lets use the network may
send anything, whatever its arguments are, for it can also read the workspace.

| Channel | `egress` |
|---|---|
| command | if its sandbox lets it use the network, or there is no sandbox |
| Python tool | unless `worker.offline_tools` names it: it runs without a sandbox |
| tool of an MCP server | unless the worker's terms of the tool say otherwise |
| operation of an HTTP API | unless it reads without arguments, or by the worker's terms |
| tool function of Coterie | if it reaches the web |
| notification | always; the channel's `grants` decide whether it may carry private data |
| model provider | never: the worker's configuration names it, and a run cannot choose who reads |
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal, Protocol, assert_never, get_args

from pydantic import JsonValue

from coterie.dsl.egress.workspace_reads import writer_of_result
from coterie.dsl.model.capabilities import FunctionContract, Label, Reach
from coterie.dsl.templates.template import is_template

RUN = "CommandRunner.run"
RUN_ONCE = "CommandRunner.run_once"
COMMAND_FUNCTIONS = (RUN, RUN_ONCE)

CallKind = Literal["command", "function", "mcp", "own"]


class NamedCommand(Protocol):
    """What of a command decides whether it may use the network."""

    @property
    def network(self) -> bool:
        """Whether its sandbox lets it."""
        ...


def open_commands(commands: Mapping[str, NamedCommand], *, sandboxed: bool) -> tuple[str, ...]:
    """Return the commands that may use the network: without a sandbox, each may."""
    return tuple(
        sorted(name for name, command in commands.items() if command.network or not sandboxed)
    )


def kind_of_call(function: str) -> CallKind:
    """Return what a tool function of this name is made of."""
    if function in COMMAND_FUNCTIONS:
        return "command"
    if "/" in function:  # `server/tool`
        return "mcp"
    return "function" if ":" in function else "own"  # `module:function`


def call_labels(contract: FunctionContract, given: JsonValue, reach: Reach) -> tuple[Label, ...]:
    """Return the labels of a call: those of its contract, and what the worker's settings add.

    Args:
        contract: of the tool function.
        given: what of its input is known.
        reach: what the worker's configuration lets calls reach.
    """
    labels = set(contract.labels)
    if writer_of_result(contract.name, given, reach.trusted_paths) == "others":
        labels.add("untrusted")
    if _sends(contract.name, given, reach):
        labels.add("egress")
    return tuple(label for label in get_args(Label) if label in labels)


def _sends(function: str, function_input: JsonValue, reach: Reach) -> bool:
    """Return whether the worker lets a call send data out, besides what its contract says."""
    kind = kind_of_call(function)
    match kind:
        case "command":
            name = function_input.get("command") if isinstance(function_input, dict) else None
            is_known = isinstance(name, str) and not is_template(name)
            return name in reach.commands if is_known else bool(reach.commands)
        case "function":
            return not any(fnmatchcase(function, glob) for glob in reach.offline_tools)
        case "mcp" | "own":
            return False  # the worker's terms, or our own code, have decided
        case _:
            assert_never(kind)
