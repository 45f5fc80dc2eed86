"""Checks that belong to one kind of step."""

import re
from collections.abc import Collection, Mapping
from typing import Protocol

from dsl.checks.format_checks import warn_of_formats
from dsl.checks.steps.bound_checks import check_bounds
from dsl.checks.steps.command_checks import check_command
from dsl.checks.steps.context_paths import check_team_input
from dsl.checks.steps.contract_checks import check_input
from dsl.checks.steps.outputs import Outputs
from dsl.checks.steps.parallel_checks import check_parallel
from dsl.checks.steps.task_graph_checks import check_task_graph
from dsl.errors import Code
from dsl.evaluate.because import brief
from dsl.json_schema.argument_schemas import declared_arguments
from dsl.json_schema.schema_checker import beyond
from dsl.json_schema.schema_problems import schema_fault
from dsl.model.capabilities import Capabilities, SkillContract
from dsl.model.retryability import can_pass, holds_steps
from dsl.model.sections.template_bound import most_of
from dsl.model.steps import (
    ORCHESTRATING,
    AgentStep,
    ApprovalStep,
    FailStep,
    LoopStep,
    ParallelStep,
    ReturnStep,
    SetStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)
from dsl.model.tools.tool_section import ToolSection
from dsl.problem_details import Details
from dsl.source.nodes import Mark, Node, Problems
from dsl.templates.template import is_template, parse
from dsl.templates.template_rules import BadTemplate
from dsl.values import JsonValue, NodePath, seconds
from dsl.wording.approval_wording import no_deadline
from dsl.wording.session_wording import schema_without_message, unusable_message_schema
from dsl.wording.step_names import called
from dsl.wording.step_wording import (
    catches_nothing,
    condition_between_rounds,
    conversation_without_model,
    deadline_without_signal,
    dependent_rounds,
    empty_clause,
    fixed_argument,
    loop_variable_missing,
    loop_without_rounds,
    no_conversation,
    no_result,
    not_a_duration,
    not_a_list,
    not_arguments,
    path_without_braces,
    reserved_signal,
    retry_in_vain,
    step_does_nothing,
    unbounded_loop,
    waits_for,
)

RUN_SIGNALS = ("approve", "reject", "pause", "resume", "retry", "skip", "worker_blocked")
"""The signals that every run handles itself: no step can receive them."""

TEMPORALS = "__temporal"
"""The prefix of the names that Temporal reserves for itself."""

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[\d+\])*\Z")


class Surroundings(Protocol):
    """What a check needs to know about the place of a step; see `reference_checks.Checker`."""

    tree: Node
    problems: Problems
    capabilities: Capabilities
    teams: Mapping[str, Collection[str]]
    tools: Mapping[str, ToolSection]
    outputs: Outputs

    def at(self, path: NodePath) -> Mark:
        """Return where the value at the path is written."""
        ...

    def unknown(
        self, code: Code, what: str, name: str, known: Collection[str], path: NodePath
    ) -> None:
        """Note a name that refers to nothing, with the names that exist."""
        ...


def check_kind(here: Surroundings, step: Step, path: NodePath) -> None:
    """Check what is specific to this kind of step, and the types in its `retry`."""
    _attempted(here, step, path)
    check_bounds(here, step, path)
    match step:
        case AgentStep() | SkillStep():
            _called(here, step, path)
        case SetStep(values=values) if not values and not step.context_updates:
            _note(here, "W510", path, step_does_nothing(step.name))
        case ToolStep():
            _tool(here, step, path)
        case TeamStep(team=team, input=given):
            if team not in here.teams:
                here.unknown("E201", "team", team, here.teams, (*path, "team"))
            check_team_input(here, given or {}, (*path, "input"))
        case LoopStep():
            _loop(here, step, path)
        case TaskGraphStep():
            _over(here, step.tasks, (*path, "tasks"))
            check_task_graph(here, step, path)
        case WaitStep():
            _wait(here, step, path)
        case ApprovalStep() | TryStep() | ParallelStep():
            _bounds(here, step, path)
        case _:
            pass


def _attempted(here: Surroundings, step: Step, path: NodePath) -> None:
    """Note failure types in `retry` that no attempt can change, and a `fail_when` of no result."""
    if step.fail_when is not None and isinstance(step, ReturnStep | FailStep):
        _note(here, "E107", (*path, "fail_when"), no_result(step.name, step.kind))
    for index, error in enumerate(step.retry.errors if step.retry is not None else ()):
        if not can_pass(error, data_can_differ=holds_steps(step)):
            place = (*path, "retry", "errors", index)
            _note(here, "E105", place, retry_in_vain(step.name, error))


def _note(here: Surroundings, code: Code, path: NodePath, details: Details) -> None:
    here.problems.note(code, here.tree.find(path).at, path, details)


def _called(here: Surroundings, step: AgentStep | SkillStep, path: NodePath) -> None:
    match step:
        case AgentStep():
            _agent(here, step, path)
        case SkillStep():
            _skill(here, step, path)


