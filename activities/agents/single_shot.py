"""The agent that asks a model once: analysis, generation, evaluation (seed c4h 3.1)."""

import asyncio
from contextlib import suppress
from typing import cast

from pydantic import JsonValue

from activities.agents.agent_base import BaseAgent
from activities.agents.prompts import prompt_name
from activities.agents.refusals import AgentRefused
from activities.answer_schema import schema_fault
from activities.answers import AnswerProblem, parse_answer
from activities.contracts import AgentError, AgentResponse, FailureType, Reask
from activities.providers.provider import Completion, ModelMessage, ModelRequest
from activities.storage.blobs import BlobsUnusable
from dsl.errors import EvaluationLimitExceeded, TemplateFailed
from dsl.model.evaluation_budget import EvaluationBudget, EvaluationMeter, Names
from dsl.model.plan import Persona
from dsl.templates.template import BadTemplate
from dsl.values import Json

_SHORT = 8_000
"""Characters of prompts that are parsed at once."""
_LITTLE = EvaluationBudget(steps=2_000, bytes=200_000)
"""What the event loop can spare: about a millisecond."""
_BEGINNING = 160
"""Characters of an unusable answer in its message."""


class GenericSingleShotAgent(BaseAgent):
    """Exactly one model call: prompts from the persona, the answer checked against its schema."""

    converses = True

    def __init__(self, persona_config: Json, unique_name: str, full_config: Json) -> None:
        super().__init__(persona_config, unique_name, full_config)
        if self.persona_config.get("execution_plan"):
            raise AgentRefused(
                f"agent {unique_name!r} asks a model once and would never follow the "
                "execution_plan of its persona; use agent_type generic_orchestrating"
            )

    async def process(self, context: Json) -> AgentResponse:
        """Ask once.

        Raises:
            AgentRefused: no provider at hand, no prompt to ask, or an unusable output schema.
            ProviderFailure: the model cannot be reached or refuses the request.
        """
        if self.services.providers is None:
            raise AgentRefused(f"agent {self.unique_name!r} was given no model providers")
        persona = self.persona
        try:
            prompt, system = await self._asked(persona, context)
            request = self._request(persona, system, prompt, await self._earlier())
        except (TemplateFailed, BadTemplate) as error:
            limited = isinstance(error, EvaluationLimitExceeded)
            type = "EvaluationLimitExceeded" if limited else "TemplateFailed"
            return failed(type, f"task {self.unique_name!r}: {error}")
        completion = await self.services.providers.get(persona.provider).complete(request)
        if persona.output_schema is None:
            response = self._response(persona, completion)
        else:  # off the event loop: a hostile schema takes its budget of CPU
            response = await asyncio.to_thread(self._response, persona, completion)
        return await self._kept(prompt, completion, response) if response.success else response

    async def _asked(self, persona: Persona, inputs: Json) -> tuple[str, str | None]:
        """The prompt and the system prompt.

        Off the event loop where they may take their budgets of CPU. A thread costs more than to
        fill most prompts, so a little of the budget is tried here first.
        """
        if self._is_short(persona):
            names = Names({**inputs}, EvaluationMeter(_LITTLE))
            with suppress(EvaluationLimitExceeded):
                return self._filled(persona, cast("Json", names))
        return await asyncio.to_thread(self._filled, persona, inputs)

    def _is_short(self, persona: Persona) -> bool:
        """Whether the meter counts all that its prompts cost, but for little text to parse."""
        return (
            type(self) is GenericSingleShotAgent  # another type may do anything
            and persona.output_schema is None
            and prompt_name(persona, self.unique_name) is not None
            and sum(map(len, persona.prompts.values())) <= _SHORT
        )

    def _filled(self, persona: Persona, inputs: Json) -> tuple[str, str | None]:
        """The prompt and the system prompt, once the output schema is known to be usable."""
        fault = schema_fault(persona.output_schema) if persona.output_schema is not None else None
        if fault is not None:  # no answer could ever meet it, so none is paid for
            raise AgentRefused(f"output_schema of agent {self.unique_name!r}: {fault}")
        return self._get_prompt(inputs), self._get_system_message(inputs)

    async def _earlier(self) -> tuple[ModelMessage, ...]:
        conversation = self.services.conversation
        return () if conversation is None else await conversation.earlier()

    async def _kept(
        self, prompt: str, completion: Completion, response: AgentResponse
    ) -> AgentResponse:
        """The response, its turn added to the conversation: what was asked, what was answered."""
        if self.services.conversation is None:
            return response
        try:
            head = await self.services.conversation.add(prompt, completion.text)
        except BlobsUnusable as error:
            message = f"task {self.unique_name!r}: its answer came, and cannot be kept: {error}"
            return failed(FailureType.STORAGE_UNUSABLE, message, completion)
        return response.model_copy(update={"conversation": head})

    def _request(
        self, persona: Persona, system: str | None, prompt: str, earlier: tuple[ModelMessage, ...]
    ) -> ModelRequest:
        return ModelRequest(
            model=self._resolve_model(),
            messages=(
                *earlier,
                *conversation(prompt, self.services.reask, persona.output_schema),
            ),
            system=system,
            max_tokens=persona.max_tokens,
            temperature=persona.temperature,
            top_p=persona.top_p,
            output_schema=persona.output_schema,
            timeout=persona.timeout,
            label=self.services.label,
            call=self.services.key,
        )

    def _response(self, persona: Persona, completion: Completion) -> AgentResponse:
        match completion.stop_reason:
            case "max_tokens":
                return failed(
                    FailureType.ANSWER_TRUNCATED,
                    f"task {self.unique_name!r}: the answer of {completion.model} was cut at "
                    f"max_tokens ({persona.max_tokens}); raise max_tokens in the persona or ask "
                    "for less",
                    completion,
                )
            case "refusal":
                return failed(
                    FailureType.ANSWER_REFUSED,
                    f"task {self.unique_name!r}: {completion.model} declined to answer",
                    completion,
                )
            case "other" if persona.output_schema is None:
                # A whole JSON value proves itself complete; of plain text nobody can tell.
                result: JsonValue | AnswerProblem = AnswerProblem(
                    "the answer ended for a reason that its provider does not explain, "
                    "so it may be cut"
                )
            case "end" | "other":
                result = parse_answer(completion.text, persona.output_schema)
        if isinstance(result, AnswerProblem):
            message = f"{result.message}; the answer begins: {_beginning(completion.text)}"
            return failed(FailureType.ANSWER_UNUSABLE, message, completion, answer=completion.text)
        model = None if completion.model == persona.model else completion.model
        return AgentResponse(success=True, data=result, usage=completion.usage, model=model)


