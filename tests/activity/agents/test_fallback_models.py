"""A model takes over from one that is overloaded: real SDKs, against a server that answers 529."""

import json

import pytest

from coterie.activities.providers.message_model import ThinkingPart
from coterie.activities.providers.provider_registry import Providers
from coterie.agents.in_process_world import InProcessScope
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.causes.agent_causes import ModelReplaced
from coterie.workflows.interpreter import run
from tests.activity.agents.wired_agents import CALL, Wired
from tests.activity.providers.test_provider_answers import SAYS
from tests.support.servers.asking import APIS, settings
from tests.support.servers.raw_server import http, raw_server
from tests.support.servers.vendor_rules import fault_of
from tests.support.simulation.stopping import fresh
from tests.support.simulation.stored_turns import Agents, Model, says, wants
from tests.support.tool_agents import function_tool, persona, tool_plan

BOUND = {
    "anthropic": ('"signature": "S"',),
    "openai": ('"reasoning_content": "Hm."',),
    "responses": ('"encrypted_content": "e"', '"fc_1"'),
}
"""What of `CALL` only the model that sent it takes."""

OVERLOADED = http(
    '{"error": {"type": "overloaded_error", "message": "busy"}}', status=529, retry_after="0"
)


def overloaded(kind: str, other: str, *, with_tools: bool) -> Plan:
    """A plan whose model is retried once before the one of another provider takes over."""
    own: Json = {"provider": kind, "model": "m-1", "retries": 1, "fallback": [f"{other}/m-2"]}
    if with_tools:
        return tool_plan({"look": function_tool()}, {"actor": {**persona("look"), **own}})
    actor: Json = {"prompts": {"user": "Say it."}, **own}
    return tool_plan({}, {"actor": actor}, step={"agent_type": "generic_single_shot"})


@pytest.mark.parametrize("with_tools", [False, True])
@pytest.mark.parametrize(
    ("kind", "other"),
    [("anthropic", "openai"), ("openai", "responses"), ("responses", "anthropic")],
)
async def test_an_overloaded_provider_leads_to_the_fallback(
    kind: str, other: str, *, with_tools: bool
) -> None:
    plan = overloaded(kind, other, with_tools=with_tools)
    state = fresh(plan, {})
    async with raw_server(OVERLOADED) as busy, raw_server(SAYS[other]) as free:
        urls = {kind: busy.url, other: free.url}
        providers = Providers({name: settings(name, url) for name, url in urls.items()})
        try:
            result = await run(InProcessScope(plan, state, Wired(providers)))
        finally:
            await providers.close()
    assert result.output == {"act": {"text": "Hello"}}
    models = [[one.body["model"] for one in server.requests] for server in (busy, free)]
    assert models == [["m-1", "m-1"], ["m-2"]], "one retry, by the run and not by the SDK"
    (entry,) = [one for one in state.trail if isinstance(one.cause, ModelReplaced)]
    assert entry.because.startswith(
        f"{other}/m-2 takes over from {kind}/m-1: ProviderUnavailable: {kind} is overloaded (529"
    )


@pytest.mark.parametrize("api", APIS)
async def test_a_second_model_gets_nothing_that_only_the_first_one_takes(api: str) -> None:
    """Its thinking, and the ids that link its calls to that; a model without reasoning refuses."""
    own: Json = {"provider": api, "model": "m-1", "retries": 0, "fallback": [f"{api}/m-2"]}
    plan = tool_plan({"look": function_tool()}, {"actor": {**persona("look"), **own}})
    state = fresh(plan, {})
    async with raw_server(CALL[api], OVERLOADED, SAYS[api]) as server:
        providers = Providers({api: settings(api, server.url + APIS[api].base)})
        try:
            result = await run(InProcessScope(plan, state, Wired(providers)))
        finally:
            await providers.close()
    assert result.output == {"act": {"text": "Hello"}}
    first, again = (json.dumps(one.body) for one in server.requests[1:])
    assert [one.body["model"] for one in server.requests] == ["m-1", "m-1", "m-2"]
    assert [mark in first for mark in BOUND[api]] == [True] * len(BOUND[api])
    assert [mark in again for mark in BOUND[api]] == [False] * len(BOUND[api])
    assert fault_of(server.requests[2].path, server.requests[2].body) is None


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
