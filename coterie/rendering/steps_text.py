"""Format steps: one line each, with nested steps below."""

from collections.abc import Iterator, Sequence

from coterie.dsl.evaluate.condition_text import condition_text, value_text
from coterie.dsl.kinds import kind_of
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import AgentStep, Step
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.text.approval_words import approval
from coterie.text.step_words import StepWording, bounds, heading, is_left_out

_WORDS = StepWording(condition=condition_text, value=value_text, agent_class=str)


def step_lines(steps: Sequence[Step], plan: Plan, depth: int) -> Iterator[str]:
    """Yield the steps and their nested steps, two blanks deeper per level."""
    for step in steps:
        asked = "" if step.when is None else f"  when {_WORDS.condition(step.when)}"
        yield f"{'  ' * depth}- {step.name}: {_describe_step(step, plan)}{asked}"
        yield from _execution_plan_lines(step, plan, depth)
        for one in step.lists():
            title = heading(one.role, _WORDS)
            if title and not is_left_out(one):
                yield f"{'  ' * (depth + 1)}{title}"
            yield from step_lines(one.steps, plan, depth + (2 if title else 1))


def _execution_plan_lines(step: Step, plan: Plan, depth: int) -> Iterator[str]:
    """Yield the execution plan of an agent; each one below its persona if there are several."""
    for agent, steps in execution_plans(step, plan.personas):
        is_chosen = isinstance(step, AgentStep) and bool(step.personas)
        if is_chosen:
            yield f"{'  ' * (depth + 1)}as {agent.persona_name}"
        yield from step_lines(steps, plan, depth + (2 if is_chosen else 1))


def _describe_step(step: Step, plan: Plan) -> str:
    parts = [
        *kind_of(step).details(step, plan, _WORDS),
        *filter(None, [approval(step, plan, _WORDS)]),
        *bounds(step, _WORDS),
    ]
    begin = kind_of(step).beginning
    return f"{begin}{', '.join(parts)}".strip()
