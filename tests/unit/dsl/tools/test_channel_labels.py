"""Every way out of a worker, with what decides whether it sends data out: its configuration."""

import json
from contextlib import nullcontext

import pytest

from coterie.activities.agents.inner_calls import InnerCalls
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import FunctionRequest
from coterie.activities.tool_functions.function_registry import contracts
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.egress.channel_labels import COMMAND_FUNCTIONS, call_labels
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.capabilities import FunctionContract, Label, Reach, ServerListing, ServerTool
from coterie.dsl.model.sections.mcp_document import McpServerSection, digest_of_address
from coterie.dsl.model.sections.worker_document import WorkerSection
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.steps import FunctionStep
from coterie.dsl.model.traversal.step_walk import lists_of_plan, walk
from coterie.dsl.values import Json
from tests.support.compiling import CAPABILITIES

WEB = {"Arxiv.search", "Web.fetch", "Web.search"}
INSIDE = {
    "AgentSkills.use",
    *("AssetManager.apply_changes", "AssetManager.process_action", "Cache.get", "Cache.put"),
    *("Calculator.evaluate", "Discovery.collect", "Files.edit", "Files.list", "Files.read"),
    *("Files.search", "Files.view", "Files.write", "Git.commit", "Git.diff", "Git.log"),
    *("Git.status", "Memory.search", "Memory.store", "Person.ask", "Python.run"),
    *("Retriever.search", "SemanticIterator.initialize"),
}
"""Functions that reach nothing outside. `Python.run` has no modules, files and network."""
CHANNELS = {
    "commands": "test_command_labels.py",
    "sandbox": "test_command_labels.py",
    "tool_packages": "test_a_python_tool_sends_data_out_unless_the_worker_says_otherwise",
    "offline_tools": "test_a_python_tool_sends_data_out_unless_the_worker_says_otherwise",
    "mcp_servers": "test_a_tool_of_an_mcp_server_sends_data_out_unless_the_worker_says_otherwise",
    "apis": "test_the_method_gives_the_effect_of_an_operation",
    "activities": "test_a_tool_takes_the_terms_of_the_worker_and_its_own",
    "workflows": "test_a_tool_takes_the_terms_of_the_worker_and_its_own",
    "nexus": "test_a_tool_takes_the_terms_of_the_worker_and_its_own",
    "web": "test_every_function_of_coterie_has_a_row",
    "notify": "test_a_channel_without_a_grant_carries_nothing_that_the_run_wrote",
}
"""`{key of the worker's configuration that opens a way out: the test of its labels}`."""
OTHER_KEYS = {
    *("workspace", "trusted_paths", "agent_env", "tool_env"),
    *("accept_plans", "decisions", "search_attributes", "event_groups"),
    *("agent_packages", "provider_packages", "memory"),
}
"""Keys that open no way out which a run could choose: agents' own code calls no function that sends
data out, and the configuration names each provider."""

FUNCTION = "acme.text:count"
ASKED = """
worker: %s
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    all: { prompts: { user: Work. }, tools: [page, it] }
    planned: { execution_plan: [{ name: it, skill: "acme.text:count", input: {} }] }
tools:
  page: { skill: Memory.search }
  it: { %s }
orchestration:
  entry_team: main
  teams:
    main:
      tasks: [{ name: one, persona_key: all }, { name: two, persona_key: planned }]
      routing: { rules: [{ condition: all_success, next_team: [left, right] }] }
    left: { tasks: [{ name: a, type: set, values: { a: 1 } }], routing: { default: both } }
    right: { tasks: [{ name: b, type: set, values: { b: 1 } }], routing: { default: both } }
    both: { type: concentrator, collect: { aggregate: "acme.text:count" }, tasks: [] }
"""


def contract(*labels: Label) -> FunctionContract:
    return FunctionContract(
        name=FUNCTION,
        description="Counts.",
        effect="read",
        input_schema={"type": "object"},
        output_schema={},
        labels=labels,
    )


def compiled(worker: dict[str, object], labels: tuple[Label, ...] = (), more: str = "") -> Compiled:
    known = CAPABILITIES.model_copy(
        update={"functions": {**CAPABILITIES.functions, FUNCTION: contract(*labels)}}
    )
    text = ASKED % (json.dumps(worker), f'skill: "{FUNCTION}"') + more
    return compile_sources([SourceText("1.yml", text)], known, name="test")


def test_every_key_of_the_worker_has_a_row() -> None:
    assert {*CHANNELS, *OTHER_KEYS} == set(WorkerSection.model_fields)


