"""Steps as text: one line each, what they hold below them."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from coterie.text.durations import duration
from coterie.text.problems import counted
from dsl.evaluate.condition_text import condition_text, value_text
from dsl.model.plan import Plan
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
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)
from dsl.model.terms import Approval, Consent, DecisionTerms, consent


def step_lines(steps: Sequence[Step], plan: Plan, depth: int) -> Iterator[str]:
    """The steps and what is in them, two blanks deeper each level."""
    for step in steps:
        asked = "" if step.when is None else f"  when {condition_text(step.when)}"
        yield f"{'  ' * depth}- {step.name}: {_step(step, plan)}{asked}"
        for label, inner in _inside(step, plan):
            if label:
                yield f"{'  ' * (depth + 1)}{label}"
            yield from step_lines(inner, plan, depth + (2 if label else 1))


def _inside(step: Step, plan: Plan) -> Iterator[tuple[str, Sequence[Step]]]:
    """The lists of steps that a step holds, each with what leads there."""
    match step:
        case LoopStep(body=body):
            yield "", body
        case BranchStep(branches=ways, otherwise=otherwise):
            for way in ways:
                yield f"if {condition_text(way.condition)}", way.steps
            if otherwise:
                yield "otherwise", otherwise
        case ParallelStep(branches=branches):
            yield from ((f"way {name}", inner) for name, inner in branches.items())
        case TryStep(steps=tried, catch=catches, finally_=last):
            yield "", tried
            for catch in catches:
                errors = (catch.error,) if isinstance(catch.error, str) else catch.error
                yield f"on {', '.join(errors)}", catch.steps
            if last:
                yield "finally", last
        case AgentStep(agent_type="generic_orchestrating", persona_key=str(key)):
            yield "", plan.personas[key].execution_plan or ()
        case _:
            return


def _step(step: Step, plan: Plan) -> str:  # noqa: C901  # one line for each kind
    match step:
        case AgentStep():
            return _agent(step, plan)
        case SkillStep():
            effect = f" ({step.terms.effect})" if step.terms else ""
            return f"skill {step.skill}{effect}{_consent(step.requires_approval, 'result')}"
        case ToolStep():
            return f"tool {step.tool}"
        case LoopStep():
            return _loop(step)
        case BranchStep():
            return "branch"
        case ParallelStep():
            joined = step.join if isinstance(step.join, str) else f"{step.join} of them"
            return f"parallel, until {joined} ended"
        case SetStep():
            return f"set {', '.join(step.values)}"
        case ApprovalStep():
            return _approval(step)
        case WaitStep():
            return _wait(step)
        case TeamStep():
            return f"team {step.team}"
        case TryStep():
            return "try"
        case ReturnStep():
            return f"return {value_text(step.value)}"
        case FailStep():
            return f"fail with {step.error}"
        case _:
            assert_never(step)


def _agent(step: AgentStep, plan: Plan) -> str:
    approval = _consent(step.requires_approval, "answer")
    if step.conversation is not None:
        approval = f", in the conversation {step.conversation}{approval}"
    if step.agent_class is not None:
        return f"agent {step.agent_class} (legacy){approval}"
    key = step.persona_key or ""
    persona = plan.personas[key]
    if step.agent_type == "generic_orchestrating":
        return f"agent {key}, by its plan{approval}"
    return f"agent {key} ({persona.provider}/{persona.model}){approval}"


def _loop(step: LoopStep) -> str:
    parts: list[str] = []
    if step.iterate_on is not None:
        parts.append(f"over {value_text(step.iterate_on)}")
    asked = (("while", step.while_), ("until", step.until), ("leave when", step.break_when))
    parts += [f"{word} {condition_text(one)}" for word, one in asked if one is not None]
    if step.max_iterations is not None:
        parts.append(f"at most {counted(step.max_iterations, 'round')}")
    if step.concurrency > 1:
        parts.append(f"{step.concurrency} at once")
    return f"loop {', '.join(parts)}"


def _consent(approval: Approval, what: str) -> str:
    """`, a person allows it first`; with terms also who, and within which time."""
    terms = consent(approval)
    if terms is None:
        return ""
    told = (
        f", a person accepts its {what}" if terms.when == "after" else ", a person allows it first"
    )
    return f"{told}: {_who(terms)}" if isinstance(approval, Consent) else told


def _approval(step: ApprovalStep) -> str:
    return f"approval by {_who(step)}"


def _who(terms: DecisionTerms) -> str:
    who = ", ".join(terms.approvers) or "anyone"
    if terms.deadline is None:
        return who
    return f"{who} within {duration(terms.deadline)}, else {terms.on_timeout}"


def _wait(step: WaitStep) -> str:
    if step.signal is not None:
        within = "" if step.deadline is None else f" within {duration(step.deadline)}"
        return f"wait for the signal {step.signal}{within}"
    if step.time is not None:
        return f"wait until {step.time}"
    return f"wait {step.duration}"
