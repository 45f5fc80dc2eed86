"""A command that its worker lets use the network sends data out, wherever it is called."""

import os
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.agents.inner_calls import InnerCalls
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import FunctionRequest
from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.documents.product_capabilities import finds_sandbox
from coterie.dsl.analysis.findings import analysed
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.egress.channel_labels import RUN, RUN_ONCE, open_commands
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import Reach
from coterie.dsl.model.steps import FunctionStep
from coterie.settings import load
from tests.support.compiling import CAPABILITIES, compiled

DOCUMENT = """
worker:
  sandbox: {sandbox}
  commands:
    install: {{ run: [npm, ci], network: true }}
    format: {{ run: [npm, run, format] }}
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    all: {{ prompts: {{ user: Work. }}, tools: [page, it] }}
    planned:
      execution_plan:
        - {{ name: it, skill: {skill}, input: {{ command: "{command}" }} }}
tools:
  page: {{ skill: Memory.search }}
  it: {{ skill: {skill}{fixed} }}
orchestration:
  entry_team: main
  teams:
    main:
      tasks: [{{ name: one, persona_key: all }}, {{ name: two, persona_key: planned }}]
"""
ANY = "{{ context.command }}"
OPEN = {
    ("auto", "install"): True,
    ("auto", "format"): False,
    ("bubblewrap", "install"): True,
    ("bubblewrap", "format"): False,
    ("{ mode: bubblewrap }", "format"): False,
    ("none", "install"): True,
    ("none", "format"): True,
    ("{ mode: none }", "format"): True,
    ("auto", ANY): True,
}


def document(sandbox: str, command: str, function: str = RUN) -> str:
    fixed = "" if command == ANY else f", fixed: {{ command: {command} }}"
    return DOCUMENT.format(sandbox=sandbox, command=command, skill=function, fixed=fixed)


@pytest.mark.parametrize("function", [RUN, RUN_ONCE])
@pytest.mark.parametrize(("sandbox", "command"), OPEN)
def test_a_command_sends_data_out_if_it_may_use_the_network(
    sandbox: str, command: str, function: str
) -> None:
    found = compiled(document(sandbox, command, function))
    sends = OPEN[sandbox, command]
    assert ("egress" in found.plan.tools["it"].labels) is sends
    step = next(iter(found.plan.personas["planned"].execution_plan or ()))
    assert isinstance(step, FunctionStep)
    assert step.terms is not None
    assert ("egress" in step.terms.labels) is sends
    assert ("W521" in {one.code for one in analysed(found).findings}) is sends


@pytest.mark.parametrize(("sandbox", "command"), OPEN)
def test_a_hook_runs_no_command_that_may_use_the_network(sandbox: str, command: str) -> None:
    hook = {"name": "log", "on": "after_run", "skill": RUN, "input": {"command": command}}
    text = f"{document(sandbox, 'format')}  hooks: [{hook}]\n"
    codes: set[str] = set()
    try:
        compiled(text)
    except InvalidDocument as error:
        codes = {one.code for one in error.problems}
    assert ("E510" in codes) is OPEN[sandbox, command]


@pytest.mark.parametrize("function", [RUN, RUN_ONCE])
def test_an_agents_own_code_runs_no_command_that_may_use_the_network(function: str) -> None:
    calls = InnerCalls(CAPABILITIES.functions, Reach(commands=("install",), trusted_paths=("**",)))
    known = calls.of(FunctionRequest(skill=function, input={"command": "format"}, key="k"))
    assert known is not None
    assert known.labels == ("private",)
    unknown: tuple[JsonValue, ...] = ({"command": "install"}, {}, None, "install")
    for given in unknown:
        with pytest.raises(AgentRefused, match="sends data out"):
            calls.of(FunctionRequest(skill=function, input=given, key="k"))


def test_without_a_sandbox_every_command_may_use_the_network() -> None:
    worker = compiled(document("auto", "format")).worker
    assert worker is not None
    assert open_commands(worker.commands, sandboxed=True) == ("install",)
    assert open_commands(worker.commands, sandboxed=False) == ("format", "install")


@pytest.mark.parametrize(
    ("sandbox", "sends"), [("auto", True), ("bubblewrap", False), ("none", True)]
)
def test_a_command_sends_data_out_where_auto_finds_no_sandbox(sandbox: str, sends: bool) -> None:
    text = document(sandbox, "format")
    known = CAPABILITIES.model_copy(update={"sandboxed": False})
    plan = compile_sources([SourceText("1.yml", text)], known, name="test").plan
    assert ("egress" in plan.tools["it"].labels) is sends


def test_a_sandbox_is_tried_only_for_files_that_may_declare_commands(tmp_path: Path) -> None:
    settings = load({"PATH": os.defpath}, tmp_path)
    found = isinstance(find_bubblewrap(os.defpath), Bubblewrap)
    assert finds_sandbox(settings, [SourceText("1.yml", "name: a")])
    assert finds_sandbox(settings, [SourceText("1.yml", "worker: {commands: {}}")]) is found
