"""Which calls of commands send data out: those whose worker lets them use the network. Pure.

A command reads the workspace, so what it can reach may get all of it, whatever its arguments are.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

from pydantic import JsonValue

from dsl.model.capabilities import Label, SkillContract
from dsl.templates.template import is_template

RUN = "CommandRunner.run"
RUN_ONCE = "CommandRunner.run_once"
COMMAND_SKILLS = (RUN, RUN_ONCE)


class Reach(Protocol):
    """What of a command decides whether it may use the network."""

    @property
    def network(self) -> bool:
        """Whether its sandbox lets it."""
        ...


def open_commands(commands: Mapping[str, Reach], *, sandboxed: bool) -> frozenset[str]:
    """Return the commands that may use the network: without a sandbox, each may."""
    return frozenset(name for name, one in commands.items() if one.network or not sandboxed)


def call_labels(
    contract: SkillContract, given: JsonValue, open_to_network: Collection[str]
) -> tuple[Label, ...]:
    """Return the labels of a call: those of its skill, and `egress` if its command may send.

    Args:
        contract: of the skill.
        given: what of its input is known; a command that is not may be any.
        open_to_network: the worker's commands that may use the network.
    """
    if contract.name not in COMMAND_SKILLS or "egress" in contract.labels:
        return contract.labels
    name = given.get("command") if isinstance(given, dict) else None
    is_known = isinstance(name, str) and not is_template(name)
    sends = name in open_to_network if is_known else bool(open_to_network)
    return (*contract.labels, "egress") if sends else contract.labels
