"""A model takes over from one that is overloaded: real SDKs, against a server that answers 529."""

from temporalio.exceptions import ApplicationError

from activities.agent_activity import AgentActivities
from activities.contracts import AgentRequest, AgentResponse, SkillRequest
from activities.providers.message_model import ThinkingPart
from activities.providers.provider_registry import Providers
from dsl.values import Json, JsonValue
from tests.support.servers.asking import settings, url_of
from tests.support.servers.model_server import ModelServer
from tests.support.simulation.stopping import fresh
from tests.support.simulation.stored_turns import Agents, Model, says, wants
from tests.support.tool_agents import ModelScope, ModelWorld, answer, tool_plan
from workflows.core.causes.agent_causes import ModelReplaced
from workflows.core.scope import Call, CallFailed
from workflows.interpreter import run


class WireScope(ModelScope):
    """A scope whose agents really call their providers."""

    activities: AgentActivities

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        try:
            return await self.activities.run_agent(request)
        except ApplicationError as error:
            raise CallFailed(error.type or "", error.message) from None


def not_asked(request: AgentRequest, number: int) -> AgentResponse:
    return answer("")


def no_skill(request: SkillRequest) -> JsonValue:
    return None


async def test_an_overloaded_provider_leads_to_the_fallback(model_server: ModelServer) -> None:
    model_server.fail(529, "overloaded", nth=0)
    model_server.answer("It rains.")
    actor: Json = {
        "provider": "anthropic",
        "model": "claude",
        "prompts": {"user": "Say it."},
        "fallback": ["openai/gpt"],
    }
    plan = tool_plan({}, {"actor": actor}, step={"agent_type": "generic_single_shot"})
    kinds = ("anthropic", "openai")
    providers = Providers({kind: settings(kind, url_of(kind, model_server)) for kind in kinds})
    state = fresh(plan, {})
    scope = WireScope(plan, state, ModelWorld(not_asked, no_skill), None)
    scope.activities = AgentActivities(providers)
    try:
        result = await run(scope)
    finally:
        await providers.close()
    assert result.output == {"act": {"text": "It rains."}}
    first, second = model_server.requests()
    assert (first.status, first.body["model"]) == (529, "claude")
    assert (second.status, second.body["model"]) == (200, "gpt")
    (cause,) = [one.cause for one in state.trail if isinstance(one.cause, ModelReplaced)]
    assert (cause.model, cause.fallback, cause.type) == (
        "anthropic/claude",
        "openai/gpt",
        "ProviderUnavailable",
    )


class NamedModel(Model):
    """Also keeps the names of the providers that were asked."""

    def __init__(self, *turns: object) -> None:
        super().__init__(*turns)  # type: ignore[arg-type]
        self.names: list[str] = []

    def get(self, name: str) -> "NamedModel":
        self.names.append(name)
        return self


async def test_a_later_turn_asks_the_fallback_with_the_whole_conversation() -> None:
    thinking = ThinkingPart("scripted", "demo", {"signature": "S"})
    model = NamedModel((thinking, *wants("a")), says("Done."))
    agents = Agents(model)
    await agents.first()
    model.names.clear()
    turn = {"continues": True, "results": [{"text": "1"}]}
    await agents.turn(tool_turn=turn, provider="second", model="big")
    assert set(model.names) == {"second"}
    first, second = model.asked
    assert (second.model, second.system, second.tools) == ("big", first.system, first.tools)
    assert second.messages[:1] == first.messages
