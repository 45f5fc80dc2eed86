"""Agents and steps that call tools of MCP servers, on a server."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.capabilities import ServerListing
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.sections.mcp_document import McpServerSection, digest_of_address
from coterie.dsl.model.tools.tool_contract import McpTool
from coterie.storage.wire import data_converter
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import CAPABILITIES, engine
from tests.support.runs import asked, failure, refused, scheduled
from tests.support.servers.mcp_tools import (
    demo_section,
    ledger,
    listing_of,
    mcp_servers,
)
from tests.support.watching.prepared_sandbox import prepared_sandbox

TEAM = """
name: sums
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    actor: { prompts: { user: Add. }, tools: [demo], exclude_tools: [demo_slow] }
tools:
  demo: { mcp: demo, include: ["a*", "note", slow] }
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - { name: act, persona_key: actor }
        - name: keep
          tool: demo_note
          arguments: { text: "{{ tasks.act.data.text }}" }
"""


async def replay(handle: Any) -> None:
    replayer = Replayer(
        workflows=[TeamWorkflow],
        data_converter=data_converter,
        workflow_runner=prepared_sandbox(),
        build_id="test",
    )
    await replayer.replay_workflow(await handle.fetch_history())


def plan_with(section: McpServerSection, listing: ServerListing, team: str = TEAM) -> Plan:
    recorded = listing.model_copy(update={"configuration": digest_of_address(section)})
    known = CAPABILITIES.model_copy(update={"server_listings": {"demo": recorded}})
    worker = {"worker": {"mcp_servers": {"demo": section.model_dump(mode="json")}}}
    sources = [SourceText("team.yml", team), SourceText("coterie.yml", yaml.safe_dump(worker))]
    return compile_sources(sources, known, name="sums").plan


async def test_an_agent_calls_an_mcp_tool_with_one_activity_per_call(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    section = demo_section(tmp_path, tools={"add": {"effect": "read"}})
    wanted = [{"tool": "demo_add", "arguments": {"a": number}} for number in (1, 2)]
    wrong = {"tool": "demo_add", "arguments": {"a": "many"}}
    answers: Any = [
        {"task": "act", "turn": 1, "tool_calls": [*wanted, wrong]},
        {"task": "act", "turn": 2, "answer": "Five."},
    ]
    async with mcp_servers(tmp_path, {"demo": section}) as servers:
        plan = plan_with(section, await listing_of(servers, "demo"))
        async with engine(env, tmp_path, answers, servers=servers) as running:
            handle: Any = await running.start(plan)
            result = await handle.result()
            history = await handle.fetch_history()
            made = await scheduled(handle)
    assert result["output"] == {"act": {"text": "Five."}, "keep": "Five."}
    assert sorted(ledger(tmp_path)) == ["add 1 1", "add 2 1", "note Five."]
    kinds = Counter(EventType.Name(event.event_type) for event in history.events)
    assert kinds["EVENT_TYPE_ACTIVITY_TASK_SCHEDULED"] == 5  # two turns, and three calls
    calls = [one["input"] for one in made if one["type"] == "call_function"]
    used = (plan.tools["demo_add"], plan.tools["demo_note"])
    pinned = {one.listing for one in used if isinstance(one, McpTool)}
    assert {one["listing"] for one in calls} == pinned
    assert {one["skill"] for one in calls} == {"demo/add", "demo/note"}
    assert plan.personas["actor"].tools == ("demo_add", "demo_note")


async def test_a_tool_that_changed_after_the_plan_was_compiled_fails_the_step_that_calls_it(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    section = demo_section(tmp_path)
    answers: Any = [{"task": "act", "answer": "Five."}]
    recorded: dict[str, ServerListing] = {}
    async with mcp_servers(tmp_path, {"demo": section}, recorded) as servers:
        offered = await listing_of(servers, "demo")
        older = tuple(one.model_copy(update={"description": "Other."}) for one in offered.tools)
        recorded["demo"] = offered.model_copy(update={"tools": older})
        plan = plan_with(section, recorded["demo"])
        async with engine(env, tmp_path, answers, servers=servers) as running:
            handle: Any = await running.start(plan)
            error = await failure(handle)
    assert 'description: "Other." -> "' in str(error)
    assert ledger(tmp_path) == []


RECOVERY = """
orchestration:
  entry_team: work
  teams: { work: { tasks: [{ name: go, type: tool, tool: t, arguments: {} }] } }
tools:
  t: { mcp: demo/recover }
"""


@pytest.mark.parametrize(
    ("effect", "end", "calls"),
    [("read", "back", ["recover", "recover"]), ("once", "OutcomeUnknown", ["recover"])],
)
async def test_a_server_that_dies_in_a_call_is_restarted_and_the_call_repeated_only_if_it_may_be(
    env: WorkflowEnvironment, tmp_path: Path, effect: str, end: str, calls: list[str]
) -> None:
    section = demo_section(tmp_path, tools={"*": {"effect": effect}})
    async with mcp_servers(tmp_path, {"demo": section}) as servers:
        plan = plan_with(section, await listing_of(servers, "demo"), RECOVERY)
        async with engine(env, tmp_path, [], servers=servers) as running:
            handle: Any = await running.start(plan)
            if effect == "read":
                assert (await handle.result())["output"] == {"go": end}
            else:
                assert end in str(await failure(handle))
            assert len(await scheduled(handle)) == 1  # attempts write no events
    assert ledger(tmp_path) == calls


ASKING = """
orchestration:
  entry_team: work
  groups: {{ keepers: [ann, ben] }}
  teams: {{ work: {{ tasks: [{{ name: go, type: tool, tool: t, arguments: {arguments} }}] }} }}
tools:
  t: {{ mcp: demo/{tool}{terms} }}
"""
SURE: Any = {"decision": "approve", "by": "ann", "payload": {"sure": True}}


async def test_a_question_of_a_tool_is_an_approval_with_a_form_and_its_answer_continues_the_call(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    section = demo_section(tmp_path)
    terms = ", requires_approval: { when: '{{ false }}', approvers: [keepers] }"
    team = ASKING.format(tool="remove", arguments="{}", terms=terms)
    async with mcp_servers(tmp_path, {"demo": section}) as servers:
        plan = plan_with(section, await listing_of(servers, "demo"), team)
        async with engine(env, tmp_path, [], servers=servers) as running:
            handle: Any = await running.start(plan)
            request = await asked(handle)
            assert request["id"] == "work/go/input#1"
            assert request["prompt"] == "The tool 'demo/remove' asks: Really delete it?"
            assert request["payload_schema"]["required"] == ["sure"]
            assert (request["show"], request["approvers"]) == ({}, ["ann", "ben"])
            assert ledger(tmp_path) == []
            answer = {**SURE, "id": request["id"]}
            assert "'sure'" in await refused(handle, {**answer, "payload": {}})
            wrong = {**answer, "payload": {"sure": "perhaps"}}
            assert "payload.sure is a text, not true or false" in await refused(handle, wrong)
            assert "'cleo' may not decide" in await refused(handle, {**answer, "by": "cleo"})
            await handle.execute_update("decide", answer)
            assert (await handle.result())["output"] == {"go": "removed: True"}
            made = await scheduled(handle)
            await replay(handle)
    assert ledger(tmp_path) == ["remove"]
    first, second = (one["input"] for one in made)
    assert first["key"] == second["key"]
    assert "given_input" not in first
