"""The examples in the reference and in the page of errors do what the text around them says."""

import re
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent

import pytest

from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.cli import main
from coterie.documents.schedule_warnings import schedule_problems
from coterie.dsl.analysis.findings import findings
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import Capabilities, Reach
from coterie.dsl.model.document import TeamDocument
from coterie.dsl.model.steps import STEP_KINDS
from tests.law.documents.pages import LANGUAGE_PAGES, STEP_PAGES, blocks, chapters, chapters_of

AGENTS = """
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
tools:
  apply: { skill: AssetManager.process_action }
"""
TEAMS = """
orchestration:
  entry_team: everything
  teams:
    everything:
      tasks:
        - { name: drafting, team: draft }
        - { name: building, team: build }
        - { name: designing, team: design }
        - { name: talking, team: talk }
    talk:
      tasks:
        - { name: hear, type: wait, message: true }
        - { name: answer, type: reply, value: Yes. }
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
        - { name: remove, tool: apply, arguments: { file_path: draft.txt, type: delete } }
    design:
      tasks:
        - name: design
          agent_type: generic_single_shot
          persona_key: solution_designer_v1
          input: { request: "{{ context.request }}" }
"""
BASE = AGENTS + TEAMS
TASKS = "orchestration:\n  teams:\n    draft:\n      tasks:\n"
TEAM = "orchestration:\n  teams:\n    draft:\n"
RULES = f"{TEAM}      routing:\n        default: null\n        rules:\n"
PLAN = "llm_config:\n  personas:\n    coder:\n      execution_plan:\n"

CAPABILITIES = Capabilities(
    reach=Reach(trusted_paths=("**",)),
    agent_types=("generic_single_shot", "generic_orchestrating", "generic_tool_calling"),
    providers=("scripted", "anthropic", "openai"),
    commands=("pytest", "deploy", "was_deployed"),
    once_commands=("deploy",),
    functions=known_contracts(),
    now=datetime(2026, 1, 1, tzinfo=UTC).timestamp(),
)


def first_blocks(pages: tuple[str, ...], heading: str) -> dict[str, str]:
    """`{what the heading names: its first YAML block}`."""
    named = {re.match(heading, title): blocks(body) for title, body in chapters_of(pages).items()}
    return {match[1]: found[0] for match, found in named.items() if match and found}


KINDS = first_blocks(STEP_PAGES, r"`(\w+)`")
CODES = first_blocks(("errors.md",), r"([EW]\d{3})")
REFERENCE = {
    f"{page} {title} {number}": block
    for page in (*LANGUAGE_PAGES, *STEP_PAGES, "older-forms.md")
    for title, body in chapters(page).items()
    for number, block in enumerate(blocks(body), 1)
}
"""Every YAML block of the reference."""

MARK = re.compile(r"# refused: ([EW]\d{3})\n")
PERSONA_FILE = re.compile(r"# config/personas/(\w+)\.yml\n")
PLAN_STEP = re.compile(r"^ *(?:- )?(?:skill|tool):", re.MULTILINE)
NOT_A_TEAMS = ("name", "description")  # these begin a document


def completed(code: str, example: str) -> str:
    """An example of a mistake, put into its place unless it is no YAML."""
    return example if code.startswith("E0") else placed(example, in_plan=False)


def placed(example: str, *, in_plan: bool | None = None) -> str:
    """A step as a task or in a plan, a rule in its routing, a part of a team in its team.

    Args:
        example: the part, or a whole document, which stays as it is.
        in_plan: where steps stand; in a plan when unsaid and they call tool functions or tools.
    """
    shown = "\n".join(line for line in example.splitlines() if not line.startswith("#"))
    if shown.startswith("- condition:"):
        return RULES + indent(example, 10 * " ")
    if shown.startswith("- "):
        called = bool(PLAN_STEP.search(shown)) if in_plan is None else in_plan
        return (PLAN if called else TASKS) + indent(example, 8 * " ")
    key = shown.partition(":")[0]
    if key in TeamDocument.model_fields and key not in NOT_A_TEAMS:
        return TEAM + indent(example, 6 * " ")
    return example


