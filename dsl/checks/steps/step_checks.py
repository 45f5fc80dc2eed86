"""Checks that belong to one kind of step."""

import re
from collections.abc import Collection, Mapping
from typing import Protocol

from dsl.checks.steps.command_checks import check_command
from dsl.checks.steps.contract_checks import check_input
from dsl.errors import Code, listed, nearest
from dsl.evaluate.because import brief
from dsl.model.capabilities import Capabilities
from dsl.model.document import ToolSection
from dsl.model.retryability import can_pass, holds_steps
from dsl.model.step_walk import variables
from dsl.model.steps import (
    ORCHESTRATING,
    AgentStep,
    ApprovalStep,
    LoopStep,
    ParallelStep,
    SetStep,
    SkillStep,
    Step,
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)
from dsl.source.nodes import Mark, Node, Problems
from dsl.source.unknown_names import called
from dsl.templates.template import is_template, parse
from dsl.templates.template_rules import BadTemplate
from dsl.values import JsonValue, NodePath, seconds

RUN_SIGNALS = ("approve", "reject", "pause", "resume", "retry", "skip", "worker_blocked")
"""The signals that every run takes itself: no step would ever get one of them."""

TEMPORALS = "__temporal"
"""How the names of signals begin that Temporal keeps for itself."""

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[\d+\])*\Z")


class Surroundings(Protocol):
    """What a check needs to know of where the step stands; see `reference_checks.Checker`."""

    tree: Node
    problems: Problems
    capabilities: Capabilities
    teams: Mapping[str, Collection[str]]
    tools: Mapping[str, ToolSection]

    def at(self, path: NodePath) -> Mark:
        """Where the value at the path stands."""
        ...

    def unknown(
        self, code: Code, what: str, name: str, known: Collection[str], path: NodePath
    ) -> None:
        """Note a name that refers to nothing."""
        ...


def check_kind(here: Surroundings, step: Step, path: NodePath) -> None:
    """Check what only this kind of step can have wrong, and what its `retry` names."""
    _retried(here, step, path)
    match step:
        case AgentStep() | SkillStep():
            _called(here, step, path)
        case SetStep(values=values) if not values:
            _note(
                here,
                "W510",
                path,
                f"{called(step.name, 'the step')} does nothing",
                fix="write what it does, like `skill:` or `values:`, or remove it",
            )
        case ToolStep():
            _tool(here, step, path)
        case TeamStep(team=team):
            if team not in here.teams:
                here.unknown("E201", "team", team, here.teams, (*path, "team"))
        case LoopStep():
            _loop(here, step, path)
        case WaitStep():
            _wait(here, step, path)
        case ApprovalStep() | TryStep() | ParallelStep():
            _bounds(here, step, path)
        case _:
            pass


def _retried(here: Surroundings, step: Step, path: NodePath) -> None:
    """Note types of failure that `retry` names and that no further attempt could mend."""
    for index, error in enumerate(step.retry.errors if step.retry is not None else ()):
        if not can_pass(error, data_can_differ=holds_steps(step)):
            place = (*path, "retry", "errors", index)
            message = (
                f"{called(step.name)} would retry after {error!r}, which no further attempt changes"
            )
            fix = "leave it out; `on_failure: ask` lets a person change the data first"
            _note(here, "E105", place, message, fix=fix)


def _note(
    here: Surroundings, code: Code, path: NodePath, message: str, allowed: str = "", fix: str = ""
) -> None:
    here.problems.add(code, here.tree.find(path).at, path, message, allowed=allowed, fix=fix)


def _called(here: Surroundings, step: AgentStep | SkillStep, path: NodePath) -> None:
    match step:
        case AgentStep():
            _agent(here, step, path)
        case SkillStep():
            _skill(here, step, path)


