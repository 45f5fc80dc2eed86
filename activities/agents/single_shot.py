"""The agent that asks a model once: analysis, generation, evaluation."""

from contextlib import suppress
from typing import cast

from pydantic import JsonValue

from coterie.activities.agents.agent_base import BaseAgent
from coterie.activities.agents.answer_parsing import parsed
from coterie.activities.agents.prompts import prompt_name
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.answers import AnswerProblem
from coterie.activities.contracts import AgentError, AgentResponse, ContextUse, FailureType, Reask
from coterie.activities.providers.input_estimate import (
    estimated_input,
    estimated_message,
    estimated_parts,
)
from coterie.activities.providers.message_model import (
    ModelMessage,
    StoredPart,
    TextPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.storage.blobs import BlobsUnusable
from coterie.activities.storage.media import references
from coterie.activities.storage.open_conversation import AddedTurn
from coterie.activities.storage.turn_records import with_question
from coterie.activities.threads.run_threads import TURN_THREADS
from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.evaluation_budget import EvaluationBudget, EvaluationMeter, Names
from coterie.dsl.model.plan import Persona
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import Json

_SHORT = 8_000
"""Characters of prompts that may be parsed on the event loop."""
_LITTLE = EvaluationBudget(steps=2_000, bytes=200_000)
"""Budget of the event loop: about a millisecond."""
_BEGINNING = 160
"""Characters of an unusable answer that its error message quotes."""


class GenericSingleShotAgent(BaseAgent):
    """Makes exactly one model call and checks the answer against the persona's schema."""

    converses = True

    def __init__(self, persona_config: Json, unique_name: str, full_config: Json) -> None:
        super().__init__(persona_config, unique_name, full_config)
        if self.persona_config.get("execution_plan"):
            raise AgentRefused(
                f"agent {unique_name!r} calls a model once and would ignore the "
                "execution_plan of its persona; use agent_type generic_orchestrating"
            )

    async def process(self, context: Json) -> AgentResponse:
        """Ask the model once.

        Raises:
            AgentRefused: There is no provider or no prompt, or the output schema is unusable.
            ProviderFailure: The model is unreachable or refuses the request.
        """
        if self.services.providers is None:
            raise AgentRefused(f"agent {self.unique_name!r} has no model providers")
        persona = self.persona
        try:
            prompt, system = await self._prompts_of(persona, context)
        except (TemplateFailed, BadTemplate) as error:
            return template_failure(self.unique_name, error)
        media = references(context.get("input"))
        question = conversation(prompt, self.services.reask, persona.output_schema, media)
        messages = with_question(await self._earlier(), *question)
        leftovers = await self._left_results()
        request = self._request(
            persona,
            system,
            await self._messages_with_images(messages),
            self._input_by_earlier_count(question),
        )
        completion = await self.services.providers.get(persona.provider).complete(request)
        response = await self._response_of(persona, completion)
        reply = completion.text if response.success else (response.answer or "").strip()
        if not response.success and not reply:
            return response  # nothing was said that the conversation could continue from
        turn = AddedTurn(prompt, reply, media, tokens_of(completion), leftovers)
        return await self._keep_turn(turn, request, completion, response)

    async def _prompts_of(self, persona: Persona, inputs: Json) -> tuple[str, str | None]:
        """Return the prompt and the system prompt.

        Render in a thread when that may take long. A thread costs more than most prompts, so try a
        small budget on the event loop first.
        """
        if self._is_short(persona):
            names = Names({**inputs}, EvaluationMeter(_LITTLE))
            with suppress(EvaluationLimitExceeded):
                return self._fill_prompts(persona, cast("Json", names))
        return await TURN_THREADS.run(self._fill_prompts, persona, inputs)

    def _is_short(self, persona: Persona) -> bool:
        """Return whether the texts to parse are short, which no evaluation budget covers."""
        return (
            type(self) is GenericSingleShotAgent  # a subclass may do anything
            and persona.output_schema is None
            and prompt_name(persona, self.unique_name) is not None
            and sum(map(len, persona.prompts.values())) <= _SHORT
        )

    def _fill_prompts(self, persona: Persona, inputs: Json) -> tuple[str, str | None]:
        """Return the prompt and the system prompt, after a check of the output schema."""
        problem = (
            schema_problem(persona.output_schema) if persona.output_schema is not None else None
        )
        if problem is not None:  # no answer could match it, so do not pay for one
            raise AgentRefused(f"output_schema of agent {self.unique_name!r}: {problem}")
        return self._get_prompt(inputs), self._get_system_message(inputs)

    async def _earlier(self) -> tuple[ModelMessage, ...]:
        conversation = self.services.conversation
        return () if conversation is None else await conversation.earlier()

    async def _left_results(self) -> tuple[ToolResultPart, ...]:
        conversation = self.services.conversation
        if conversation is None:
            return ()
        conversation.room = self._room_of_results
        return await conversation.results_for_others()

    async def _keep_turn(
        self,
        turn: AddedTurn,
        request: ModelRequest,
        completion: Completion,
        response: AgentResponse,
    ) -> AgentResponse:
        """Add the turn to the conversation and return the response with its new head."""
        if self.services.conversation is None:
            return response
        try:
            head = await self.services.conversation.add(turn)
        except BlobsUnusable as error:
            message = f"task {self.unique_name!r}: could not store the model's answer: {error}"
            return failed(FailureType.STORAGE_UNUSABLE, message, completion)
        usage = await self._context(self.persona, request, completion)
        return response.model_copy(update={"conversation": head, "context": usage})

    async def _context(
        self, persona: Persona, request: ModelRequest, completion: Completion
    ) -> ContextUse | None:
        """Return how full the conversation is, for a persona that compacts it."""
        conversation = self.services.conversation
        if persona.compaction is None or conversation is None:
            return None
        tokens = tokens_of(completion)
        if tokens is None:  # the server does not count
            tokens = estimated_input(request) + estimated_parts(completion.content)
        window = await self._window(persona)
        return ContextUse(tokens=tokens, window=window, turns=conversation.turns)

    async def _room_of_results(self, results: int, characters: int) -> int | None:
        windows, persona = self.services.windows, self.persona
        if windows is None:
            return None
        return await windows.room_of_results(persona.provider, persona.model, results, characters)

    async def _window(self, persona: Persona) -> int | None:
        windows = self.services.windows
        return None if windows is None else await windows.of(persona.provider, persona.model)

    def _input_by_earlier_count(self, messages: tuple[ModelMessage, ...]) -> int | None:
        """Return the input by what the vendor counted before; None if it has not."""
        open_conversation = self.services.conversation
        if open_conversation is None or open_conversation.tokens is None:
            return None
        return open_conversation.tokens + sum(map(estimated_message, messages))

    def _request(
        self,
        persona: Persona,
        system: str | None,
        messages: tuple[ModelMessage, ...],
        input_tokens: int | None = None,
    ) -> ModelRequest:
        return ModelRequest(
            model=self._resolve_model(),
            messages=messages,
            system=system,
            max_tokens=persona.max_tokens,
            temperature=persona.temperature,
            top_p=persona.top_p,
            output_schema=persona.output_schema,
            effort=persona.effort,
            thinking=persona.thinking,
            reasoning=persona.reasoning,
            prompt_cache=persona.prompt_cache,
            timeout=persona.timeout,
            label=self.services.label,
            input_tokens=input_tokens,
            turn=1 if self.services.conversation is None else self.services.conversation.number,
            call=self.services.key,
            on_text=self.services.on_text,
        )

    async def _response_of(self, persona: Persona, completion: Completion) -> AgentResponse:
        """Return the response, with the data of an answer that may be whole."""
        value: JsonValue | AnswerProblem = None
        if completion.stop_reason in ("end", "other"):
            runner = self.services.runner
            value = await parsed(completion.text, persona.output_schema, runner)
        return self._response(persona, completion, value)

    def _response(
        self, persona: Persona, completion: Completion, value: JsonValue | AnswerProblem
    ) -> AgentResponse:
        match completion.stop_reason:
            case "max_tokens":
                return failed(
                    FailureType.ANSWER_TRUNCATED,
                    f"task {self.unique_name!r}: the answer of {completion.model} was cut off at "
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
                # A complete JSON value proves that nothing was cut off; plain text does not.
                result: JsonValue | AnswerProblem = AnswerProblem(
                    "the provider does not explain why the answer ended, so it may be cut off"
                )
            case "tool_calls":
                result = AnswerProblem("the model called a tool, and this agent offers none")
            case "end" | "other":
                result = value
        if isinstance(result, AnswerProblem):
            excerpt = f"; the answer starts with: {_beginning(completion.text)}"
            message = result.message + (excerpt if completion.text.strip() else "")
            return failed(FailureType.ANSWER_UNUSABLE, message, completion, answer=completion.text)
        model = None if completion.model == persona.model else completion.model
        return AgentResponse(success=True, data=result, usage=completion.usage, model=model)


def conversation(
    prompt: str, reask: Reask | None, schema: Json | None, media: tuple[StoredPart, ...] = ()
) -> tuple[ModelMessage, ...]:
    """Build the messages of a turn; a re-ask includes the unusable answer and its problem."""
    question = ModelMessage("user", (TextPart(prompt), *media))
    if reask is None:
        return (question,)
    again = reask_text(reask, schema)
    if not reask.answer.strip():  # providers reject an empty message
        return (ModelMessage("user", (TextPart(f"{prompt}\n\n{again}"), *media)),)
    return (
        question,
        ModelMessage.of("assistant", reask.answer),
        ModelMessage.of("user", again),
    )


def tokens_of(completion: Completion) -> int | None:
    """Return the input and output that the provider counted; None if it did not."""
    usage = completion.usage
    return usage.total or None


def reask_text(reask: Reask, schema: Json | None) -> str:
    """Return what the model reads after an unusable answer."""
    if schema is None:
        again = "Answer again, in full."
    else:  # the provider sends the schema with each call
        again = "Answer again, in full, with one JSON value and nothing else."
    return f"Your answer could not be used: {reask.problem}\n\n{again}"


def template_failure(agent: str, error: TemplateFailed | BadTemplate) -> AgentResponse:
    """Return the failure of a prompt that cannot be rendered."""
    limited = isinstance(error, EvaluationLimitExceeded)
    type = "EvaluationLimitExceeded" if limited else "TemplateFailed"
    return failed(type, f"task {agent!r}: {error}")


def _beginning(answer: str) -> str:
    """Return the first characters of an answer on one line, for a message."""
    text = " ".join(answer.encode(errors="replace").decode().split())
    return repr(text if len(text) <= _BEGINNING else f"{text[:_BEGINNING]}...")


def failed(
    type: str, message: str, completion: Completion | None = None, answer: str | None = None
) -> AgentResponse:
    """Return an expected failure with the usage of the call."""
    return AgentResponse(
        success=False,
        error=AgentError(type=type, message=message),
        usage=completion.usage if completion else None,
        model=completion.model if completion else None,
        answer=None if answer is None else answer.encode(errors="replace").decode(),
    )
