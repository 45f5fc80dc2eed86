"""Describe a step: who does it, its limits, and the headings of its step lists.

Pictures and texts of plans share these descriptions; they only word conditions differently.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from coterie.dsl.model.step_kinds.step_list import (
    AtTheEnd,
    Choosing,
    Concurrent,
    EachRound,
    EachTask,
    Grouped,
    ListRole,
    OnError,
    OnFailedTask,
    Otherwise,
    StepList,
    Tried,
    WhenHolds,
)
from coterie.dsl.model.step_kinds.wait_step import (
    AnyWait,
    DurationWait,
    MessageWait,
    SignalWait,
    TimeWait,
    WaitStep,
)
from coterie.dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BlockStep,
    BranchStep,
    FailStep,
    LoopStep,
    ParallelStep,
    ReplyStep,
    ReturnStep,
    SetStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
)
from coterie.dsl.model.terms import DecisionTerms
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.templates.template import is_template
from coterie.text.bound_words import counted_bound, duration_bound, number_bound
from coterie.text.durations import duration
from coterie.text.problems import counted

_MAX_TOOLS = 8
"""Names of tools that an agent's line shows."""


@dataclass(frozen=True, slots=True)
class StepWording:
    """How to format the parts of a step."""

    condition: Callable[[Condition], str]
    value: Callable[[object], str]
    agent_class: Callable[[str], str]


def heading(role: ListRole, words: StepWording) -> str:
    """Return the heading of a step list; empty if it needs none."""
    match role:
        case EachRound() | Tried() | Grouped():
            return ""
        case Choosing():
            return "to choose the next task"
        case EachTask():
            return "for each task"
        case OnFailedTask():
            return "for a failed task"
        case WhenHolds(condition):
            return f"if {words.condition(condition)}"
        case Otherwise():
            return "otherwise"
        case Concurrent(name, priority, score):
            ranked = f", priority {priority}" if priority else ""
            return f"branch {name}{ranked}{_score_words(score, words)}"
        case OnError(errors):
            return f"after {'any failure' if '*' in errors else ', '.join(errors)}"
        case AtTheEnd():
            return "finally"
        case _:
            assert_never(role)


def is_left_out(part: StepList) -> bool:
    """Return whether to omit a step list: some kinds of lists may be empty."""
    return not part.steps and isinstance(part.role, Otherwise | AtTheEnd | Choosing | OnFailedTask)


def details(step: Step, plan: Plan, words: StepWording) -> tuple[str, ...]:  # noqa: C901  # kinds
    """Return the details of a step, most important first."""
    match step:
        case AgentStep():
            return tuple(_agent(step, plan, words))
        case SkillStep(skill=skill, terms=terms):
            return (skill if terms is None else f"{skill} ({terms.effect})",)
        case ToolStep(tool=tool):
            return (_text(tool, words),)
        case LoopStep():
            return tuple(_loop(step, words))
        case BranchStep() | TryStep() | BlockStep():
            return ()
        case ParallelStep():
            return tuple(_parallel(step, words))
        case TaskGraphStep():
            return tuple(_graph(step, words))
        case SetStep(values=values):
            return (f"sets {', '.join(values)}",) if values else ()
        case ApprovalStep():
            return asking(step, words)
        case WaitStep():
            return tuple(_waiting(step, words))
        case ReplyStep(value=value):
            return (words.value(value),)
        case TeamStep(team=team):
            return (f"runs {team}",)
        case ReturnStep(value=value):
            return (words.value(value),)
        case FailStep(error=error):
            return (error,)
        case _:
            assert_never(step)


def bounds(step: Step, words: StepWording) -> Iterator[str]:
    """Yield the limits of a step, when and whether it may fail, and what it updates."""
    if step.timeout is not None:
        yield f"within {duration_bound(step.timeout, words.value)}"
    if step.retry is not None and step.retry.retries:
        yield counted_bound(step.retry.retries, "more attempt", words.value)
    if step.fail_when is not None:
        yield f"fails when {words.condition(step.fail_when)}"
    if step.on_failure == "continue":
        yield "may fail"
    if step.context_updates:
        yield f"updates context.{', context.'.join(step.context_updates)}"


def _agent(step: AgentStep, plan: Plan, words: StepWording) -> Iterator[str]:
    if step.agent_class is not None:
        yield words.agent_class(step.agent_class)
        yield "legacy class"
    else:
        yield " or ".join(step.persona_names)
        if step.personas:
            yield f"chosen by {words.value(step.persona_key)}"
        yield from _personas(step, plan)
    if step.conversation is not None:
        yield f"in the conversation {step.conversation}"
    if step.max_turns is not None:
        bound = counted_bound(step.max_turns, "turn with tools", words.value, "turns with tools")
        yield f"at most {bound}"


