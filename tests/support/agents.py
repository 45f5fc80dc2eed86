"""What tests of agents share: a recording model, requests, and the activity's environment."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from pydantic import JsonValue
from temporalio.testing import ActivityEnvironment

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import END_MARGIN, AgentRequest, AgentResponse, TokenUsage
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.dsl.model.plan import Persona

USAGE = TokenUsage(input_tokens=120, output_tokens=30, cached_tokens=10)


def answer(text: str = "fine", **changes: object) -> Completion:
    """A model's answer."""
    return Completion.of(
        **{  # pyright: ignore[reportArgumentType]
            "text": text,
            "stop_reason": "end",
            "model": "model-2026",
            "usage": USAGE,
            **changes,
        }
    )


class RecordingModel:
    """A provider that keeps every request and gives the answers that it was made with."""

    def __init__(self, *answers: Completion | ProviderFailure) -> None:
        self.requests: list[ModelRequest] = []
        self._answers = list(answers)

    async def complete(self, request: ModelRequest) -> Completion:
        self.requests.append(request)
        given = self._answers.pop(0)
        if isinstance(given, ProviderFailure):
            raise given
        return given

    async def close(self) -> None:
        """Nothing is held open."""

    def get(self, name: str) -> "RecordingModel":
        """The access to providers: this model goes by the name `recorded`."""
        assert name == "recorded"
        return self


def persona(**changes: object) -> Persona:
    """A persona of the recording model."""
    fields: Mapping[str, object] = {
        "provider": "recorded",
        "model": "model-1",
        "prompts": {"user": "Go."},
        **changes,
    }
    return Persona.model_validate(fields)


def request(
    inputs: dict[str, JsonValue] | None = None,
    who: Persona | None = None,
    changes: Mapping[str, object] | None = None,
) -> AgentRequest:
    """A request for a turn of `design` in team `solution`, its second visit."""
    fields: dict[str, object] = {
        "team": "solution",
        "task": "design",
        "visit": 2,
        "agent_type": "generic_single_shot",
        "persona": who or persona(),
        "inputs": inputs or {},
    }
    return AgentRequest.model_validate({**fields, **(changes or {})})


def legacy_request(
    class_name: str,
    inputs: dict[str, JsonValue] | None = None,
    changes: Mapping[str, object] | None = None,
) -> AgentRequest:
    """A request for a turn of one of `tests.support.legacy_agents`."""
    legacy: dict[str, object] = {
        "agent_type": None,
        "agent_class": f"tests.support.legacy_agents.{class_name}",
        "persona": None,
        "legacy_config": {"discovery": {"model": "old-model"}},
    }
    return request(inputs, changes={**legacy, **(changes or {})})


def environment(timeout: float = 60.0) -> ActivityEnvironment:
    """Where a turn runs without a server."""
    made = ActivityEnvironment()
    made.info = replace(made.info, start_to_close_timeout=timedelta(seconds=timeout) + END_MARGIN)
    return made


async def turn(activities: AgentActivities, wanted: AgentRequest) -> AgentResponse:
    """One turn as a worker runs it; how long it took is the machine's affair."""
    run: Callable[[AgentRequest], Awaitable[AgentResponse]] = activities.run_agent
    response = await environment().run(run, wanted)
    return response.model_copy(update={"seconds": 0.0})