def conversation(prompt: str, reask: Reask | None, schema: Json | None) -> tuple[ModelMessage, ...]:
    """The messages of a turn; of a re-ask, with the unusable answer and what is wrong with it."""
    asked = ModelMessage("user", prompt)
    if reask is None:
        return (asked,)
    again = [f"Your answer could not be used: {reask.problem}"]
    if schema is None:
        again.append("Answer again, in full.")
    else:  # the provider tells the model the schema, in every call
        again.append("Answer again, in full, with one JSON value and nothing else.")
    if not reask.answer.strip():  # no provider takes an empty message
        return (ModelMessage("user", "\n\n".join([prompt, *again])),)
    return (
        asked,
        ModelMessage("assistant", reask.answer),
        ModelMessage("user", "\n\n".join(again)),
    )


def _beginning(answer: str) -> str:
    """The first characters of an answer on one line, for a message."""
    text = " ".join(answer.encode(errors="replace").decode().split())
    return repr(text if len(text) <= _BEGINNING else f"{text[:_BEGINNING]}...")


def failed(
    type: str, message: str, completion: Completion | None = None, answer: str | None = None
) -> AgentResponse:
    """An expected failure; what the call used is kept."""
    return AgentResponse(
        success=False,
        error=AgentError(type=type, message=message),
        usage=completion.usage if completion else None,
        model=completion.model if completion else None,
        answer=None if answer is None else answer.encode(errors="replace").decode(),
    )
