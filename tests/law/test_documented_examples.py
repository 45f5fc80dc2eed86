"""The examples in the reference and in the page of errors do what the text around them says."""

import re
from textwrap import indent

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from dsl.analysis.findings import findings
from dsl.capabilities import Capabilities, SkillContract
from dsl.compiler import Compiled, SourceText, compile_sources
from dsl.errors import InvalidDocument
from dsl.steps import STEP_KINDS
from dsl.values import Json
from tests.law.sources import ROOT

BASE = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: { prompts: { system: "You write.", user: "Write about {{ context.topic }}." } }
    solution_designer_v1: { prompts: { solution: "Design {{ input.request }}." } }
    coder:
      execution_plan:
        - { name: apply, skill: AssetManager.process_action, input: "{{ context.change }}" }
    tester:
      execution_plan:
        - { name: run_tests, skill: CommandRunner.run, input: { command: pytest } }
orchestration:
  entry_team: everything
  teams:
    everything:
      tasks:
        - { name: drafting, team: draft }
        - { name: building, team: build }
        - { name: designing, team: design }
    draft:
      tasks:
        - { name: write, agent_type: generic_single_shot, persona_key: writer }
    build:
      tasks:
        - name: code
          agent_type: generic_orchestrating
          persona_key: coder
          input:
            change: "{{ context.change }}"
            changes: "{{ context.changes }}"
            wanted: "{{ context.wanted }}"
        - { name: test, agent_type: generic_orchestrating, persona_key: tester }
    design:
      tasks:
        - name: design
          agent_type: generic_single_shot
          persona_key: solution_designer_v1
          input: { request: "{{ context.request }}" }
tools:
  apply: { skill: AssetManager.process_action }
"""
TASKS = "orchestration:\n  teams:\n    draft:\n      tasks:\n"
TEAM = "orchestration:\n  teams:\n    draft:\n"
PLAN = "llm_config:\n  personas:\n    coder:\n      execution_plan:\n"

SKILLS = ("AssetManager.process_action", "CommandRunner.run")
CAPABILITIES = Capabilities(
    agent_types=("generic_single_shot", "generic_orchestrating"),
    providers=("scripted", "anthropic", "openai"),
    commands=("pytest",),
    skills={
        name: SkillContract(
            name=name, description="", effect="idempotent", input_schema={}, output_schema={}
        )
        for name in SKILLS
    },
)


def sections(page: str, heading: str) -> dict[str, str]:
    """`{what the heading names: its first YAML block}`."""
    text = (ROOT / "docs" / page).read_text()
    found = re.findall(rf"^## {heading}(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    blocks = {name: re.search(r"```yaml\n(.*?)```", body, re.DOTALL) for name, body in found}
    return {name: block[1] for name, block in blocks.items() if block}


KINDS = sections("language.md", r"`(\w+)`")
CODES = sections("errors.md", r"([EW]\d{3})")


def completed(code: str, example: str) -> str:
    """An example shows a part of a document; this puts the part into its place."""
    if code.startswith("E0"):
        return example
    if example.startswith("- "):
        return TASKS + indent(example, 8 * " ")
    return TEAM + indent(example, 6 * " ") if example.startswith("routing:") else example


def compiled(example: str, *, trusted: bool = True) -> Compiled:
    def schema_problem(schema: Json) -> str | None:
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            return error.message
        return None

    sources = [SourceText("base.yml", BASE), SourceText("example.yml", example, trusted=trusted)]
    return compile_sources(sources, CAPABILITIES, name="docs", schema_problem=schema_problem)


def codes(example: str, *, trusted: bool = True) -> set[str]:
    try:
        result = compiled(example, trusted=trusted)
        return {problem.code for problem in (*result.warnings, *findings(result))}
    except InvalidDocument as error:
        return {problem.code for problem in error.problems}


def test_what_the_examples_stand_in_is_without_problems() -> None:
    assert codes("name: docs\n") == set()


def test_every_kind_and_nearly_every_code_has_an_example() -> None:
    assert sorted(KINDS) == sorted(STEP_KINDS)
    assert len(CODES) >= 30


@pytest.mark.parametrize("code", sorted(CODES))
def test_an_example_of_a_mistake_shows_that_mistake_and_no_other(code: str) -> None:
    assert codes(completed(code, CODES[code]), trusted=code != "E601") == {code}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_example_of_a_kind_compiles_to_that_kind(kind: str) -> None:
    in_plan = "skill:" in KINDS[kind] or kind == "tool"
    example = (PLAN if in_plan else TASKS) + indent(KINDS[kind], 8 * " ")
    result = compiled(example)
    assert result.warnings == ()
    plan = result.plan.personas["coder"].execution_plan if in_plan else None
    (step,) = plan or result.plan.teams["draft"].steps
    assert step.kind == kind
