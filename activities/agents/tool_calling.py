"""The agent that uses tools: one model turn at a time; the run makes the calls between its turns.

Its first turn stores an opening with the rendered system prompt, the tools and the model settings,
and later turns read it from there. So the prefix that a provider sees never changes.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.agents.single_shot import (
    GenericSingleShotAgent,
    failed,
    reask_text,
    template_failure,
    tokens_of,
)
from coterie.activities.contracts import AgentResponse, FailureType
from coterie.activities.providers.input_estimate import estimated_message
from coterie.activities.providers.message_model import (
    ModelMessage,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_of,
    returnable,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.storage.blobs import BlobsUnusable
from coterie.activities.storage.media import references
from coterie.activities.storage.open_conversation import OpenConversation
from coterie.activities.storage.turn_records import (
    LOST,
    TOO_LATE,
    Opening,
    storable,
    with_question,
    with_results,
)
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.tools.tool_use import NamedTool, ToolChoice
from coterie.dsl.model_names import split_model
from coterie.dsl.strict_json import read_json
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.tool_loop.exchange import ToolCallRequest, ToolTurn
from coterie.dsl.tool_loop.tool_search import found_call
from coterie.dsl.values import Json

_MAX_NAME_LENGTH = 100


class GenericToolCallingAgent(GenericSingleShotAgent):
    """Takes one turn of a tool loop: asks the model once, and returns the calls that it wants."""

    async def process(self, context: Json) -> AgentResponse:
        """Take one turn.

        Raises:
            AgentRefused: There is no provider, no storage or no prompt, or a schema is unusable.
            ProviderFailure: The model is unreachable or refuses the request.
        """
        turn, conversation = self.services.tool_turn, self.services.conversation
        if self.services.providers is None or turn is None or conversation is None:
            raise AgentRefused(
                f"agent {self.unique_name!r} uses tools: it needs model providers, a run that "
                "makes its calls, and a storage for its conversation"
            )
        conversation.room = self._room_of_results
        try:
            name, opening, parts = await self._question(turn, conversation, context)
        except (TemplateFailed, BadTemplate) as error:
            return template_failure(self.unique_name, error)
        earlier = await conversation.earlier(name, continues=turn.continues)
        results = await self._results(turn, earlier, conversation)
        leftovers = () if turn.continues else await conversation.left_results(name, turn.results)
        missing = TOO_LATE if turn.continues else LOST
        question = ModelMessage("user", with_results(earlier, (*results, *parts), missing))
        messages = await self._messages_with_images(with_question(earlier, question))
        request = self._model_request(opening, turn, messages)
        request = replace(request, input_tokens=_input_by_earlier_count(conversation, question))
        completion = await self.services.providers.get(opening.persona.provider).complete(request)
        completion = replace(completion, content=storable(completion.content))
        response = await self._answer(opening.persona, turn, completion)
        if not response.success and response.answer is None:
            return response  # nothing was said that the conversation could continue from
        reply = ModelMessage("assistant", returnable(completion.content))
        try:
            tokens = tokens_of(completion)
            head = await conversation.add_messages(
                name, question, reply, tokens, leftovers, continues=turn.continues
            )
        except BlobsUnusable as error:
            message = f"task {self.unique_name!r}: could not store the model's answer: {error}"
            return failed(FailureType.STORAGE_UNUSABLE, message, completion)
        usage = await self._context(opening.persona, request, completion)
        return response.model_copy(update={"conversation": head, "answer": None, "context": usage})

    async def _question(
        self, turn: ToolTurn, conversation: OpenConversation, context: Json
    ) -> tuple[str, Opening, tuple[Part, ...]]:
        """Return the name of the agent's opening, the opening, and what the turn asks.

        A turn that continues has only news; the first turn of a step has the rendered prompts.

        Raises:
            TemplateFailed: A prompt does not render.
            BadTemplate: A prompt does not parse.
        """
        latest = await conversation.latest()
        if turn.continues and latest is not None and latest.opening is not None:
            name = latest.opening
            opening = _of_model(await conversation.opening(name), self.persona)
            return name, opening, (*_text_parts(self._news(opening.persona)), *self._said_parts())
        text, system = await self._prompts_of(self.persona, context)
        name, opening = await self._opening_of(turn, system, conversation)
        news = "" if opening.system == system else f"Your instructions are now:\n\n{system}\n\n"
        parts = (TextPart(news + text), *references(context.get("input")), *self._said_parts())
        return name, opening, parts

    def _said_parts(self) -> tuple[Part, ...]:
        """Return what people said while the agent worked, each a part of its own."""
        return tuple(map(TextPart, self.services.said))

    def _news(self, persona: Persona) -> str:
        """Return the notices of a later turn, which the model gets besides results."""
        reask = self.services.reask
        again = () if reask is None else (reask_text(reask, persona.output_schema),)
        return "\n\n".join((*again, *self.services.notices))

    async def _opening_of(
        self, turn: ToolTurn, system: str | None, conversation: OpenConversation
    ) -> tuple[str, Opening]:
        """Return the agent's opening in its conversation, new or from an earlier step."""
        agent = self._agent_digest(turn)
        name = await conversation.opening_of(agent)
        if name is not None:
            return name, _of_model(await conversation.opening(name), self.persona)
        persona = self.persona.model_copy(update={"prompts": {}, "prompt": None})
        opening = Opening(agent=agent, persona=persona, system=system, tools=turn.offered)
        return await conversation.begin(opening), opening

    def _agent_digest(self, turn: ToolTurn) -> str:
        return _digest(self.persona, turn)

    async def _results(
        self,
        turn: ToolTurn,
        earlier: Sequence[ModelMessage],
        conversation: OpenConversation,
    ) -> tuple[ToolResultPart, ...]:
        """Return the results of the latest turn's calls, in the order of the calls.

        Results that an earlier step left answer nothing if the latest turn is another agent's, or
        outside the window: then its calls are not sent.
        """
        calls, results = calls_of(earlier[-1].content) if earlier else (), turn.results
        if len(results) > len(calls):
            if not turn.continues:
                return ()
            raise AgentRefused(
                f"agent {self.unique_name!r} got {len(results)} results for {len(calls)} calls"
            )
        return await conversation.result_parts(calls, results)

    def _model_request(
        self, opening: Opening, turn: ToolTurn, messages: tuple[ModelMessage, ...]
    ) -> ModelRequest:
        persona, conversation = opening.persona, self.services.conversation
        choice: ToolChoice = turn.choice if turn.tool is None else NamedTool(tool=turn.tool)
        return ModelRequest(
            model=persona.model,
            messages=messages,
            system=opening.system,
            max_tokens=persona.max_tokens,
            temperature=persona.temperature,
            top_p=persona.top_p,
            output_schema=persona.output_schema,
            effort=persona.effort,
            thinking=persona.thinking,
            reasoning=persona.reasoning,
            prompt_cache=persona.prompt_cache,
            tools=opening.tools,
            tool_choice=choice,
            parallel_tool_calls=None if turn.parallel else False,
            timeout=persona.timeout,
            label=self.services.label,
            turn=1 if conversation is None else conversation.number,
            call=self.services.key,
            on_text=self.services.on_text,
        )

    async def _answer(
        self, persona: Persona, turn: ToolTurn, completion: Completion
    ) -> AgentResponse:
        """Return the calls of the turn, or else its answer."""
        calls = completion.tool_calls
        is_cut = completion.stop_reason in ("max_tokens", "refusal")
        if is_cut or not calls:
            return await self._response_of(persona, completion)
        if turn.choice == "none" and turn.tool is None:
            if completion.text.strip():
                ended = Completion.of(completion.text, "end", completion.model, completion.usage)
                return await self._response_of(persona, ended)
            return failed(
                FailureType.TURNS_EXHAUSTED,
                f"task {self.unique_name!r}: no turns are left, and {completion.model} calls "
                "tools instead of answering; raise max_turns in the persona or ask for less",
                completion,
            )
        return AgentResponse(
            data={"text": completion.text} if completion.text else None,
            usage=completion.usage,
            model=None if completion.model == persona.model else completion.model,
            tool_calls=tuple(found_call(_requested_call(call)) for call in calls),
        )