def test_every_function_of_coterie_has_a_row() -> None:
    functions = contracts()
    assert {*WEB, *INSIDE, *COMMAND_FUNCTIONS} == set(functions)
    closed, opened = Reach(), Reach(commands=("any",))
    sending = {
        name for name, one in functions.items() if "egress" in call_labels(one, None, closed)
    }
    assert sending == WEB
    sending = {
        name for name, one in functions.items() if "egress" in call_labels(one, None, opened)
    }
    assert sending == {*WEB, *COMMAND_FUNCTIONS}


@pytest.mark.parametrize(
    ("offline", "sends"),
    [
        ([], True),
        (["acme.text:cou"], True),
        (["acme.*:find"], True),
        ([FUNCTION], False),
        (["other:*", "acme.*:*"], False),
    ],
)
@pytest.mark.parametrize("labels", [(), ("untrusted",), ("private", "egress")])
def test_a_python_tool_sends_data_out_unless_the_worker_says_otherwise(
    labels: tuple[Label, ...], offline: list[str], sends: bool
) -> None:
    sends = sends or "egress" in labels
    made = compiled({"tool_packages": ["acme"], "offline_tools": offline}, labels)
    called: list[FunctionTerms | None] = []
    for steps in lists_of_plan(made.plan):
        called += [step.terms for step, _ in walk(steps, ()) if isinstance(step, FunctionStep)]
    assert len(called) == 2  # of the plan, and of the concentrator
    for found in (made.plan.tools["it"].labels, *(one.labels for one in called if one)):
        assert ("egress" in found) is sends
        assert set(found) - {"egress"} == set(labels) - {"egress"}
    assert made.worker is not None
    worker = TrustedConfig(workspace="/", offline_tools=made.worker.offline_tools)
    inner = InnerCalls({FUNCTION: contract(*labels)}, worker.reach(sandboxed=True))
    with pytest.raises(AgentRefused, match=r"worker\.offline_tools") if sends else nullcontext():
        inner.of(FunctionRequest(skill=FUNCTION, key="k"))


@pytest.mark.parametrize(("offline", "allowed"), [([], False), ([FUNCTION], True)])
def test_a_hook_calls_no_python_tool_that_may_use_the_network(
    offline: list[str], allowed: bool
) -> None:
    hook: Json = {"name": "log", "on": "after_run", "skill": FUNCTION, "input": {}}
    problems: tuple[Problem, ...] = ()
    try:
        compiled({"offline_tools": offline}, more=f"  hooks: [{json.dumps(hook)}]\n")
    except InvalidDocument as error:
        problems = error.problems
    found = [str(one) for one in problems if one.code == "E510"]
    assert (not found) is allowed
    assert all("worker.offline_tools" in one for one in found)


@pytest.mark.parametrize("how", [{"command": ["hub"]}, {"url": "https://hub.example/mcp"}])
@pytest.mark.parametrize(
    ("terms", "sends"),
    [
        ({}, True),
        ({"*": {"effect": "read"}}, True),
        ({"*": {"labels": ["untrusted"]}}, False),
        ({"find": {"labels": []}}, False),
        ({"found": {"labels": []}}, True),
    ],
)
def test_a_tool_of_an_mcp_server_sends_data_out_unless_the_worker_says_otherwise(
    how: dict[str, object], terms: dict[str, object], sends: bool
) -> None:
    server = McpServerSection.model_validate({**how, "tools": terms})
    hints: Json = {"read_only_hint": True, "open_world_hint": False}
    listing = ServerListing(
        configuration=digest_of_address(server), tools=(ServerTool(name="find", hints=hints),)
    )
    known = CAPABILITIES.model_copy(
        update={
            "functions": {**CAPABILITIES.functions, FUNCTION: contract()},
            "server_listings": {"hub": listing},
        }
    )
    worker = {"mcp_servers": {"hub": {**how, "tools": terms}}}
    text = ASKED % (json.dumps(worker), "mcp: hub/find")
    plan = compile_sources([SourceText("1.yml", text)], known, name="test").plan
    assert ("egress" in plan.tools["it"].labels) is sends


@pytest.mark.parametrize(
    "wrong", ["acme", "acme.text", "acme.text:", ":count", "acme text:count", "acme:a.b", ""]
)
def test_an_offline_tool_is_a_function_or_a_glob_of_them(wrong: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        compiled({"offline_tools": [wrong]})
    [found] = caught.value.problems
    assert found.code == "E103"
    assert "a Python tool or a glob of them" in str(found)
