"""An answer without a text: asked again, and never in a request that its vendor refuses."""

import json

import pytest

from coterie.activities.providers.provider_registry import Providers
from coterie.agents.in_process_world import InProcessScope
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.activity.agents.wired_agents import (
    CALL,
    REASONING,
    THOUGHT,
    Wired,
    chat,
    claude,
    response,
)
from tests.activity.providers.test_provider_answers import SAYS
from tests.support.servers.asking import APIS, settings
from tests.support.servers.raw_server import RawServer, raw_server
from tests.support.servers.vendor_rules import fault_of
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import function_tool, persona, tool_plan

MESSAGE: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
EMPTY: dict[str, dict[str, bytes]] = {
    "anthropic": {
        "nothing": claude(),
        "blank": claude({"type": "text", "text": "\n"}),
        "thinking": claude(THOUGHT),
    },
    "openai": {
        "nothing": chat({"content": None}),
        "blank": chat({"content": "\n"}),
        "thinking": chat({"content": "", "reasoning_content": "Hm."}),
    },
    "responses": {
        "nothing": response(),
        "blank": response(REASONING, MESSAGE),
        "thinking": response(REASONING),
    },
}
CASES = [(api, case) for api in APIS for case in EMPTY[api]]


def agent(api: str, reasks: int, *, with_tools: bool, tasks: int = 1) -> Plan:
    own: Json = {"provider": api, "model": "m-1", "max_reasks": reasks}
    kind = "generic_tool_calling" if with_tools else "generic_single_shot"
    actor: Json = (
        {**persona("look"), **own} if with_tools else {"prompts": {"user": "Say it."}, **own}
    )
    step: Json = {"name": "act", "agent_type": kind, "persona_key": "actor", "input": "it"}
    steps = [{**step, "name": f"act{n}", "conversation": "talk"} for n in range(tasks)]
    plan = tool_plan({"look": function_tool()} if with_tools else {}, {"actor": actor})
    data = plan.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    data["teams"]["work"] |= {"steps": steps, "stop_on_failure": False}
    return Plan.model_validate(data).with_digest()


async def ran(plan: Plan, api: str, server: RawServer) -> TeamResult:
    """The result of the run, whose requests the vendor has all accepted."""
    providers = Providers({api: settings(api, server.url + APIS[api].base)})
    try:
        result = await run(InProcessScope(plan, fresh(plan, {}), Wired(providers)))
    except RunFailed as failed:
        result = failed.result
    finally:
        await providers.close()
    assert [fault_of(one.path, one.body) for one in server.requests] == [None] * len(
        server.requests
    )
    return result


@pytest.mark.parametrize("with_tools", [False, True])
@pytest.mark.parametrize(("api", "case"), CASES)
async def test_an_empty_answer_is_asked_for_again(api: str, case: str, *, with_tools: bool) -> None:
    before = [CALL[api]] if with_tools else []
    async with raw_server(*before, EMPTY[api][case], SAYS[api]) as server:
        result = await ran(agent(api, 1, with_tools=with_tools), api, server)
    assert result.output == {"act0": {"text": "Hello"}}
    assert "the answer is empty" in json.dumps(server.requests[-1].body)


@pytest.mark.parametrize("with_tools", [False, True])
@pytest.mark.parametrize(("api", "case"), CASES)
async def test_a_conversation_goes_on_after_an_agent_that_said_nothing(
    api: str, case: str, *, with_tools: bool
) -> None:
    before = [CALL[api]] if with_tools else []
    async with raw_server(*before, EMPTY[api][case], SAYS[api]) as server:
        plan = agent(api, 0, with_tools=with_tools, tasks=2)
        result = await ran(plan, api, server)
    assert result.output == {"act1": {"text": "Hello"}}
    assert result.because.endswith(
        "'act0' of team 'work' failed: AnswerUnusable: the answer is empty"
    )
    assert len(server.requests) == len(before) + 2
