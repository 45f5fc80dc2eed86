"""Calls that send data out: a person approves them once a run has met private and untrusted data.

An approval covers one call with these arguments. What a run has met is state, and holds for every
step, agent and team of the run.
"""

from typing import NamedTuple, assert_never

from pydantic import JsonValue

from coterie.dsl.egress.counted_grants import counted_grants
from coterie.dsl.egress.egress_rules import (
    GrantedCall,
    MayCall,
    MustAsk,
    egress_decision,
)
from coterie.dsl.egress.egress_wording import egress_question
from coterie.dsl.egress.met_labels import KEPT, without_numbers
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.capabilities import Effect, KeptLabel, Label
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.approvals.decisions import is_approved, rejected
from coterie.workflows.core.causes.agent_causes import (
    EgressAsked,
    EgressGranted,
    LabelMet,
    LabelsCleared,
)
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import SendingCall
from coterie.workflows.core.requests import Decision, PlannedCall
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.trail import note_request, note_step


class LabelledCall(NamedTuple):
    """A call whose labels count."""

    name: str
    """Of the tool, or of the tool function of a step."""
    labels: tuple[Label, ...] = ()
    grants: tuple[KeptLabel, ...] = ()
    runs: str = ""
    """The tool function, the server's tool, the agent or the team, if it is not the name."""
    effect: Effect = "once"

    @classmethod
    def of_tool(cls, name: str, tool: Tool) -> "LabelledCall":
        """Return the call of a tool."""
        return cls(name, tool.labels, tool.grants, tool.made_of, tool.effect)

    @classmethod
    def of_function(cls, function: str, terms: FunctionTerms | None) -> "LabelledCall":
        """Return the call of a tool function by a step."""
        return cls(function) if terms is None else cls(function, terms.labels, effect=terms.effect)

    @property
    def planned(self) -> PlannedCall:
        """What would run."""
        return PlannedCall(name=self.runs or self.name, effect=self.effect)

    @property
    def sends(self) -> bool:
        """Whether its arguments leave the system."""
        return "egress" in self.labels


async def refused_egress(
    call: LabelledCall, given: JsonValue, location: Location, scope: Scope
) -> Outcome | None:
    """Return the failure of a call that a person does not let send data out; None if it may run.

    Args:
        call: the call.
        given: its whole input, as it would run.
        location: of the call.
        scope: the run.
    """
    terms = scope.plan.egress_approval
    if terms is None or not call.sends:
        return None
    state, key, digest = scope.state, location.key, json_digest("", given)
    calls = state.progress.sending_calls
    while True:
        sending_call = calls.get(key)
        if sending_call is not None and sending_call.approved and sending_call.digest == digest:
            return None
        asks: MustAsk | None = MustAsk(())  # a question that is open stays
        if key not in state.progress.requests:
            asks = _to_ask(call, location, scope)
            if asks is None:
                return None
            calls[key] = sending_call = SendingCall(digest)
        prompt = egress_question(call.name, asks.sources, terms.prompt)
        met = without_numbers(asks.sources)
        request = PersonRequest(prompt, given, terms, call=call.planned, met=met)
        decision = await ask(scope, location, request)
        calls.pop(key, None)
        if not is_approved(decision):
            return rejected(decision)
        # if the digest differs, the arguments have changed since
        if sending_call is not None and sending_call.digest == digest:
            calls[key] = SendingCall(digest, approved=True)


def _to_ask(call: LabelledCall, location: Location, scope: Scope) -> MustAsk | None:
    """Return why a person is asked about a call that has not asked yet; None if nobody is."""
    met = scope.state.labels.since(_latest_covered_label(location, scope.state))
    grants = counted_grants(call.grants, location.enclosing_tools, scope.plan)
    decision = egress_decision(call.labels, grants.counted, met)
    match decision:
        case MayCall():
            return None
        case GrantedCall(sources):
            granted = EgressGranted(
                "egress_granted",
                call.name,
                grants.counted,
                sources,
                grants.within,
                grants.withheld,
            )
            note_request(scope, location, "not_asked", granted)
            return None
        case MustAsk(sources):
            cause = EgressAsked("egress_asked", call.name, sources, grants.withheld)
            note_request(scope, location, "asked", cause)
            return decision
        case _:
            assert_never(decision)


def approve_call(decision: Decision, given: JsonValue, location: Location, scope: Scope) -> None:
    """Let a call send out these arguments: a person has seen and approved them."""
    if decision.how != "deadline" and scope.plan.egress_approval is not None:
        approved = SendingCall(json_digest("", given), approved=True)
        scope.state.progress.sending_calls[location.key] = approved


def end_call(call: LabelledCall, location: Location, scope: Scope) -> None:
    """Keep what a call has brought, also if it failed; its approval ends with it."""
    if scope.plan.egress_approval is not None:
        scope.state.progress.sending_calls.pop(location.key, None)
    meet_labels(call, location, scope)


def meet_labels(call: LabelledCall, location: Location, scope: Scope) -> None:
    """Keep what a call has brought, for calls that send data out and for those that write."""
    state = scope.state
    state.met_untrusted = state.met_untrusted or "untrusted" in call.labels
    if scope.plan.egress_approval is None:
        return
    latest = max(state.progress.cleared_labels.values(), default=0)
    for source in state.labels.meet(call.labels, call.name, str(location.step), latest):
        note_step(scope, location, "met", LabelMet("label_met", source.label, source.tool))


def clear_labels(location: Location, scope: Scope) -> None:
    """Count what was met before no more: a person has decided at an approval step.

    Within concurrent work it counts no more there, until that work ends: nobody can tell what the
    other branches do with it.
    """
    state = scope.state
    met = state.labels.since(_latest_covered_label(location, state))
    if not met:
        return
    within = _concurrent_work(location.key, state)
    if within is None:
        state.labels.clear()
    else:
        state.progress.cleared_labels[within] = state.labels.count
    labels: tuple[KeptLabel, ...] = tuple(
        label for label in KEPT if any(source.label == label for source in met)
    )
    named = "" if within is None else str(within.step)
    note_step(scope, location, "cleared", LabelsCleared("labels_cleared", labels, named))


def forget_clearances(key: StateKey, state: RunState) -> None:
    """Drop the clearances of concurrent work that has ended at or below a step."""
    cleared = state.progress.cleared_labels
    for cleared_key in [cleared_key for cleared_key in cleared if key.holds(cleared_key)]:
        del cleared[cleared_key]


def _latest_covered_label(location: Location, state: RunState) -> int:
    """Return the number of the latest label that an approval covers here."""
    cleared = state.progress.cleared_labels
    if not cleared:
        return 0
    key = location.key
    return max(
        (number for cleared_key, number in cleared.items() if StateKey(cleared_key).holds(key)),
        default=0,
    )


def _concurrent_work(key: StateKey, state: RunState) -> StateKey | None:
    """Return the innermost branch, round, task or call of a model that contains a location."""
    progress = state.progress
    above = [
        work_key
        for kind in (
            progress.parallels,
            progress.concurrent_loops,
            progress.task_graphs,
            progress.tool_loops,
        )
        for work_key in kind
        if work_key != key and StateKey(work_key).holds(key)
    ]
    if ">" in key:
        above.append(key[: key.rindex(">")])
    return key.part_of(max(above, key=len)) if above else None