def _input_by_earlier_count(conversation: OpenConversation, question: ModelMessage) -> int | None:
    """Return the input by what the vendor counted before; None if it has not."""
    before = conversation.tokens
    return None if before is None else before + estimated_message(question)


def _of_model(opening: Opening, persona: Persona) -> Opening:
    """Return the opening for the model that answers now: a fallback may have taken over."""
    own = {"provider": persona.provider, "model": persona.model}
    return opening.model_copy(update={"persona": opening.persona.model_copy(update=own)})


def _requested_call(call: ToolCallPart) -> ToolCallRequest:
    """Return a call with its arguments, or with the problem of its arguments."""
    tool = call.name[:_MAX_NAME_LENGTH]
    try:
        arguments = read_json(call.arguments or "{}")
    except ValueError as error:
        return ToolCallRequest(tool=tool, problem=f"they are not JSON: {_encodable(str(error))}")
    if arguments is None:  # how some models write that there are none
        return ToolCallRequest(tool=tool)
    if not isinstance(arguments, dict):
        return ToolCallRequest(tool=tool, problem="they are not an object")
    return ToolCallRequest(tool=tool, arguments=arguments)


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _text_parts(text: str) -> tuple[Part, ...]:
    return (TextPart(text),) if text else ()


def _digest(persona: Persona, turn: ToolTurn) -> str:
    """Return a digest of what makes an agent the same one in its next step.

    It stays the same when a fallback takes over.
    """
    if turn.planned is not None:
        provider, model = split_model(turn.planned)
        persona = persona.model_copy(update={"provider": provider, "model": model})
    parts = (
        persona.model_dump_json(exclude_defaults=True, by_alias=True),
        turn.model_dump_json(include={"offered"}),
    )
    return sha256("\n".join(parts).encode()).hexdigest()
