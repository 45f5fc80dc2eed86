"""What stands in a team's box: its tasks, what each is, who does it.

Blocks show the steps that they hold. Of an agent's own plan only those steps are shown that ask
a model or a person: the rest is `coterie plan`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from coterie.graph.condition_labels import condition_words, expression_words
from coterie.text.durations import duration
from coterie.text.problems import counted
from dsl.evaluate.condition_text import value_text
from dsl.model.conditions import Condition
from dsl.model.plan import Plan
from dsl.model.step_walk import walk
from dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BranchStep,
    FailStep,
    LoopStep,
    ParallelStep,
    ReturnStep,
    SetStep,
    SkillStep,
    Step,
    StepKind,
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)
from dsl.model.terms import Consent, DecisionTerms, consent


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task or step."""

    path: str
    """Within the team, as the trail names it: `coder/apply`; empty for what no trail names."""
    depth: int
    kind: StepKind | None
    """None for a heading, like the condition of a branch."""
    name: str
    detail: tuple[str, ...]
    """What is to know of it, most important first."""
    approval: str = ""
    """Which approval stands before or after it."""


def task_lines(steps: Sequence[Step], plan: Plan) -> Iterator[TaskLine]:
    """The tasks of a team with what is in them, in written order."""
    yield from _lines(steps, plan, "", 0)


def called_teams(steps: Sequence[Step]) -> tuple[str, ...]:
    """The teams that run as steps of this one, each once."""
    return tuple(
        dict.fromkeys(step.team for step, _ in walk(steps, ()) if isinstance(step, TeamStep))
    )


def _lines(steps: Sequence[Step], plan: Plan, above: str, depth: int) -> Iterator[TaskLine]:
    for step in steps:
        path = f"{above}/{step.name}" if above else step.name
        when = (f"if {_asked(step.when)}",) if step.when is not None else ()
        detail = (*_detail(step, plan), *when, *_bounds(step))
        yield TaskLine(path, depth, step.kind, step.name, detail, _approval(step))
        if isinstance(step, AgentStep):
            yield from _planned(step, plan, path, depth + 1)
        for heading, inner, below in _inside(step, path):
            if heading:
                yield TaskLine("", depth + 1, None, heading, ())
            yield from _lines(inner, plan, below, depth + 1)


def _planned(step: AgentStep, plan: Plan, above: str, depth: int) -> Iterator[TaskLine]:
    """What of an agent's own plan asks a model or a person."""
    for inner, path in _plan_steps(_own_plan(step, plan), above):
        if isinstance(inner, AgentStep | ApprovalStep) or _approval(inner):
            detail = _detail(inner, plan)
            yield TaskLine(path, depth, inner.kind, inner.name, detail, _approval(inner))
        if isinstance(inner, AgentStep):
            yield from _planned(inner, plan, path, depth + 1)


def _plan_steps(steps: Sequence[Step], above: str) -> Iterator[tuple[Step, str]]:
    for step in steps:
        path = f"{above}/{step.name}"
        yield step, path
        for _, inner, below in _inside(step, path):
            yield from _plan_steps(inner, below)


def _own_plan(step: AgentStep, plan: Plan) -> tuple[Step, ...]:
    persona = plan.personas.get(step.persona_key or "")
    if persona is None or step.agent_type != "generic_orchestrating":
        return ()
    return persona.execution_plan or ()


def _inside(step: Step, path: str) -> Iterator[tuple[str, Sequence[Step], str]]:
    """The lists of steps in a step: what leads there, the steps, what their paths begin with."""
    match step:
        case LoopStep(body=body):
            yield "", body, path
        case BranchStep(branches=ways, otherwise=otherwise):
            for way in ways:
                yield f"if {_asked(way.condition)}", way.steps, path
            if otherwise:
                yield "otherwise", otherwise, path
        case ParallelStep(branches=branches):
            for name, inner in branches.items():
                yield name, inner, f"{path}/{name}"
        case TryStep(steps=tried, catch=clauses, finally_=last):
            yield "", tried, path
            for clause in clauses:
                errors = (clause.error,) if isinstance(clause.error, str) else clause.error
                told = "any failure" if "*" in errors else ", ".join(errors)
                yield f"after {told}", clause.steps, path
            if last:
                yield "finally", last, path
        case _:
            return


