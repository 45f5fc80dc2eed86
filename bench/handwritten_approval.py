"""A workflow written by hand that drafts, waits for a person, and finishes what was approved.

What someone who needs just this would write: a validated update, a query, a deadline of none.
"""

from datetime import timedelta

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from bench import loop
    from bench.asking import Answer, Asking, OpenTurn, Usage

_RETRIES = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(minutes=1),
    maximum_attempts=loop.RETRIES + 1,
    non_retryable_error_types=["PayloadsTooLarge"],
)


class Decision(BaseModel):
    """The payload of the update."""

    id: str
    decision: str
    by: str = "unknown"
    comment: str = ""


class Asked(BaseModel):
    """A request that waits for a person."""

    id: str
    prompt: str
    show: str
    since: str


class ApprovalInput(BaseModel):
    """How a run is started."""

    topic: str


class ApprovalResult(BaseModel):
    """How a run ended."""

    approved: bool
    by: str
    comment: str
    draft: str
    answer: str
    usage: Usage


@workflow.defn
class DraftAndFinish:
    """Drafts, asks a person, finishes."""

    @workflow.init
    def __init__(self, given: ApprovalInput) -> None:
        self.topic = given.topic
        self.usage = Usage()
        self.asked: Asked | None = None
        self.decision: Decision | None = None

    @workflow.run
    async def run(self, given: ApprovalInput) -> ApprovalResult:
        draft = await self._ask(1)
        self.asked = Asked(
            id="review/sign_off#1",
            prompt="Is the draft good?",
            show=draft,
            since=workflow.now().isoformat(),
        )
        workflow.set_current_details(f"waits for a person: {self.asked.prompt}")
        await workflow.wait_condition(lambda: self.decision is not None)
        decision = self.decision
        assert decision is not None
        approved = decision.decision == "approve"
        answer = await self._ask(2) if approved else ""
        await workflow.wait_condition(workflow.all_handlers_finished)
        return ApprovalResult(
            approved=approved,
            by=decision.by,
            comment=decision.comment,
            draft=draft,
            answer=answer,
            usage=self.usage,
        )

    @workflow.update
    async def decide(self, decision: Decision) -> str:
        """Decide."""
        self.decision = decision
        self.asked = None
        return decision.decision

    @decide.validator
    def _decidable(self, decision: Decision) -> None:
        if self.asked is None or decision.id != self.asked.id:
            raise ApplicationError(f"nothing waits under {decision.id!r}", type="Refused")

    @workflow.query
    def pending(self) -> list[Asked]:
        """What waits for a person."""
        return [] if self.asked is None else [self.asked]

    async def _ask(self, number: int) -> str:
        turn = OpenTurn(
            agent="improve",
            round=number,
            provider=loop.PROVIDER,
            model=loop.MODEL,
            temperature=loop.TEMPERATURE,
            max_tokens=loop.MAX_TOKENS,
            system=loop.SYSTEM,
            prompt=loop.PROMPT,
            inputs={"topic": self.topic, "round": number},
        )
        answer: Answer = await workflow.execute_activity_method(
            Asking.ask_agent,
            turn,
            activity_id=f"{number:04}.loop.improve",
            summary="loop/improve",
            start_to_close_timeout=timedelta(seconds=loop.TIMEOUT_SECONDS),
            heartbeat_timeout=timedelta(seconds=10),
            retry_policy=_RETRIES,
        )
        self.usage = Usage(
            input_tokens=self.usage.input_tokens + answer.usage.input_tokens,
            output_tokens=self.usage.output_tokens + answer.usage.output_tokens,
        )
        return answer.text