def _agent(here: Surroundings, step: AgentStep, path: NodePath) -> None:
    if step.conversation is None:
        for key in ("conversation_turns", "conversation_characters"):
            if getattr(step, key) is not None:
                _note(here, "E107", (*path, key), no_conversation(step.name, key))
    elif step.agent_class is not None or step.agent_type == ORCHESTRATING:
        _note(
            here,
            "E107",
            (*path, "conversation"),
            conversation_without_model(step.name, is_legacy=step.agent_class is not None),
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
    place = (*path, "arguments")
    if isinstance(step.arguments, str) and not _is_one_template(step.arguments):
        here.problems.note("E103", here.at(place), place, not_arguments(brief(step.arguments)))
    if is_template(step.tool):
        return  # known only in the run
    section = here.tools.get(step.tool)
    if section is None:
        here.unknown("E204", "tool", step.tool, here.tools, (*path, "tool"))
        return
    if isinstance(step.arguments, str):
        return
    for name in step.arguments.keys() & section.fixed.keys():
        place = (*path, "arguments", name)
        here.problems.note("E213", here.tree.find(place).at, place, fixed_argument(step.tool, name))
    contract = here.capabilities.skills.get(section.skill or "")
    if contract is None and section.skill is None:
        schema = declared_arguments(section.input_schema)
        contract = SkillContract(
            name=step.tool, description="", effect="once", input_schema=schema, output_schema={}
        )
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
        _note(here, "E102", path, loop_without_rounds(name))
    if step.iterate_on is not None:
        _over(here, step.iterate_on, (*path, "iterate_on"))
    if step.iterate_on is not None and step.loop_variable is None:
        mark = here.tree.find(path).at
        here.problems.note("E102", mark, (*path, "loop_variable"), loop_variable_missing(name))
    if step.iterate_on is None and any(ways) and step.max_iterations is None:
        mark = here.tree.find(path).at
        here.problems.note("E102", mark, (*path, "max_iterations"), unbounded_loop(name))
    if most_of(step.concurrency) > 1:
        _concurrent(here, step, (*path, "concurrency"))


def _concurrent(here: Surroundings, step: LoopStep, path: NodePath) -> None:
    """Note concurrent rounds that would have to wait for each other."""
    conditions = {"while": step.while_, "until": step.until, "break_when": step.break_when}
    between = [key for key, condition in conditions.items() if condition is not None]
    if step.iterate_on is None:
        _note(here, "E107", path, dependent_rounds(step.name))
    elif between:
        _note(here, "E107", path, condition_between_rounds(step.name, between))


def _over(here: Surroundings, over: JsonValue, path: NodePath) -> None:
    """Check that a loop iterates on a list, or on one expression that may give a list."""
    if isinstance(over, list) or (isinstance(over, str) and _is_one_template(over)):
        return
    if isinstance(over, str) and _PATH.match(over):
        here.problems.note("E108", here.at(path), path, path_without_braces(str(path[-1]), over))
        return
    here.problems.note("E103", here.at(path), path, not_a_list(str(path[-1]), brief(over)))


def _is_one_template(text: str) -> bool:
    try:
        return is_template(text) and parse(text).single
    except BadTemplate:
        return True  # reported with all other templates


def _wait(here: Surroundings, step: WaitStep, path: NodePath) -> None:
    keys = ("duration", "time", "signal", "message")
    said = [key for key in keys if getattr(step, key) is not None]
    if len(said) != 1:
        _note(here, "E107" if said else "E102", path, waits_for(step.name, said))
    elif step.deadline is not None and said[0] in ("duration", "time"):
        _note(here, "E107", (*path, "deadline"), deadline_without_signal(step.name, said[0]))
    if step.schema_ is not None and len(said) == 1:
        _message_schema(here, step, said[0], (*path, "schema"))
    check_signal(here.tree, here.problems, step.signal, (*path, "signal"))
    if isinstance(step.duration, str) and not is_template(step.duration):
        try:
            seconds(step.duration)
        except ValueError as error:
            place = (*path, "duration")
            here.problems.note(
                "E103", here.at(place), place, not_a_duration(step.duration, str(error))
            )


def _message_schema(here: Surroundings, step: WaitStep, key: str, path: NodePath) -> None:
    if key != "message" or step.schema_ is None:
        _note(here, "E107", path, schema_without_message(step.name, key))
        return
    wrong = schema_fault(step.schema_) or beyond(step.schema_)
    if wrong is not None:
        _note(here, "E505", path, unusable_message_schema(step.name, wrong))
        return
    warn_of_formats(step.schema_, here.problems, here.tree.find(path).at, path)


def check_signal(tree: Node, problems: Problems, name: str | None, path: NodePath) -> None:
    """Note the name of a signal that no step can receive: the run, or Temporal, handles it."""
    if name is None or not (name in RUN_SIGNALS or name.startswith(TEMPORALS)):
        return
    problems.note("E105", tree.find(path).mark, path, reserved_signal(name, RUN_SIGNALS, TEMPORALS))


def _catches(here: Surroundings, step: TryStep, path: NodePath) -> None:
    if not step.catch and not step.finally_:
        _note(here, "E102", path, catches_nothing(step.name))
    for index, clause in enumerate(step.catch):
        if not clause.error:
            place = (*path, "catch", index, "error")
            here.problems.note("E106", here.at(place), place, empty_clause())


def _bounds(
    here: Surroundings, step: ApprovalStep | TryStep | ParallelStep, path: NodePath
) -> None:
    match step:
        case ApprovalStep(deadline=None):
            _note(here, "W502", path, no_deadline(called(step.name, "the approval")))
        case TryStep():
            _catches(here, step, path)
        case ParallelStep():
            check_parallel(here, step, path)
        case _:
            pass
