"""Write an agent type as one async function: `(turn: AgentTurn) -> result`.

    from coterie import AgentTurn

    async def majority(turn: AgentTurn) -> str:
        "Ask three times, and answer what was said most."
        said = [await turn.ask() for _ in range(3)]
        return max(said, key=said.count)

Its package names it in an entry point of the group `coterie.agents`. It runs in a child process of
the worker; models and tool functions are called by the worker, which counts and prices them. This
module imports only the standard library.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Asked = Callable[[Mapping[str, object]], Any]


def _nobody(_: Mapping[str, object]) -> Any:
    raise AgentFailure("this turn belongs to no run; give it `asked=` in a test")


class AgentFailure(Exception):
    """The turn failed, and the message says why, for routing and for people."""


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """One turn of an agent: what a persona and a task make of it, and what it may call."""

    name: str
    """The name of the task."""
    prompt: str
    """The persona's prompt, rendered; without one, the task's input."""
    system: str | None = None
    """The persona's system prompt, rendered."""
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`{"context": {...}, "tasks": {...}, "input": ...}`: what the persona's prompts name."""
    output_schema: Mapping[str, Any] | None = None
    """What the result must match; Coterie checks it."""
    asked: Asked = field(default=_nobody, repr=False, compare=False)
    """Answers `{"ask": "model", ...}` with a text, and `{"ask": "skill", ...}` with data."""

    async def ask(
        self,
        prompt: str | None = None,
        *,
        system: str | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """Ask the persona's model, and return its text. Calls wait for each other.

        A failure of the model ends the turn; Coterie retries it by the persona's `retries`.

        Args:
            prompt: Default: the persona's own.
            system: Default: the persona's own.
            output_schema: JSON Schema of the answer, as a request to the model.
        """
        question = {
            "ask": "model",
            "prompt": self.prompt if prompt is None else prompt,
            "system": self.system if system is None else system,
            "output_schema": output_schema,
        }
        return str(await asyncio.to_thread(self.asked, question))

    async def call_function(self, function: str, input: object = None) -> Any:
        """Call a function, `Name.method`, and return its result; a failure of it ends the turn."""
        return await asyncio.to_thread(
            self.asked, {"ask": "skill", "skill": function, "input": input}
        )


class AgentFunction(Protocol):
    """An agent type."""

    async def __call__(self, turn: AgentTurn, /) -> object:
        """Run one turn, and return its result: a text, or a JSON value.

        Raises:
            AgentFailure: The turn failed; any other exception fails it too.
        """
        ...
