"""Compact a conversation: a model sums it up, and it continues as a new one.

The latest turns stay as they were, without the thinking of models, which is bound to the old
beginning. The cut never separates a call from its result: what a kept turn answers to is in the
summary, and what it calls has its result in the turn after it.
"""

from collections.abc import Sequence

from coterie.activities.agents.agent_base import BaseAgent
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.agents.single_shot import GenericSingleShotAgent, failed, template_failure
from coterie.activities.agents.tool_calling import GenericToolCallingAgent
from coterie.activities.contracts import AgentResponse, CompactionTurn, ContextUse, FailureType
from coterie.activities.providers.input_estimate import estimated_input, estimated_parts
from coterie.activities.providers.message_model import (
    ModelMessage,
    Part,
    TextPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.storage.blobs import BlobsUnusable
from coterie.activities.storage.compacted_turns import compacted, step_prompt
from coterie.activities.storage.open_conversation import OpenConversation
from coterie.activities.storage.turn_records import (
    Opening,
    Turn,
    left_results,
    messages_of,
    with_question,
    with_results,
)
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.tool_loop.context_room import turns_to_keep
from coterie.dsl.values import Json

INSTRUCTION = (
    "This conversation becomes too long, so the messages before this one will be replaced by your "
    "summary of them. Do not continue the work now, and call no tool. Write down everything that "
    "you need to continue: what was asked, what was found and decided, with the facts, names, "
    "numbers and sources, what failed, and what is still to be done. Answer with the summary alone."
)
"""What a model reads that sums a conversation up, unless the persona has a prompt for it."""


def compacting(agent: BaseAgent) -> BaseAgent:
    """Return what compacts the conversation of an agent, in its place.

    Raises:
        AgentRefused: Agents of its type have no conversations.
    """
    if not isinstance(agent, GenericSingleShotAgent):
        raise AgentRefused(
            f"agent {agent.unique_name!r} has a type whose conversations cannot be compacted"
        )
    return CompactingAgent.of(agent.persona, agent.unique_name, agent.services)


class CompactingAgent(GenericToolCallingAgent):
    """Sums a conversation up with one model call, and stores the new conversation."""

    async def process(self, context: Json) -> AgentResponse:
        """Compact the conversation; without a call if nothing would become shorter.

        Raises:
            AgentRefused: There is no provider or no conversation.
            ProviderFailure: The model is unreachable or refuses the request.
        """
        conversation, compaction = self.services.conversation, self.services.compaction
        if self.services.providers is None or conversation is None or compaction is None:
            raise AgentRefused(f"agent {self.unique_name!r} has no conversation to compact")
        turns = await conversation.all()
        try:
            name, opening = await self._prefix(turns, conversation, context)
        except (TemplateFailed, BadTemplate) as error:
            return template_failure(self.unique_name, error)
        sizes = [estimated_parts(turn.question, turn.reply) for turn in turns]
        least = 1 if turns and turns[-1].calls else 0
        keep = turns_to_keep(sizes, compaction.keep_turns, compaction.limit, least)
        old_turns = turns[: len(turns) - keep]
        if keep < least or not _is_shortened(old_turns):
            return AgentResponse(data={"summarised": 0, "kept": len(turns)})
        request = await self._summary_request(turns, len(old_turns), name, opening, compaction)
        completion = await self.services.providers.get(self.persona.provider).complete(request)
        summary = completion.text.strip()
        problem = self._problem(completion, summary)
        if problem is not None:
            return problem
        return await self._store_conversation(
            turns, len(old_turns), summary, name, opening, completion
        )

    async def _prefix(
        self, turns: Sequence[Turn], conversation: OpenConversation, context: Json
    ) -> tuple[str | None, Opening]:
        """Return the opening of the agent, which the vendor has in its cache, else its like."""
        turn = self.services.tool_turn
        name = None
        if turn is not None and turn.continues and turns:
            name = turns[-1].opening
        elif turn is not None:
            name = await conversation.opening_of(self._agent_digest(turn))
        if name is not None:
            return name, await conversation.opening(name)
        _, system = await self._prompts_of(self.persona, context)
        return None, Opening(agent="", persona=self.persona, system=system)

    async def _summary_request(
        self,
        turns: Sequence[Turn],
        cut: int,
        name: str | None,
        opening: Opening,
        compaction: CompactionTurn,
    ) -> ModelRequest:
        """Return the old conversation up to the cut, with the instruction as its last message."""
        persona = self.persona
        earlier = messages_of(turns[:cut], name)
        results: tuple[Part, ...] = ()
        if cut < len(turns):
            results = left_results(earlier, turns[cut])
        if cut < len(turns) and turns[cut].opening == name and name is not None:
            results = tuple(
                part for part in turns[cut].question if isinstance(part, ToolResultPart)
            )
        parts = (*results, TextPart(compaction.prompt or INSTRUCTION))
        question = ModelMessage("user", with_results(earlier, parts))
        own = not compaction.other_model
        return ModelRequest(
            model=persona.model,
            messages=await self._messages_with_images(with_question(earlier, question)),
            system=opening.system,
            max_tokens=persona.max_tokens,
            temperature=persona.temperature if own else None,
            top_p=persona.top_p if own else None,
            effort=persona.effort if own else None,
            thinking=persona.thinking if own else None,
            prompt_cache=persona.prompt_cache,
            tools=opening.tools,
            tool_choice="none" if opening.tools else "auto",
            timeout=persona.timeout,
            label=self.services.label,
            purpose="compaction",
            turn=(turns[-1].number or len(turns)) + 1,
            call=self.services.key,
        )

    def _problem(self, completion: Completion, summary: str) -> AgentResponse | None:
        """Return the failure of an answer that is not a whole summary."""
        model, about = completion.model, f"task {self.unique_name!r}: the summary of"
        match completion.stop_reason:
            case "max_tokens":
                message = (
                    f"{about} {model} was cut off at max_tokens ({self.persona.max_tokens}); raise "
                    "max_tokens in the persona, or ask for less with the prompt of `compaction`"
                )
                return failed(FailureType.ANSWER_TRUNCATED, message, completion)
            case "refusal":
                message = f"task {self.unique_name!r}: {model} declined to sum the conversation up"
                return failed(FailureType.ANSWER_REFUSED, message, completion)
            case "end" | "other" | "tool_calls":
                if summary:
                    return None
                message = f"{about} {model} has no text"
                return failed(FailureType.ANSWER_UNUSABLE, message, completion)

    async def _store_conversation(
        self,
        turns: Sequence[Turn],
        cut: int,
        summary: str,
        name: str | None,
        opening: Opening,
        completion: Completion,
    ) -> AgentResponse:
        """Store the new conversation; return its latest turn, and how full it is."""
        conversation = self.services.conversation
        assert conversation is not None, "checked before the call"
        turn = self.services.tool_turn
        prompt = step_prompt(turns, cut) if turn is not None and turn.continues else ()
        new = compacted(turns, cut, summary, prompt)
        try:
            head = await conversation.replace(new)
        except BlobsUnusable as error:
            message = f"task {self.unique_name!r}: could not store the summary: {error}"
            return failed(FailureType.STORAGE_UNUSABLE, message, completion)
        size = ModelRequest(
            model=self.persona.model,
            messages=messages_of(new, name),
            system=opening.system,
            tools=opening.tools,
        )
        return AgentResponse(
            data={"summary": summary, "summarised": cut, "kept": len(turns) - cut},
            usage=completion.usage,
            model=None if completion.model == self.persona.model else completion.model,
            conversation=head,
            context=ContextUse(tokens=estimated_input(size), turns=len(new)),
        )


def _is_shortened(turns: Sequence[Turn]) -> bool:
    """Return whether a summary would replace more than an earlier summary."""
    return any(not turn.summary or turn.reply for turn in turns)
