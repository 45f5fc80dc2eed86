"""What calls use: tokens, money and time, and the text that a model writes meanwhile."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from coterie.dsl.model.capabilities import Effect, Label
from coterie.dsl.values import Frozen


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens that one model call used; `input_tokens` includes the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    """Input that the provider kept for later calls, where it counts that; also in the input."""

    hour_cache_write_tokens: Annotated[int, Field(exclude_if=lambda tokens: tokens == 0)] = 0
    """Of the written ones, those that the provider keeps for an hour, which costs more."""

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Add two usages."""
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.hour_cache_write_tokens + other.hour_cache_write_tokens,
        )


class OpenModelCall(Frozen):
    """A model call in progress, and what it costs at least if nobody gets its answer."""

    input_tokens: int = 0
    """An estimate."""
    cost: float | None = None
    """US dollars of the input; None while no price is known."""


class InnerCall(Frozen):
    """A tool function that the code of an agent called in its turn, which the run did not see."""

    skill: str
    effect: Effect
    labels: tuple[Label, ...] = ()


class Spent(Frozen):
    """Usage of a call's attempts, as recorded in heartbeats and failure details."""

    usage: TokenUsage | None = None
    cost: float | None = None
    unpriced: bool = False
    seconds: float = 0.0
    cut_off: int = 0
    """Model calls whose answer nobody got, counted with an estimate of their input."""
    estimated: int = 0
    """Model calls whose provider reported no usage: their tokens are estimated."""
    open: tuple[OpenModelCall, ...] = ()
    """The model calls in progress."""
    inner_calls: tuple[InnerCall, ...] = ()
    """The tool functions that the agent called: each once."""

    def closed(self) -> "Spent":
        """Return the usage of an attempt that was lost: its open model calls are paid, too."""
        if not self.open:
            return self
        usage = TokenUsage(input_tokens=sum(call.input_tokens for call in self.open))
        costs = [call.cost for call in self.open if call.cost is not None]
        return Spent(
            usage=usage if self.usage is None else self.usage + usage,
            cost=sum(costs, self.cost or 0.0) if costs else self.cost,
            unpriced=self.unpriced or len(costs) < len(self.open),
            seconds=self.seconds,
            cut_off=self.cut_off + len(self.open),
            estimated=self.estimated,
            inner_calls=self.inner_calls,
        )


class LiveTail(Frozen):
    """The end of an answer that a model is writing: the second detail of a call's heartbeats."""

    attempt: int = 1
    """Number of the attempt that writes it."""
    start: int = 0
    """Characters of the answer before `text`."""
    text: str = ""
