"""Checks of the named commands that a function step or a tool runs."""

from coterie.dsl.egress.channel_labels import COMMAND_FUNCTIONS, RUN, RUN_ONCE
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import JsonValue, NodePath


@rule("E211")
def once_command_retried(name: str, run: str, run_once: str) -> ProblemText:
    return ProblemText(
        f"the command {name!r} may run only once, and {run} retries",
        fix=f"use `skill: {run_once}`",
    )


@rule("E209")
def no_commands(name: str) -> ProblemText:
    return ProblemText(
        f"unknown command {name!r}: this worker has no commands",
        fix=f"add it to coterie.yml: `worker: {{ commands: {{ {name}: {{ run: [...] }} }} }}`",
    )


def check_command(
    capabilities: Capabilities,
    problems: Problems,
    tree: Node,
    function: str,
    given: JsonValue,
    path: NodePath,
) -> None:
    """Note a command that the worker does not have, or that this tool function may not run.

    Args:
        capabilities: of the worker; its commands may be unknown.
        problems: collects the findings.
        tree: the document.
        function: the tool function that runs the command.
        given: the tool function's input; a command that is a template is known only in the run.
        path: where the input is written.
    """
    commands = capabilities.commands
    if function not in COMMAND_FUNCTIONS or not isinstance(given, dict):
        return
    name = given.get("command")
    if not isinstance(name, str) or is_template(name):
        return
    key_path = (*path, "command")
    if commands is not None and not commands:
        problems.report(no_commands(name), tree.value_at(key_path))
    elif commands is not None and name not in commands:
        unknown(problems, tree.value_at(key_path), "command", name, commands)
    elif function == RUN and name in capabilities.once_commands:
        problems.report(once_command_retried(name, RUN, RUN_ONCE), tree.value_at(key_path))