def _asked(condition: Condition) -> str:
    return " and ".join(condition_words(condition))


def _detail(step: Step, plan: Plan) -> tuple[str, ...]:  # noqa: C901  # one case for each kind
    match step:
        case AgentStep():
            return _agent(step, plan)
        case SkillStep(skill=skill):
            return (skill,)
        case ToolStep(tool=tool):
            return (expression_words(tool),)
        case LoopStep():
            return _loop(step)
        case BranchStep() | TryStep():
            return ()
        case ParallelStep(branches=branches, join=join):
            until = {"all": "all ended", "any": "any succeeded"}.get(str(join), f"{join} succeeded")
            return (counted(len(branches), "way"), f"until {until}")
        case SetStep(values=values):
            return (f"sets {', '.join(values)}",)
        case ApprovalStep():
            return _asking(step)
        case WaitStep():
            return _waiting(step)
        case TeamStep(team=team):
            return (f"runs {team}",)
        case ReturnStep(value=value):
            return (expression_words(value_text(value)),)
        case FailStep(error=error):
            return (error,)
        case _:
            assert_never(step)


def _agent(step: AgentStep, plan: Plan) -> tuple[str, ...]:
    if step.agent_class is not None:
        return step.agent_class.rpartition(".")[2], "legacy class"
    key = step.persona_key or ""
    persona = plan.personas[key]
    shown = key.partition("@")[0]
    if step.agent_type == "generic_orchestrating":
        count = sum(1 for _ in walk(persona.execution_plan or (), ()))
        return shown, f"plan of {counted(count, 'step')}"
    other = () if step.agent_type in (None, "generic_single_shot") else (step.agent_type,)
    return shown, f"{persona.provider}/{persona.model}", *other


def _loop(step: LoopStep) -> tuple[str, ...]:
    parts: list[str] = []
    if step.iterate_on is not None:
        parts.append(f"over {expression_words(value_text(step.iterate_on))}")
    asked = (("while", step.while_), ("until", step.until), ("leaves when", step.break_when))
    parts += [f"{word} {_asked(one)}" for word, one in asked if one is not None]
    if step.max_iterations is not None:
        parts.append(f"at most {counted(step.max_iterations, 'round')}")
    if step.concurrency > 1:
        parts.append(f"{step.concurrency} at once")
    return tuple(parts)


def _asking(terms: DecisionTerms) -> tuple[str, ...]:
    who = f"by {', '.join(terms.approvers)}" if terms.approvers else "by anyone"
    if terms.deadline is None:
        return who, "no deadline"
    return who, f"within {duration(terms.deadline)}, else {terms.on_timeout}"


def _waiting(step: WaitStep) -> tuple[str, ...]:
    if step.signal is not None:
        within = () if step.deadline is None else (f"within {duration(step.deadline)}",)
        return f"for the signal {step.signal}", *within
    if step.time is not None:
        return (f"until {expression_words(step.time)}",)
    if isinstance(step.duration, str):
        return (f"for {expression_words(step.duration)}",)
    return (f"for {duration(step.duration or 0)}",)


def _bounds(step: Step) -> Iterator[str]:
    if step.timeout is not None:
        yield f"within {duration(step.timeout)}"
    if step.retry is not None and step.retry.retries:
        yield counted(step.retry.retries, "more attempt")
    if step.on_failure == "continue":
        yield "may fail"


def _approval(step: Step) -> str:
    """Which approval stands before or after a step; who decides, when its terms say so."""
    if not isinstance(step, AgentStep | SkillStep):
        return ""
    terms = consent(step.requires_approval)
    if terms is None:
        return ""
    what = "answer" if isinstance(step, AgentStep) else "result"
    told = f"a person accepts its {what}" if terms.when == "after" else "a person allows it first"
    said = isinstance(step.requires_approval, Consent)
    return ", ".join((told, *_asking(terms))) if said else told