def _personas(step: AgentStep, plan: Plan) -> Iterator[str]:
    """Yield what the personas of an agent do: their plans, or the models that they call."""
    if step.agent_type == ORCHESTRATING:
        sizes = [
            counted(sum(1 for _ in walk(steps, ())), "step")
            for _, steps in execution_plans(step, plan.personas)
        ]
        yield f"plan of {' or '.join(sizes)}"
        return
    personas = [plan.personas[one.persona_key or ""] for one in step.choices]
    yield " or ".join(dict.fromkeys(f"{one.provider}/{one.model}" for one in personas))
    if step.agent_type not in (None, SINGLE_SHOT):
        yield step.agent_type
    if step.agent_type == TOOL_CALLING:
        yield from _tools(personas)


def _tools(personas: Sequence[Persona]) -> Iterator[str]:
    """Yield the tools that agents may call, and the teams to which they may hand over."""
    tools = tuple(dict.fromkeys(name for persona in personas for name in persona.tools))
    if tools:
        yield f"may call {some_tools(tools)}"
    teams = dict.fromkeys(name for persona in personas for name in persona.handoffs)
    if teams:
        yield f"may hand over to {', '.join(teams)}"


def some_tools(tools: Sequence[str]) -> str:
    """List the first few names, and count the others."""
    more = len(tools) - _MAX_TOOLS
    return ", ".join(tools[:_MAX_TOOLS]) + (f" and {more} more" if more > 0 else "")


def _loop(step: LoopStep, words: StepWording) -> Iterator[str]:
    if step.iterate_on is not None:
        yield f"over {words.value(step.iterate_on)}"
    asked = (("while", step.while_), ("until", step.until), ("leaves when", step.break_when))
    for word, condition in asked:
        if condition is not None:
            yield f"{word} {words.condition(condition)}"
    if step.max_iterations is not None:
        yield f"at most {counted_bound(step.max_iterations, 'round', words.value)}"
    if step.concurrency != 1:
        yield f"{number_bound(step.concurrency, words.value)} at once"


def _graph(step: TaskGraphStep, words: StepWording) -> Iterator[str]:
    given = step.tasks
    yield f"over {counted(len(given), 'task') if isinstance(given, list) else words.value(given)}"
    if step.max_tasks is not None:
        yield f"at most {counted_bound(step.max_tasks, 'task', words.value)}"
    if step.max_iterations is not None:
        yield f"at most {counted_bound(step.max_iterations, 'attempt', words.value)}"
    if step.concurrency != 1:
        yield f"{number_bound(step.concurrency, words.value)} at once"
    if step.order == "critical_path":
        yield "critical path first"
    if step.task_retries:
        more, of_each = "more attempt of each task", "more attempts of each task"
        yield counted_bound(step.task_retries, more, words.value, of_each)
    if isinstance(step.on_failed_task, str) and step.on_failed_task != "block":
        yield f"after a failed task: {step.on_failed_task}"


_JOINED = {
    "all": "until all ended",
    "any": "until any succeeded",
    "fallback": "one after another until one succeeded",
    "best": "all run, the best wins",
}


def _parallel(step: ParallelStep, words: StepWording) -> Iterator[str]:
    yield counted(len(step.branches), "branch", "branches")
    if step.only is not None:
        yield f"only {words.value(step.only)}"
    if isinstance(step.join, str):
        yield _JOINED.get(step.join) or f"joined as {words.value(step.join)}"
    else:
        yield f"until {step.join} succeeded"


def _score_words(score: object, words: StepWording) -> str:
    return "" if score is None else f", scored {words.value(score)}"


def asking(terms: DecisionTerms, words: StepWording) -> tuple[str, ...]:
    """Return who decides, and until when."""
    who = f"by {', '.join(terms.approvers)}" if terms.approvers else "by anyone"
    if terms.deadline is None:
        return who, "no deadline"
    allowed = duration_bound(terms.deadline, words.value)
    return who, f"within {allowed}, else {terms.on_timeout}"


def _waiting(step: AnyWait, words: StepWording) -> Iterator[str]:
    match step:
        case DurationWait(duration=length):
            shown = _text(length, words) if isinstance(length, str) else duration(length)
            yield f"for {shown}"
        case TimeWait(time=time):
            yield f"until {_text(time, words)}"
        case SignalWait() | MessageWait():
            signal = step.awaited_signal
            yield "for a message" if signal is None else f"for the signal {signal}"
            if step.deadline is not None:
                yield f"within {duration_bound(step.deadline, words.value)}"


def _text(written: str, words: StepWording) -> str:
    """Format a text that may be a template."""
    return words.value(written) if is_template(written) else written
