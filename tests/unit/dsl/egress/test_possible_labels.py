"""`check` counts a file whose path is known only at run time, if the worker vouches for some."""

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.egress.workspace_reads import FILE_READERS
from coterie.dsl.model.capabilities import Reach
from tests.support.compiling import CAPABILITIES

DOCUMENT = """
worker: {{ trusted_paths: {globs} }}
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    model: {{ prompts: {{ user: Work. }}, tools: [files, send] }}
    hooked:
      prompts: {{ user: Work. }}
      tools: [send]
      hooks: [{{ on: before_turn, skill: {skill}, input: {{ path: "{path}" }}, decide: continue }}]
    planned:
      execution_plan:
        - name: both
          type: parallel
          branches: {{ one: [{{ name: look, skill: {skill}, input: {{ path: "{path}" }} }}] }}
        - {{ name: tell, tool: send, arguments: {{ text: Hello. }} }}
tools:
  files: {{ skill: {skill}, fixed: {fixed} }}
  send: {{ skill: Memory.store, labels: [egress] }}
orchestration:
  entry_team: main
  teams: {{ main: {{ tasks: [{{ name: one, persona_key: {persona} }}] }} }}
"""
RUN_TIME = "{{ context.path }}"


@pytest.mark.parametrize("persona", ["model", "hooked", "planned"])
@pytest.mark.parametrize("function", FILE_READERS)
@pytest.mark.parametrize(
    ("path", "globs", "asks"),
    [
        (RUN_TIME, "[src/*]", True),
        (RUN_TIME, "['**']", False),
        (RUN_TIME, "[]", True),
        ("src/a.png", "[src/*]", False),
        ("mail/1.png", "[src/*]", True),
    ],
)
def test_a_path_known_only_at_run_time_counts(
    persona: str, function: str, path: str, globs: str, asks: bool
) -> None:
    fixed = "{}" if path == RUN_TIME else f"{{ path: {path} }}"
    text = DOCUMENT.format(persona=persona, skill=function, path=path, globs=globs, fixed=fixed)
    known = CAPABILITIES.model_copy(update={"reach": Reach()})
    compiled = compile_sources([SourceText("team.yml", text)], known, name="test")
    found = [one.code for one in analysed(compiled).findings]
    assert ("W521" in found) is asks
