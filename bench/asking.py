"""The activity of the hand-written workflow: one model turn, as cheap as it can be made."""

from pydantic import BaseModel, JsonValue
from temporalio import activity

from coterie.activities.heartbeats import heartbeating
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import ModelProvider, ModelRequest


class Turn(BaseModel):
    """One model turn: all that the model is asked with."""

    agent: str
    round: int
    provider: str
    model: str
    temperature: float
    max_tokens: int
    system: str
    prompt: str


class OpenTurn(Turn):
    """One whose prompt is filled where it is asked."""

    inputs: dict[str, JsonValue]
    """What the prompt names."""


class Usage(BaseModel):
    """Tokens, for the bill."""

    input_tokens: int = 0
    output_tokens: int = 0


class Answer(BaseModel):
    """What the model said, which one it was, and what it used."""

    text: str
    model: str
    usage: Usage


class Asking:
    """Asks the one provider that this worker has."""

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider

    @activity.defn
    async def ask_agent(self, turn: OpenTurn | Turn) -> Answer:
        prompt = turn.prompt
        if isinstance(turn, OpenTurn):
            prompt = prompt.format(**turn.inputs)
        async with heartbeating():
            completion = await self._provider.complete(
                ModelRequest(
                    model=turn.model,
                    messages=(ModelMessage.of("user", prompt),),
                    system=turn.system,
                    max_tokens=turn.max_tokens,
                    temperature=turn.temperature,
                    label=f"loop/{turn.agent}#{turn.round}.0",
                )
            )
        return Answer(
            text=completion.text,
            model=completion.model,
            usage=Usage(
                input_tokens=completion.usage.input_tokens,
                output_tokens=completion.usage.output_tokens,
            ),
        )
