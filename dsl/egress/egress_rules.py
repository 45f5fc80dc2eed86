"""Decide whether a call may send data out, from what the run has met. Pure.

Text that others wrote may contain instructions, and a model may follow them. With private data at
hand, a call with `egress` could then send it anywhere. So a person approves the call, unless the
document grants it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from coterie.dsl.egress.met_labels import KEPT, MetLabel
from coterie.dsl.model.capabilities import KeptLabel, Label
from coterie.dsl.model.decision_terms import Approval, CallApproval, call_approval
from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.steps import FunctionStep, PersonaStep
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.traversal.step_walk import walk

_MAX_SOURCES = 3
"""Calls that a question names for each label."""


@dataclass(frozen=True, slots=True)
class MayCall:
    """The call sends nothing out, or the run has not met both labels."""


@dataclass(frozen=True, slots=True)
class GrantedCall:
    """The document grants the call, whatever the run has met."""

    sources: tuple[MetLabel, ...]


@dataclass(frozen=True, slots=True)
class MustAsk:
    """A person must approve the call."""

    sources: tuple[MetLabel, ...]


EgressDecision = MayCall | GrantedCall | MustAsk


def egress_decision(
    labels: Collection[Label], grants: Collection[KeptLabel], met: Sequence[MetLabel]
) -> EgressDecision:
    """Decide about one call.

    Args:
        labels: of the tool.
        grants: those of the tool that count in this call: one of them breaks the chain from text
            of others to private data.
        met: what the run has met, oldest first.
    """
    if "egress" not in labels or any(
        all(source.label != label for source in met) for label in KEPT
    ):
        return MayCall()
    named = tuple(
        source
        for label in KEPT
        for source in [source for source in met if source.label == label][:_MAX_SOURCES]
    )
    return GrantedCall(named) if grants else MustAsk(named)


def shows_arguments(terms: CallApproval) -> bool:
    """Return whether who approves a call sees its arguments before it is made."""
    return terms.at == "before" and terms.show is None


def always_covers(asked: Approval) -> bool:
    """Return whether an approval of a call always covers what it sends out."""
    terms = call_approval(asked)
    if terms is None or terms.when is not None:
        return False
    return shows_arguments(terms) and terms.only_people_approve


def may_ask(tool: Tool, plan: Plan, *, always_granted: bool) -> bool:
    """Return whether a run may ask about calls of a tool, because of their labels.

    Args:
        tool: that is called.
        plan: of the run.
        always_granted: whether a grant of the tool counts in every call.
    """
    if plan.egress_approval is None or "egress" not in tool.labels or always_granted:
        return False
    return not always_covers(tool.requires_approval)


def can_send_private_data(plan: Plan, *, notifies: bool = False) -> bool:
    """Return whether calls of a plan may bring both labels, and another sends data out.

    What is private may show a file that an earlier run wrote: only the worker knows whether that
    one had met text of others.

    Args:
        plan: of the run.
        notifies: whether its questions notify people through a channel, which sends data out.
    """
    labels: set[Label] = {"egress"} if notifies else set()
    labels |= {label for tool in plan.tools.values() for label in tool.labels}
    lists = [team.steps for team in plan.teams.values()]
    lists += [
        persona.execution_plan for persona in plan.personas.values() if persona.execution_plan
    ]
    for steps in lists:
        for step, _ in walk(steps, ()):
            if isinstance(step, FunctionStep) and step.terms is not None:
                labels.update(step.terms.labels)
            if isinstance(step, AgentStep) and has_own_code(step):
                labels.update(KEPT)  # nobody knows which tool functions it calls before it runs
    labels.update(label for _, terms in hook_terms(plan) for label in terms.labels)
    return labels >= {"private", "egress"}


def has_own_code(step: AgentStep) -> bool:
    """Return whether an agent is of a type that the worker adds, whose code may call functions."""
    built_in = (None, SINGLE_SHOT, TOOL_CALLING, ORCHESTRATING)
    return isinstance(step, PersonaStep) and step.agent_type not in built_in


def hook_terms(plan: Plan) -> Iterator[tuple[Hook, FunctionTerms]]:
    """Yield the hooks of a run and its agents that call a tool function, with the call's terms."""
    hooks = [*plan.hooks, *(hook for persona in plan.personas.values() for hook in persona.hooks)]
    yield from ((hook, hook.terms) for hook in hooks if hook.terms is not None)
