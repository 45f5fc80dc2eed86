"""An agent type of a package: its function runs in a child process, its questions here."""

import json
from typing import ClassVar, assert_never

from pydantic import JsonValue

from coterie.activities.agents.agent_base import BaseAgent
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.agents.single_shot import failed, reask_text, template_failure
from coterie.activities.answers import AnswerProblem, parse_answer
from coterie.activities.contracts import AgentResponse, FailureType
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.user_code.child_messages import (
    NotImported,
    NotJsonAnswer,
    Raised,
    UserCodeFailed,
)
from coterie.activities.user_code.extension_messages import (
    EXTENSION_NOTE,
    Completed,
    ExtensionOutcome,
    ExtensionTurn,
    FunctionQuestion,
    ModelQuestion,
    NoSuchObject,
    ProviderRaised,
    TextNote,
    TurnEnded,
    TurnFailed,
)
from coterie.dsl.errors import TemplateFailed, nearest
from coterie.dsl.json_schema.schema_checker import answer_mismatches
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import Json


class ExtensionAgent(BaseAgent):
    """Runs one turn of a function of a package."""

    path: ClassVar[str] = ""
    """`package.module:name`."""
    _asks = 0

    async def process(self, context: Json) -> AgentResponse:
        """Run one turn in a child process; cancellation kills it.

        Raises:
            AgentRefused: There is no such function.
            ProviderFailure: The model that it asked is unreachable or refuses the request.
            UserCodeTimeout: The turn exceeded the time limit of its attempt.
        """
        if self.services.user_code is None:
            raise AgentRefused(f"agent {self.unique_name!r} has no process to run in")
        persona = self.persona
        try:
            prompt, system = self._get_prompt(context), self._get_system_message(context)
        except (TemplateFailed, BadTemplate) as error:
            return template_failure(self.unique_name, error)
        if self.services.reask is not None:
            prompt = f"{prompt}\n\n{reask_text(self.services.reask, persona.output_schema)}"
        turn: Json = {
            "name": self.unique_name,
            "prompt": prompt,
            "system": system,
            "inputs": context,
            "output_schema": persona.output_schema,
        }
        call = ExtensionTurn(agent=self.path, turn=turn)
        try:
            outcome = await self.services.user_code.extend(
                call, self.path, self.services.timeout, self._take
            )
        except UserCodeFailed as failure:
            return self._failure_response(str(failure))
        return self._response(outcome)

    async def _take(self, note: bytes) -> bytes:
        """Answer a question of the function."""
        match EXTENSION_NOTE.validate_json(note):
            case ModelQuestion() as question:
                answer: JsonValue = await self._ask_child(question)
            case FunctionQuestion(skill=function, input=function_input):
                answer = await self.call_function(function, function_input)
            case TextNote():
                raise AgentRefused(f"agent {self.unique_name!r} answered before its end")
        return f"{json.dumps(answer)}\n".encode()

    async def _ask_child(self, question: ModelQuestion) -> str:
        if self.services.providers is None:
            raise AgentRefused(f"agent {self.unique_name!r} has no model providers")
        persona = self.persona
        self._asks += 1
        request = ModelRequest(
            model=self._resolve_model(),
            messages=(ModelMessage.of("user", question.prompt),),
            system=question.system,
            max_tokens=persona.max_tokens,
            temperature=persona.temperature,
            top_p=persona.top_p,
            output_schema=question.output_schema,
            effort=persona.effort,
            thinking=persona.thinking,
            reasoning=persona.reasoning,
            prompt_cache=persona.prompt_cache,
            timeout=persona.timeout,
            label=self.services.label,
            turn=self._asks,
            call=f"{self.services.key}/{self._asks}",
        )
        return (await self.services.providers.get(persona.provider).complete(request)).text

    def _response(self, outcome: ExtensionOutcome) -> AgentResponse:
        match outcome:
            case TurnEnded(data=data):
                return self._check_data(data)
            case TurnFailed(reason=reason):
                return self._failure_response(reason or "it gave no reason")
            case Raised(reason=reason):
                return self._failure_response(f"raised {reason}")
            case NotJsonAnswer(reason=reason):
                return self._failure_response(f"returned what is not JSON: {reason}")
            case NotImported(reason=reason):
                raise AgentRefused(f"agent type {self.path!r} cannot be imported: {reason}")
            case NoSuchObject(names=names):
                hint = nearest(self.path.partition(":")[2], names)
                raise AgentRefused(
                    f"agent type {self.path!r} is not an async function of its module"
                    + (f"; {hint}" if hint else "")
                )
            case Completed() | ProviderRaised():
                return self._failure_response("answered a question that was not asked")
            case _:
                assert_never(outcome)

    def _check_data(self, data: JsonValue) -> AgentResponse:
        """Return the result, if it matches the persona's schema."""
        schema = self.persona.output_schema
        if isinstance(data, str):
            result = parse_answer(data, schema)
        elif schema is None or not (errors := answer_mismatches(data, schema)):
            result = data
        else:
            result = AnswerProblem("the result does not match the output schema: " + errors[0])
        if isinstance(result, AnswerProblem):
            answer = data if isinstance(data, str) else json.dumps(data)
            message = f"task {self.unique_name!r}: {result.message}"
            return failed(FailureType.ANSWER_UNUSABLE, message, answer=answer)
        return AgentResponse(success=True, data=result)

    def _failure_response(self, what: str) -> AgentResponse:
        return failed(FailureType.AGENT_FAILED, f"task {self.unique_name!r}: {self.path}: {what}")


def extension_agent(path: str) -> type[ExtensionAgent]:
    """Return the agent type of a function, `package.module:name`."""
    return type("ExtensionAgentType", (ExtensionAgent,), {"path": path})