def _agent(here: Surroundings, step: AgentStep, path: NodePath) -> None:
    if step.conversation is None:
        if step.conversation_turns is not None:
            _note(
                here,
                "E107",
                (*path, "conversation_turns"),
                f"{called(step.name)} says how much of a conversation is sent, and is in none",
                fix="add `conversation: <name>`, or remove `conversation_turns`",
            )
    elif step.agent_class is not None or step.agent_type == ORCHESTRATING:
        what = "a legacy agent" if step.agent_class is not None else "an agent that follows a plan"
        _note(
            here,
            "E107",
            (*path, "conversation"),
            f"{called(step.name)} is {what}, and only one that asks a model once goes on with a "
            "conversation",
            fix="say `conversation:` on an agent of type generic_single_shot",
        )


def _skill(here: Surroundings, step: SkillStep, path: NodePath) -> None:
    known = here.capabilities.skills
    if step.skill not in known:
        here.unknown("E204", "skill", step.skill, known, (*path, "skill"))
    check_command(
        here.capabilities, here.problems, here.tree, step.skill, step.input, (*path, "input")
    )
    contract = known.get(step.skill)
    if contract is not None:
        check_input(here.tree, here.problems, contract, step.input, (*path, "input"))


def _tool(here: Surroundings, step: ToolStep, path: NodePath) -> None:
    if is_template(step.tool):
        return  # known only in the run
    section = here.tools.get(step.tool)
    if section is None:
        here.unknown("E204", "tool", step.tool, here.tools, (*path, "tool"))
        return
    for name in step.arguments.keys() & section.fixed.keys():
        place = (*path, "arguments", name)
        here.problems.add(
            "E213",
            here.tree.find(place).at,
            place,
            f"the tool {step.tool!r} fixes {name!r}, so this argument has no effect",
            fix=f"remove {name!r} here, or from `fixed` of the tool",
        )
    contract = here.capabilities.skills.get(section.skill)
    if contract is not None:
        check_input(
            here.tree,
            here.problems,
            contract,
            step.arguments,
            (*path, "arguments"),
            fixed=section.fixed,
        )


def _loop(here: Surroundings, step: LoopStep, path: NodePath) -> None:
    name = step.name
    ways = [step.iterate_on is not None, step.while_ is not None, step.until is not None]
    if not any(ways):
        _note(
            here,
            "E102",
            path,
            f"{called(name, 'the loop')} says neither over what nor how long",
            allowed="iterate_on, while, until",
        )
    if step.iterate_on is not None:
        _over(here, step.iterate_on, (*path, "iterate_on"))
    if step.iterate_on is not None and step.loop_variable is None:
        message = f"the key 'loop_variable' is missing: nothing names the item of {called(name)}"
        mark = here.tree.find(path).at
        here.problems.add(
            "E102", mark, (*path, "loop_variable"), message, fix="add `loop_variable: item`"
        )
    if step.iterate_on is None and any(ways) and step.max_iterations is None:
        mark = here.tree.find(path).at
        here.problems.add(
            "E102",
            mark,
            (*path, "max_iterations"),
            f"{called(name, 'the loop')} has no bound",
            fix="add `max_iterations: 10`",
        )
    if step.concurrency > 1 and step.iterate_on is None:
        _note(
            here,
            "E107",
            (*path, "concurrency"),
            f"the rounds of {called(name)} follow from one another and cannot run at once",
            fix="use `iterate_on`, or remove `concurrency`",
        )


def _over(here: Surroundings, over: JsonValue, path: NodePath) -> None:
    """What a loop goes over is a list, or one expression that may give one."""
    if isinstance(over, list) or (isinstance(over, str) and _may_be_a_list(over)):
        return
    told = f"'iterate_on' is {brief(over)}"
    allowed = "a list, or one template expression that gives one"
    if isinstance(over, str) and _PATH.match(over):
        here.problems.add(
            "E108",
            here.at(path),
            path,
            f"{told}, a path without braces",
            allowed=allowed,
            fix=f'write `"{{{{ {over} }}}}"`',
        )
        return
    here.problems.add("E103", here.at(path), path, told, allowed=allowed)


