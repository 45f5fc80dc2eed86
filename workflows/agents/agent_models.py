"""Decide which model takes the next call of an agent, and in which conversation. Pure.

The next model of a persona takes over when the retries of the one before have ended. A conversation
stays with the model that took over, so its prefix does not change again.

A conversation that has become long continues as a new one with a summary.
"""

from dataclasses import dataclass
from typing import Self

from coterie.activities.contracts import (
    AgentRequest,
    CompactionTurn,
    ContextUse,
    FailureType,
)
from coterie.dsl.model.personas.compaction_policy import Compaction
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model_names import split_model
from coterie.dsl.tool_loop.context_room import CompactionDue, compaction_due, compaction_limit
from coterie.workflows.budgets.call_estimates import estimated_news
from coterie.workflows.core.causes.agent_causes import ModelReplaced
from coterie.workflows.core.scope import CallFailed

UNAVAILABLE = (
    FailureType.PROVIDER_UNAVAILABLE,
    FailureType.RATE_LIMITED,
    FailureType.ANSWER_UNREADABLE,
)
"""Failures of a provider, and not of the request: another one may answer."""

OF_FALLBACK = (
    FailureType.PROVIDER_REFUSED,
    FailureType.MISSING_SECRET,
    FailureType.CONTEXT_WINDOW_EXCEEDED,
)
"""Failures of a fallback that has taken over a request: the next one may take it."""


@dataclass(eq=False)
class AgentModels:
    """The models of one agent, and how full its conversation is."""

    models: tuple[str, ...]
    """`provider/model` of the persona, then its fallbacks in written order."""
    policy: Compaction | None = None
    max_tokens: int = 0
    """Of an answer."""
    used: ContextUse | None = None
    """How full the conversation is; None if unknown."""
    at: int = 0
    """The place of the current model."""

    @classmethod
    def of(
        cls, plan: Plan, key: str, persona: Persona | None, latest: str, used: ContextUse | None
    ) -> Self:
        """Continue with the model that took over before.

        Args:
            plan: of the run.
            key: of the persona in the plan.
            persona: of the agent; None for a legacy agent, which has no conversation.
            latest: the fallback that took over; empty if none did.
            used: how full the conversation is.
        """
        if persona is None:
            return cls(("",))
        known = plan.personas.get(key)
        fallbacks = () if known is None else known.fallback
        models = (f"{persona.provider}/{persona.model}", *fallbacks)
        at = models.index(latest) if latest in models else 0
        return cls(models, persona.compaction, persona.max_tokens, used, at)

    @property
    def current(self) -> str:
        """`provider/model` of the next call; empty for a legacy agent."""
        return self.models[self.at]

    @property
    def fallback(self) -> str:
        """The fallback that has taken over; empty if none has."""
        return self.current if self.at else ""

    def addressed(self, request: AgentRequest) -> AgentRequest:
        """Return the request for the current model."""
        return _addressed_to(self.current, request, self.models[0]) if self.at else request

    def replace(self, error: CallFailed) -> ModelReplaced | None:
        """Take the next model, if another one may answer after a failure of the current one."""
        leads_on = error.type in UNAVAILABLE or (self.at > 0 and error.type in OF_FALLBACK)
        if not leads_on or self.at + 1 == len(self.models):
            return None
        failed, self.at = self.current, self.at + 1
        return ModelReplaced("model_replaced", failed, self.current, error.type, error.message)

    def due(self, request: AgentRequest) -> CompactionDue | None:
        """Return why the conversation is compacted before a request; None if it is not."""
        used = self.used
        if used is None or not _has_earlier(request):
            return None
        turn = request.tool_turn
        waiting = turn is not None and bool(turn.results)
        if used.turns <= waiting:
            return None  # nothing could be summed up
        return compaction_due(used.tokens + estimated_news(request), self._limit())

    def due_after(self, request: AgentRequest, failed: CallFailed) -> CompactionDue | None:
        """Return why it is compacted after the worker refused a request; None if it is not."""
        if failed.type != FailureType.CONTEXT_WINDOW_EXCEEDED or self.policy is None:
            return None
        if not _has_earlier(request):
            return None
        return CompactionDue("window_exceeded", 0, self._limit() or 0)

    def summary(
        self, request: AgentRequest, due: CompactionDue
    ) -> tuple["AgentModels", AgentRequest]:
        """Return the models that sum the conversation up, and what they are asked."""
        policy = self.policy
        assert policy is not None, "a conversation is due by its policy"
        asked = CompactionTurn(
            keep_turns=policy.keep_turns,
            limit=due.limit,
            prompt=policy.prompt or "",
            other_model=policy.model is not None,
        )
        request = request.model_copy(update={"compaction": asked, "notices": (), "reask": None})
        if policy.model is None:
            return self, request
        return AgentModels((policy.model,)), _addressed_to(policy.model, request, self.models[0])

    def _limit(self) -> int | None:
        """Return the most tokens of a request; None if unknown, or if nothing is compacted."""
        if self.policy is None:
            return None
        window = None if self.used is None else self.used.window
        return compaction_limit(self.policy, window, self.max_tokens)


def _addressed_to(name: str, request: AgentRequest, planned: str) -> AgentRequest:
    """Return the request for another model than the planned one, both `provider/model`."""
    provider, model = split_model(name)
    if request.persona is None:
        return request.model_copy(update={"provider": provider, "model": model})
    persona = request.persona.model_copy(update={"provider": provider, "model": model})
    turn = request.tool_turn
    if turn is not None:  # the agent stays the same one in its conversation
        turn = turn.model_copy(update={"planned": planned})
    return request.model_copy(update={"persona": persona, "tool_turn": turn})


def _has_earlier(request: AgentRequest) -> bool:
    return request.conversation is not None and request.conversation.head is not None
