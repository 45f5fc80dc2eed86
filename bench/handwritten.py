"""The same loop as a Temporal workflow written by hand, for this one purpose.

Nothing here is of Coterie: pydantic models, one activity a round, rules and merge in Python.
"""

from datetime import timedelta

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from bench import loop
    from bench.asking import Answer, Asking, OpenTurn, Turn, Usage

EVERY = 500
"""Rounds after which a run continues as new: 3,000 events, well below what the server suggests."""

_TIMEOUT = timedelta(seconds=loop.TIMEOUT_SECONDS)
_HEARTBEAT = timedelta(seconds=10)
_RETRIES = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(minutes=1),
    maximum_attempts=loop.RETRIES + 1,
    non_retryable_error_types=["PayloadsTooLarge"],
)


class Context(BaseModel):
    """What the rounds share."""

    topic: str
    round: int = 0


class LoopInput(BaseModel):
    """How a run is started."""

    context: Context
    rounds: int
    done: int = 0
    """Rounds of earlier runs of this chain."""
    usage: Usage = Usage()
    bare: bool = False
    """The least that works: activities without id and summary, prompts that are filled before."""


class LoopResult(BaseModel):
    """How a run ended."""

    context: Context
    answer: str
    rounds: int
    usage: Usage


def next_context(answer: str, context: Context, number: int, rounds: int) -> Context | None:
    """The context of the next round; None ends the run."""
    if answer.startswith("REJECTED"):
        return None
    if "NEEDS A PERSON" in answer:
        return None
    if context.round >= rounds - 1:
        return None
    return context.model_copy(update={"round": number})


@workflow.defn
class OutlineLoop:
    """Asks, decides, and asks again."""

    @workflow.init
    def __init__(self, given: LoopInput) -> None:
        self.context = given.context
        self.bare = given.bare
        self.round = given.done
        self.usage = given.usage

    @workflow.run
    async def run(self, given: LoopInput) -> LoopResult:
        context: Context | None = self.context
        answer = ""
        while context is not None:
            self.context = context
            if self.round - given.done == EVERY:
                workflow.continue_as_new(self._loop_input_to_carry(given))
            self.round += 1
            response = await self._ask(context)
            answer = response.text
            self.usage = Usage(
                input_tokens=self.usage.input_tokens + response.usage.input_tokens,
                output_tokens=self.usage.output_tokens + response.usage.output_tokens,
            )
            context = next_context(answer, context, self.round, given.rounds)
        return LoopResult(context=self.context, answer=answer, rounds=self.round, usage=self.usage)

    @workflow.query
    def status(self) -> int:
        """The current round."""
        return self.round

    def _loop_input_to_carry(self, given: LoopInput) -> LoopInput:
        update = {"context": self.context, "done": self.round, "usage": self.usage}
        return given.model_copy(update=update)

    async def _ask(self, context: Context) -> Answer:
        return await workflow.execute_activity_method(
            Asking.ask_agent,
            self._turn(context),
            activity_id=None if self.bare else f"{self.round:04}.loop.improve",
            summary=None if self.bare else "loop/improve",
            start_to_close_timeout=_TIMEOUT,
            heartbeat_timeout=_HEARTBEAT,
            retry_policy=_RETRIES,
        )

    def _turn(self, context: Context) -> Turn:
        if self.bare:
            filled = loop.PROMPT.format(topic=context.topic, round=context.round)
            return Turn(
                agent="improve",
                round=self.round,
                provider=loop.PROVIDER,
                model=loop.MODEL,
                temperature=loop.TEMPERATURE,
                max_tokens=loop.MAX_TOKENS,
                system=loop.SYSTEM,
                prompt=filled,
            )
        return OpenTurn(
            agent="improve",
            round=self.round,
            provider=loop.PROVIDER,
            model=loop.MODEL,
            temperature=loop.TEMPERATURE,
            max_tokens=loop.MAX_TOKENS,
            system=loop.SYSTEM,
            prompt=loop.PROMPT,
            inputs={"topic": context.topic, "round": context.round},
        )
