"""Checks of `code_mode`: which tools the code of an agent calls, and what runs the code."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from coterie.dsl.checks.tools.tool_names import tool_named_twice
from coterie.dsl.errors import listed
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.agent_types import TOOL_CALLING
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.tools.tool_section import FunctionToolSection, ToolBase
from coterie.dsl.model.traversal.code_mode import RUNS_CODE, code_runners, name_in_code, own_tools
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import NodePath

Written = Callable[..., NodePath]
"""Returns where a field of the merged persona is written."""


@rule("E503")
def nothing_runs_code() -> ProblemText:
    return ProblemText(
        f"`code_mode` has no effect: none of the persona's tools is {RUNS_CODE}, which runs code",
        fix=f"add a tool with `skill: {RUNS_CODE}` to `tools`, or remove `code_mode`",
    )


@rule("E503")
def nothing_to_call() -> ProblemText:
    return ProblemText(
        "`code_mode` has no effect: there is no tool that the code could call",
        fix="add tools to the persona, or remove `code_mode`",
    )


@rule("E107")
def several_run_code(names: list[str]) -> ProblemText:
    return ProblemText(
        f"with `code_mode`, one tool runs the code, and several do: {listed(names)}",
        fix="keep one of them in `tools`",
    )


@rule("E107")
def code_of_returned() -> ProblemText:
    return ProblemText(
        "`code_mode` has no effect: `tool_calls: return` executes no call",
        fix="remove `code_mode`, or set `tool_calls: execute`",
    )


@rule("E107")
def not_for_code(tool: str) -> ProblemText:
    return ProblemText(
        f"code cannot call {tool!r}, which runs the code, reads agent skills, ends the agent "
        "(`exit_on_success`), or must be called first (`tool_choice`)",
        fix=f"remove {tool!r} from `code_mode`: the model calls it directly",
    )


@rule("E107")
def names_in_code_clash(tools: list[str], name: str) -> ProblemText:
    return ProblemText(
        f"in code, {listed(tools)} have the same name: {name}",
        fix="rename one of the tools, or leave it out of `code_mode`",
    )


@rule("E107")
def runner_key_refused(tool: str, key: str) -> ProblemText:
    return ProblemText(
        f"the tool {tool!r} runs code that calls tools, and its calls have effects: `{key}` does "
        "not fit it",
        fix=f"remove `{key}` from the tool, or `code_mode` from the persona",
    )


def check_code_mode(
    step: PersonaStep,
    persona: Persona,
    sections: Mapping[str, ToolBase],
    written_at: Written,
    tree: Node,
    problems: Problems,
) -> None:
    """Note what `code_mode` cannot mean.

    Args:
        step: The agent step.
        persona: With the step's `config` merged in, and its tools resolved.
        sections: The tools of the document.
        written_at: Where the persona's fields are written.
        tree: The document.
        problems: Collects the findings.
    """
    if persona.code_mode is False or not persona.tools or step.agent_type != TOOL_CALLING:
        return
    path = written_at("code_mode")
    for finding in _findings(persona, sections):
        where = path if finding.entry is None else (*path, finding.entry)
        problems.report(finding.details, tree.value_at(where))
    if not isinstance(persona.code_mode, bool):
        for index, name in enumerate(persona.code_mode):
            if name not in persona.tools and not problems.has("E204", (*path, index)):
                place = tree.value_at((*path, index))
                unknown(problems, place, "offered tool", name, persona.tools)


class _Finding(NamedTuple):
    """What is wrong, and with which entry of a list."""

    details: Details
    entry: int | None = None


def _findings(persona: Persona, sections: Mapping[str, ToolBase]) -> Iterator[_Finding]:
    if persona.tool_calls == "return":
        yield _Finding(code_of_returned())
        return
    runners = code_runners(persona.tools, sections)
    if not runners:
        yield _Finding(nothing_runs_code())
        return
    if len(runners) > 1:
        yield _Finding(several_run_code(runners))
    for runner in runners:
        section = sections[runner]
        if isinstance(section, FunctionToolSection):
            if section.cache is not None:
                yield _Finding(runner_key_refused(runner, "cache"))
            if section.local_activity:
                yield _Finding(runner_key_refused(runner, "local_activity"))
    yield from _problems_of_tools(persona, {*runners, *own_tools(persona)})


def _problems_of_tools(persona: Persona, own: set[str]) -> Iterator[_Finding]:
    """Find what is wrong with the tools that the code calls."""
    by_name = not isinstance(persona.code_mode, bool)
    names = [*persona.code_mode] if not isinstance(persona.code_mode, bool) else [*persona.tools]
    if not isinstance(persona.code_mode, bool):
        for index, name in enumerate(names):
            if name in own:
                yield _Finding(not_for_code(name), index)
            elif name in names[:index]:
                yield _Finding(tool_named_twice(name, "code_mode"), index)
    called = [name for name in dict.fromkeys(names) if name not in own]
    if not called and not (by_name and names):
        yield _Finding(nothing_to_call())
    in_code: dict[str, list[str]] = {}
    for name in called:
        in_code.setdefault(name_in_code(name), []).append(name)
    for name, tools in in_code.items():
        if len(tools) > 1:
            yield _Finding(names_in_code_clash(tools, name))
