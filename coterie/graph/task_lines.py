"""Build the content of a team's box: its tasks, their kinds, and who does them.

Blocks show the steps that they contain. Of an agent's own plan, only steps that call a model or ask
a person are shown; `coterie plan` shows the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coterie.dsl.evaluate.condition_text import expression_words, value_text
from coterie.dsl.kinds import kind_of
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.model.step_kinds.step_list import Concurrent
from coterie.dsl.model.steps import ApprovalStep, PersonaStep, Step, StepKind, TeamStep
from coterie.dsl.model.traversal.agent_personas import execution_plans
from coterie.dsl.model.traversal.step_walk import walk
from coterie.graph.condition_labels import condition_words
from coterie.text.approval_words import approval
from coterie.text.step_words import StepWording, bounds, heading, is_left_out


def value_words(value: object) -> str:
    """Return a value of a plan, without the braces of a template."""
    return expression_words(value_text(value))


_WORDS = StepWording(
    condition=lambda condition: " and ".join(condition_words(condition)),
    value=value_words,
    agent_class=lambda path: path.rpartition(".")[2],
)


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One task or step."""

    path: str
    """Path within the team, as the trail names it: `coder/apply`; empty without trail entries."""
    depth: int
    kind: StepKind | None
    """None for a heading, such as the condition of a branch."""
    name: str
    detail: tuple[str, ...]
    """Details, most important first."""
    approval: str = ""
    """The approval before or after it."""


def task_lines(steps: Sequence[Step], plan: Plan) -> Iterator[TaskLine]:
    """Yield the tasks of a team with their nested steps, in document order."""
    yield from _lines(steps, plan, "", 0)


def called_teams(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the teams that run as steps of this one, each once."""
    return tuple(
        dict.fromkeys(step.team for step, _ in walk(steps, ()) if isinstance(step, TeamStep))
    )


def _lines(steps: Sequence[Step], plan: Plan, above: str, depth: int) -> Iterator[TaskLine]:
    for step in steps:
        path = f"{above}/{step.name}" if above else step.name
        when = (f"if {_WORDS.condition(step.when)}",) if step.when is not None else ()
        detail = (*kind_of(step).details(step, plan, _WORDS), *when, *bounds(step, _WORDS))
        yield TaskLine(path, depth, step.kind, step.name, detail, approval(step, plan, _WORDS))
        yield from _plan_lines(step, plan, path, depth + 1)
        for title, inner, below in _inside(step, path):
            if title:
                yield TaskLine("", depth + 1, None, title, ())
            yield from _lines(inner, plan, below, depth + 1)


def _plan_lines(step: Step, plan: Plan, above: str, depth: int) -> Iterator[TaskLine]:
    """Yield the steps of an agent's own plan that call a model or ask a person."""
    for agent, steps in execution_plans(step, plan.personas):
        if isinstance(step, PersonaStep) and step.personas:
            yield TaskLine("", depth, None, f"as {agent.persona_name}", ())
        for inner, path in _plan_steps(steps, above):
            approval_text = approval(inner, plan, _WORDS)
            if isinstance(inner, AgentStep | ApprovalStep) or approval_text:
                detail = tuple(kind_of(inner).details(inner, plan, _WORDS))
                yield TaskLine(path, depth, inner.kind, inner.name, detail, approval_text)
            yield from _plan_lines(inner, plan, path, depth + 1)


def _plan_steps(steps: Sequence[Step], above: str) -> Iterator[tuple[Step, str]]:
    for step in steps:
        path = f"{above}/{step.name}"
        yield step, path
        for _, inner, below in _inside(step, path):
            yield from _plan_steps(inner, below)


def _inside(step: Step, path: str) -> Iterator[tuple[str, Sequence[Step], str]]:
    """Yield the step lists inside a step: the heading, the steps, the prefix of their paths."""
    for step_list in step.lists():
        if not is_left_out(step_list):
            below = (
                f"{path}/{step_list.role.name}" if isinstance(step_list.role, Concurrent) else path
            )
            yield heading(step_list.role, _WORDS), step_list.steps, below
