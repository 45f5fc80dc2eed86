"""Compiles documents as the front door does, with everything that a worker of ours has."""

from datetime import UTC, datetime

from coterie.activities.tool_functions.function_registry import contracts
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.capabilities import Capabilities, Reach
from coterie.dsl.model.plan import Plan

CAPABILITIES = Capabilities(
    agent_types=("generic_single_shot", "generic_orchestrating", "generic_tool_calling"),
    functions=contracts(),
    providers=("scripted", "anthropic", "openai"),
    commands=("pytest", "deploy"),
    once_commands=("deploy",),
    reach=Reach(trusted_paths=("**",)),
    now=datetime(2000, 1, 1, tzinfo=UTC).timestamp(),
)

_INCLUDING = """
include: [1.yml]
orchestration:
  entry_team: main
  teams: { main: { tasks: [{ name: note, type: set, values: { a: 1 } }] } }
"""


def compiled(*texts: str, trusted: bool = True) -> Compiled:
    """The texts, each a file laid over those before it, compiled."""
    sources = [SourceText(f"{n}.yml", text, trusted=trusted) for n, text in enumerate(texts, 1)]
    return compile_sources(sources, CAPABILITIES, name="test")


def problems_of_included(text: str) -> tuple[Problem, ...]:
    """Everything that is wrong with a text that a document includes."""
    sources = [SourceText("1.yml", text, included=True), SourceText("main.yml", _INCLUDING)]
    try:
        return compile_sources(sources, CAPABILITIES, name="test").warnings
    except InvalidDocument as error:
        return error.problems


def plan_of(*texts: str) -> Plan:
    """The plan of the texts."""
    return compiled(*texts).plan


def problems_of(*texts: str, trusted: bool = True) -> tuple[Problem, ...]:
    """Everything that is wrong with the texts; their warnings when nothing is."""
    try:
        return compiled(*texts, trusted=trusted).warnings
    except InvalidDocument as error:
        return error.problems