def base_of(example: str) -> str:
    """What an example is laid over: the agents alone when it has all teams of its own."""
    if "\n  context:" in example:  # it declares every path that a document may name
        return "name: base\n"
    return AGENTS if "entry_team:" in example and "\n  teams:" in example else BASE


def compiled(example: str, *, trusted: bool = True, persona: str | None = None) -> Compiled:
    """An example, laid over what it stands in."""
    sources = [
        SourceText("base.yml", base_of(example)),
        SourceText(
            "example.yml",
            example,
            trusted=trusted,
            persona=persona,
            overrides=example.startswith("access:"),  # only coterie.yml has it
        ),
    ]
    return compile_sources(sources, CAPABILITIES, name="docs")


TODAY = datetime(2026, 11, 29, tzinfo=UTC)


def codes(example: str, *, trusted: bool = True, persona: str | None = None) -> set[str]:
    """The codes of all that is wrong with an example."""
    try:
        result = compiled(example, trusted=trusted, persona=persona)
        found = (*result.warnings, *findings(result), *schedule_problems(result, TODAY))
        return {problem.code for problem in found}
    except InvalidDocument as error:
        return {problem.code for problem in error.problems}


def test_base_of_the_examples_has_no_problems() -> None:
    assert codes("name: docs\n") == set()


def test_every_kind_and_nearly_every_code_has_an_example() -> None:
    assert sorted(KINDS) == sorted(STEP_KINDS)
    assert len(CODES) >= 30


@pytest.mark.parametrize("code", sorted(CODES))
def test_an_example_of_a_mistake_shows_that_mistake_and_no_other(code: str) -> None:
    assert codes(completed(code, CODES[code]), trusted=code != "E601") == {code}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_example_of_a_kind_compiles_to_that_kind(kind: str) -> None:
    result = compiled(placed(KINDS[kind]))
    in_plan = PLAN_STEP.search(KINDS[kind])
    plan = result.plan.personas["coder"].execution_plan if in_plan else None
    (step,) = plan or result.plan.teams["draft"].steps
    assert step.kind == kind


@pytest.mark.parametrize("place", REFERENCE)
def test_a_block_of_the_reference_compiles_or_is_refused_as_it_says(place: str) -> None:
    block = REFERENCE[place]
    refused, persona = MARK.match(block), PERSONA_FILE.match(block)
    found = codes(
        placed(block),
        trusted=not (refused and refused[1] == "E601"),
        persona=persona[1] if persona else None,
    )
    assert found == ({refused[1]} if refused else set())


MISTAKES = {title: body for title, body in chapters("common-mistakes.md").items() if blocks(body)}


@pytest.mark.parametrize("title", MISTAKES)
def test_a_common_mistake_has_its_code_and_its_cure_has_none(title: str) -> None:
    wrong, right = (placed(block, in_plan=False) for block in blocks(MISTAKES[title]))
    (code,) = re.findall(r"\(([EW]\d{3})\)$", title)
    assert codes(wrong) == {code}
    assert codes(right) == set()


@pytest.mark.parametrize("title", MISTAKES)
def test_a_common_mistake_is_reported_by_validate_as_the_page_says(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, right = (placed(block, in_plan=False) for block in blocks(MISTAKES[title]))
    provider = "  default_provider: scripted\n  providers: { scripted: {} }\n"
    base = base_of(wrong).replace("  default_provider: scripted\n", provider)
    (tmp_path / "system_config.yml").write_text(base)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "team.yml").write_text(wrong)
    main(["validate", "team.yml"])
    (shown,) = re.findall(r"^```text\n(.*?)^```$", MISTAKES[title], re.MULTILINE | re.DOTALL)
    assert capsys.readouterr().out == shown
    (tmp_path / "team.yml").write_text(right)
    assert main(["validate", "team.yml"]) == 0
    assert capsys.readouterr() == ("", "team.yml: no problems\n")


def test_the_page_of_common_mistakes_is_read() -> None:
    assert len(MISTAKES) >= 10
