"""Checks of the named commands that a skill step or a tool runs."""

from coterie.dsl.egress.channel_labels import COMMAND_SKILLS, RUN, RUN_ONCE
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
    skill: str,
    given: JsonValue,
    path: NodePath,
) -> None:
    """Note a command that the worker does not have, or that this skill may not run.

    Args:
        capabilities: of the worker; its commands may be unknown.
        problems: collects the findings.
        tree: the document.
        skill: the skill that runs the command.
        given: the skill's input; a command that is a template is known only in the run.
        path: where the input is written.
    """
    commands = capabilities.commands
    if skill not in COMMAND_SKILLS or not isinstance(given, dict):
        return
    name = given.get("command")
    if not isinstance(name, str) or is_template(name):
        return
    key_path = (*path, "command")
    if commands is not None and not commands:
        problems.report(no_commands(name), tree.value_at(key_path))
    elif commands is not None and name not in commands:
        unknown(problems, tree.value_at(key_path), "command", name, commands)
    elif skill == RUN and name in capabilities.once_commands:
        problems.report(once_command_retried(name, RUN, RUN_ONCE), tree.value_at(key_path))
