"""The tool loop with the OpenAI Agents SDK and its plugin for Temporal, as their docs write it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field
from temporalio import activity, workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from agents import (
        Agent,
        Model,
        ModelProvider,
        ModelResponse,
        ModelSettings,
        RunConfig,
        Runner,
        Usage,
    )
    from agents.items import TResponseStreamEvent
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )
    from temporalio.openai_agents import ModelActivityParameters
    from temporalio.openai_agents.workflow import activity_as_tool

    from bench.tool_loop import work

RETRY_POLICY = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(minutes=1),
    maximum_attempts=work.RETRIES + 1,
)
HEARTBEAT = timedelta(seconds=work.HEARTBEAT_SECONDS)
MODEL_PARAMETERS = ModelActivityParameters(
    start_to_close_timeout=timedelta(seconds=work.TIMEOUT_SECONDS),
    heartbeat_timeout=HEARTBEAT,
    retry_policy=RETRY_POLICY,
)
Number = Annotated[int, Field(ge=1, description=work.NUMBER_DESCRIPTION)]


@activity.defn
async def read_page(number: Number) -> str:
    return work.page(number)


@activity.defn
async def look_up_entry(number: Number) -> str:
    return work.entry(number)


read_page.__doc__ = work.PAGE_DESCRIPTION
look_up_entry.__doc__ = work.ENTRY_DESCRIPTION
ACTIVITIES = [read_page, look_up_entry]


@workflow.defn
class AgentsLoop:
    """Lets the SDK run the agent to its end."""

    @workflow.run
    async def run(self, turns: int) -> str:
        agent = Agent(
            name=work.AGENT,
            model=work.MODEL,
            model_settings=ModelSettings(max_tokens=work.MAX_TOKENS),
            instructions=work.SYSTEM,
            tools=[
                activity_as_tool(
                    one,
                    start_to_close_timeout=timedelta(seconds=work.TOOL_TIMEOUT_SECONDS),
                    heartbeat_timeout=HEARTBEAT,
                    retry_policy=RETRY_POLICY,
                )
                for one in ACTIVITIES
            ],
        )
        result = await Runner.run(
            agent,
            input=work.QUESTION,
            max_turns=turns + 1,
            run_config=RunConfig(tracing_disabled=True),
        )
        return str(result.final_output)


class ScriptedModel(Model):
    """Calls both tools in each of its first turns, then answers."""

    def __init__(self, turns: int) -> None:
        self._turns = turns

    async def get_response(
        self, system_instructions: str | None, input: str | list[Any], *_: Any, **__: Any
    ) -> ModelResponse:
        items = [] if isinstance(input, str) else input
        turn = 1 + sum(one.get("type") == "function_call_output" for one in items) // 2
        characters = len(work.SYSTEM) + sum(len(str(one.get("output", ""))) for one in items)
        usage = Usage(
            requests=1,
            input_tokens=characters // 4,
            output_tokens=20,
            total_tokens=characters // 4 + 20,
        )
        if turn > self._turns:
            return ModelResponse([_message(work.ANSWER)], usage, None)
        calls = [
            _call(name, turn, number) for number, name in enumerate((work.PAGE, work.ENTRY), 1)
        ]
        return ModelResponse([_message(work.said(turn)), *calls], usage, None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


class ScriptedModels(ModelProvider):
    """The one model of the worker."""

    def __init__(self, turns: int) -> None:
        self._model = ScriptedModel(turns)

    def get_model(self, model_name: str | None) -> Model:
        return self._model


def _message(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, annotations=[], type="output_text")
    return ResponseOutputMessage(
        id="", content=[content], role="assistant", status="completed", type="message"
    )


def _call(name: str, turn: int, number: int) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        id="",
        call_id=f"call_{turn}_{number}",
        name=name,
        arguments=f'{{"number": {turn}}}',
        type="function_call",
        status="completed",
    )