def _may_be_a_list(text: str) -> bool:
    try:
        return is_template(text) and parse(text).single
    except BadTemplate:
        return True  # told where all templates are checked


def _wait(here: Surroundings, step: WaitStep, path: NodePath) -> None:
    said = [key for key in ("duration", "time", "signal") if getattr(step, key) is not None]
    if len(said) != 1:
        told = " and ".join(said) if said else "nothing"
        _note(
            here,
            "E107" if said else "E102",
            path,
            f"{called(step.name, 'the wait')} waits for {told}",
            allowed="one of duration, time, signal",
        )
    elif step.deadline is not None and step.signal is None:
        _note(
            here,
            "E107",
            (*path, "deadline"),
            f"`deadline` belongs to a wait for a signal, and {called(step.name)} waits for "
            f"{said[0]}",
            fix="remove `deadline`, or wait with `signal:`",
        )
    check_signal(here.tree, here.problems, step.signal, (*path, "signal"))
    if isinstance(step.duration, str) and not is_template(step.duration):
        try:
            seconds(step.duration)
        except ValueError as error:
            place = (*path, "duration")
            here.problems.add(
                "E103",
                here.at(place),
                place,
                f"'duration' is {step.duration!r}",
                allowed=str(error),
            )


def check_signal(tree: Node, problems: Problems, name: str | None, path: NodePath) -> None:
    """Note the name of a signal that would never come to a step: the run, or Temporal, takes it."""
    if name is None or not (name in RUN_SIGNALS or name.startswith(TEMPORALS)):
        return
    whose = "the run" if name in RUN_SIGNALS else "Temporal"
    problems.add(
        "E105",
        tree.find(path).mark,
        path,
        f"{whose} takes the signal {name!r} itself",
        allowed=f"a name but {listed(RUN_SIGNALS)}, and none that begins with {TEMPORALS}",
        fix="give the signal another name",
    )


def _catches(here: Surroundings, step: TryStep, path: NodePath) -> None:
    if not step.catch and not step.finally_:
        _note(
            here,
            "E102",
            path,
            f"{called(step.name, 'the try')} catches nothing and has no finally",
            allowed="catch, finally",
        )
    for index, clause in enumerate(step.catch):
        if not clause.error:
            place = (*path, "catch", index, "error")
            here.problems.add(
                "E106",
                here.at(place),
                place,
                "'error' is empty: the clause catches nothing",
                allowed='at least one type of failure, or "*" for any',
                fix='write `error: "*"` to catch every failure',
            )


def _ways(here: Surroundings, step: ParallelStep, path: NodePath) -> None:
    wanted = step.join
    if isinstance(wanted, int) and wanted > len(step.branches):
        place = (*path, "join")
        message = f"{wanted} ways are to succeed and there are {len(step.branches)}"
        here.problems.add("E106", here.at(place), place, message)
    known = {name for ways in step.branches.values() for name in variables(ways)}
    for name in step.merge:
        if name not in known:
            place = (*path, "merge", name)
            here.problems.add(
                "E105",
                here.tree.find(place).at,
                place,
                f"no way of {called(step.name)} sets {name!r}",
                allowed=f"the variables that a way sets: {listed(known)}",
                fix=nearest(name, known) or f"set {name!r} in a way, or remove it from `merge`",
            )


def _bounds(
    here: Surroundings, step: ApprovalStep | TryStep | ParallelStep, path: NodePath
) -> None:
    match step:
        case ApprovalStep(deadline=None):
            _note(
                here,
                "W502",
                path,
                f"{called(step.name, 'the approval')} has no deadline: it may wait for ever",
                fix="say `deadline: 3d` and `on_timeout: reject`",
            )
        case TryStep():
            _catches(here, step, path)
        case ParallelStep():
            _ways(here, step, path)
        case _:
            pass
