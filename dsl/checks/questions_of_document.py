"""The questions that a run of a document may ask people."""

from collections.abc import Iterator
from typing import NamedTuple

from coterie.dsl.checks.budget_checks import sections
from coterie.dsl.model.budgets import written
from coterie.dsl.model.decision_terms import (
    CallApproval,
    DecisionTerms,
    LimitQuestion,
    channels,
)
from coterie.dsl.model.document import Orchestration, SystemDocument
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.model.steps import ApprovalStep, FunctionStep
from coterie.dsl.problem_texts import called
from coterie.dsl.values import NodePath


class Question(NamedTuple):
    """A question that a run of the document may ask."""

    name: str
    """`the approval 'sign_off'`."""
    terms: DecisionTerms
    path: NodePath
    """Where its terms are written."""
    nothing_sent: bool = False
    """Whether it asks before a step that has no input."""


def approval_of_tool(name: str) -> str:
    """Return how a problem calls the question before calls of a tool."""
    return f"the approval of the tool {name!r}"


def _approval_before_step(name: str) -> str:
    return f"the approval of {called(name)}"


def _question_of_budget(kind: str) -> str:
    return f"the question of the budget `{kind}`"


def questions_of(document: SystemDocument, orchestration: Orchestration) -> Iterator[Question]:
    """Yield every question, with the place of its terms."""
    yield from _of_the_run(orchestration)
    for budgets, path in sections(document, orchestration):
        for kind, budget in written(budgets):
            if isinstance(budget.on_exceeded, LimitQuestion):
                name = _question_of_budget(kind)
                yield Question(name, budget.on_exceeded.ask, (*path, kind, "on_exceeded", "ask"))
    for name, tool in document.tools.items():
        if isinstance(tool.requires_approval, CallApproval):
            yield Question(
                approval_of_tool(name),
                tool.requires_approval,
                ("tools", name, "requires_approval"),
            )
    for step, path in document.steps:
        match step:
            case ApprovalStep():
                yield Question(called(step.name, "the approval"), step, path)
            case (
                AgentStep(requires_approval=CallApproval() as terms)
                | FunctionStep(requires_approval=CallApproval() as terms)
            ):
                yield Question(
                    _approval_before_step(step.name),
                    terms,
                    (*path, "requires_approval"),
                    nothing_sent=step.input is None,
                )
            case _:
                pass


def names_channel(document: SystemDocument, orchestration: Orchestration) -> bool:
    """Return whether a question of a run notifies people through a channel of the worker."""
    if channels(orchestration.notify):
        return True
    questions = questions_of(document, orchestration)
    return any(
        question.terms.notify is not None and channels(question.terms.notify)
        for question in questions
    )


def _question_of_no_progress() -> str:
    return "the question of `no_progress`"


def _question_of_egress() -> str:
    return "the question of `egress_approval`"


def _of_the_run(orchestration: Orchestration) -> Iterator[Question]:
    """Yield the questions that any step may lead to."""
    if isinstance(orchestration.no_progress, LimitQuestion):
        path: NodePath = ("orchestration", "no_progress", "ask")
        yield Question(_question_of_no_progress(), orchestration.no_progress.ask, path)
    if orchestration.egress_approval is not None:
        path = ("orchestration", "egress_approval")
        yield Question(_question_of_egress(), orchestration.egress_approval, path)


def decider_places(terms: DecisionTerms) -> Iterator[tuple[str, NodePath]]:
    """Yield the people and groups that may decide, and where they are written."""
    for index, name in enumerate(terms.approvers):
        yield name, ("approvers", index)
    for index, escalation in enumerate(terms.escalate):
        for at, name in enumerate(escalation.to):
            yield name, ("escalate", index, "to", at)
