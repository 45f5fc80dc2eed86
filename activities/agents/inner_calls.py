"""What the own code of an agent may call within its turn, where the run asks nobody."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from temporalio.exceptions import ApplicationError

from coterie.activities.agents.agent_base import FunctionCaller
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.attempts import handed_on
from coterie.activities.contracts import FunctionRequest, FunctionResult, InnerCall
from coterie.dsl.egress.channel_labels import call_labels, kind_of_call
from coterie.dsl.model.capabilities import FunctionContract, Label, Reach
from coterie.dsl.values import Json


@dataclass(frozen=True, slots=True)
class InnerCalls:
    """What a worker knows of the tool functions that an agent's own code calls."""

    contracts: Mapping[str, FunctionContract]
    reach: Reach = field(default_factory=Reach)

    def of(self, request: FunctionRequest) -> InnerCall | None:
        """Return what the run learns of a call: the labels that it brings, and its effect.

        Raises:
            AgentRefused: The call sends data out: the run may have to ask a person first.
        """
        contract = self.contracts.get(request.skill)
        if contract is None:
            return None
        labels = call_labels(contract, request.input, self.reach)
        if "egress" in labels:
            offline = (
                "; if the function uses no network, name it in `worker.offline_tools`"
                if kind_of_call(contract.name) == "function"
                else ""
            )
            raise AgentRefused(
                f"an agent type cannot call {contract.name}: it sends data out (egress), and only "
                "the run can ask a person first. Call it in a step, with `tool:` or `skill:`, and "
                f"give its result to the agent{offline}"
            )
        return InnerCall(skill=contract.name, effect=contract.effect, labels=labels)


class InnerMeter(Protocol):
    """What counts the calls of a turn."""

    @property
    def has_met_untrusted(self) -> bool:
        """Whether the agent's own code has met text of others, in any attempt."""
        ...

    def note_call(self, call: InnerCall) -> None:
        """Keep that a tool function is called."""
        ...

    def details(self) -> tuple[Json, ...]:
        """Return what the turn has used, as failure details."""
        ...


@dataclass(frozen=True, slots=True)
class InnerCaller:
    """Calls tool functions for an agent's own code within one turn, and tells the run of it."""

    call: FunctionCaller
    calls: InnerCalls
    meter: InnerMeter
    untrusted: bool
    """Whether the run had met text of others before the turn."""

    async def __call__(self, request: FunctionRequest) -> FunctionResult:
        """Call a tool function.

        Raises:
            AgentRefused: The call sends data out.
            ApplicationError: It failed, with what the turn has used.
        """
        untrusted = self.untrusted or self.meter.has_met_untrusted
        inner = self.calls.of(request)
        if inner is not None:
            self.meter.note_call(inner)
        try:
            result = await self.call(request.model_copy(update={"untrusted": untrusted}))
        except ApplicationError as error:
            spent = handed_on(error.details)
            for call in () if spent is None else spent.inner_calls:
                self._note_labels(inner, call.labels)
            raise ApplicationError(
                error.message,
                *self.meter.details(),
                type=error.type,
                non_retryable=error.non_retryable,
                next_retry_delay=error.next_retry_delay,
                category=error.category,
            ) from None
        self._note_labels(inner, result.labels)
        return result

    def _note_labels(self, inner: InnerCall | None, met: Iterable[Label]) -> None:
        """Keep what the call has brought beside the labels of its tool function."""
        if inner is not None and not set(met) <= set(inner.labels):
            labels = tuple(dict.fromkeys((*inner.labels, *met)))
            self.meter.note_call(inner.model_copy(update={"labels": labels}))
