"""Every fix says what to do: it names the replacement, or explains the form."""

import re
from pathlib import Path

import pytest

from coterie.cli import main
from coterie.dsl.analysis.findings import analysed, warnings
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.normalise.replacements import (
    AT_PLACES,
    EXPLAINED,
    REPLACED_OPERATORS,
    REPLACEMENTS,
)
from coterie.dsl.source.synonyms import SYNONYMS, meant_word
from tests.support.compiling import compiled, problems_of
from tests.unit.dsl.documents.test_mistakes import FILES as MISTAKES
from tests.unit.dsl.documents.test_mistakes import problems as mistakes
from tests.unit.dsl.documents.test_validation_broken import FILES as BROKEN
from tests.unit.dsl.documents.test_validation_broken import problems as broken

TEAM = "orchestration: {entry_team: a, teams: {a: {tasks: [%s]}}}\n"
WAIT = "{name: w, type: wait, duration: 1}"
_ONLY_LEAVES_OUT = re.compile(r"(leave|remove) \S+( out)?\Z")


def fixes(text: str) -> dict[str, str]:
    return {f"{one.code} {one.path}": one.fix for one in problems_of(text)}


@pytest.mark.parametrize(
    ("key", "kinds"),
    [
        ("agent_type", "`type: agent`"),
        ("persona_key", "`type: agent`"),
        ("iterate_on", "`type: loop`"),
        ("body", "`type: loop` or `type: task_graph`"),
    ],
)
def test_a_key_of_another_kind_of_step_names_the_kinds_that_have_it(key: str, kinds: str) -> None:
    (fix,) = fixes(TEAM % f"{{name: w, type: wait, duration: 1, {key}: x}}").values()
    assert fix == f"write {kinds}, which has `{key}`, or remove the key"


def test_no_fix_is_only_to_leave_something_out() -> None:
    found = [one.fix for file in BROKEN for one in broken(file)]
    found += [one.fix for file in MISTAKES for one in mistakes(file.read_text())]
    found += [fix for table in AT_PLACES.values() for fix in table.values()]
    found += [*REPLACEMENTS.values(), *EXPLAINED.values(), *REPLACED_OPERATORS.values()]
    assert len(found) > 300
    assert [fix for fix in found if _ONLY_LEAVES_OUT.match(fix)] == []


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("agents", "llm_config.personas"),
        ("workorder", "context.workorder"),
        ("project", "--workspace"),
        ("intent", "context.intent"),
        ("runtime", "orchestration:"),
        ("backup", "AssetManager"),
        ("logging", "coterie show"),
        ("tartxt_config", "Discovery.collect"),
        ("merge_config", "AssetManager.apply_changes"),
        ("providers", "llm_config:"),
        ("teams", "orchestration:"),
        ("anything", "--context"),
    ],
)
def test_a_key_at_the_top_is_reported_where_its_meaning_belongs(key: str, part: str) -> None:
    (fix,) = fixes(f"{key}: {{a: 1}}\n" + TEAM % WAIT).values()
    assert part in fix


@pytest.mark.parametrize(
    ("task", "part"),
    [
        ("{name: x, type: human_review, prompt: Go?}", "did you mean 'approval'?"),
        ("{name: x, agent_class: a.B, temperature: 0}", "under `config:`"),
        ("{name: x, agent_class: a.B, params_for_it: 0}", "under `input:`"),
        ("{name: x, agent_class: a.B, store_as: y}", "did you mean 'output_variable'?"),
    ],
)
def test_a_key_of_a_task_is_reported_by_its_meaning_before_its_spelling(
    task: str, part: str
) -> None:
    (fix,) = fixes(TEAM % task).values()
    assert part in fix


def test_values_that_are_one_template_are_reported_as_a_mapping_of_templates() -> None:
    text = TEAM % '{name: p, type: set, values: "{{ context.all }}"}'
    assert 'write each key with its own template: `values: {key: "{{ ... }}"}`' in (
        fixes(text).values()
    )


@pytest.mark.parametrize("word", sorted(SYNONYMS))
def test_a_synonym_is_suggested_before_what_is_spelt_alike(word: str) -> None:
    meant = SYNONYMS[word][0]
    assert meant_word(word.upper(), [meant, f"{word}x"]) == meant


def test_a_description_is_allowed_on_tasks() -> None:
    assert fixes(TEAM % "{name: w, description: Rest., type: wait, duration: 1}") == {}


def test_a_key_that_stands_twice_hides_no_other_problem() -> None:
    text = TEAM % "{name: w, type: wiat, duration: 1}" + "name: a\nname: b\n"
    assert [one.code for one in problems_of(text)] == ["E104", "E003"]


@pytest.mark.parametrize("text", ["a:\n\tb: 1\n", "a:\n  - x\n\t- y\n", "a: 1\n\t\nb: 2\n"])
def test_a_tab_is_called_a_tab_at_its_place(text: str) -> None:
    (problem,) = problems_of(text)
    line = text[: text.index("\t")].count("\n") + 1
    assert (problem.code, problem.line, problem.column) == ("E002", line, 1)
    assert "a tab" in problem.message
    assert "spaces" in problem.fix


@pytest.mark.parametrize("name", ["personas/writer.yml", "alone.yml"])
def test_a_persona_s_file_is_checked_as_a_persona(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("provider: anthropic\nmodel: m\nprompts: {user: 'Write {{ context.x }}.'}\n")
    assert main(["validate", name]) == 0
    file.write_text("provider: anthropic\nmodel: m\nprompts: {user: '{{ 1 + }}'}\ntemperatur: 0\n")
    capsys.readouterr()
    assert main(["validate", name]) == 2
    output = capsys.readouterr().out
    assert "E301" in output
    assert "did you mean 'temperature'?" in output
    assert "orchestration" not in output


NAMES = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {w: {prompts: {user: Write.}}}
orchestration:
  entry_team: ENTRY
  teams:
    a:
      tasks: [{name: t, agent_type: TYPE, persona_key: PERSONA}]
      routing: {rules: [{condition: all_success, next_team: NEXT}], default: DEFAULT}
"""
_GOOD = {"ENTRY": "a", "TYPE": "generic_single_shot", "PERSONA": "w", "NEXT": "a", "DEFAULT": "a"}


@pytest.mark.parametrize("place", sorted(_GOOD))
@pytest.mark.parametrize(("character", "code"), [("\\0", "E005"), ("\\x1b", "E214")])
def test_a_control_character_in_a_name_is_a_problem_at_its_place(
    place: str, character: str, code: str
) -> None:
    text = NAMES
    for name, value in _GOOD.items():
        text = text.replace(name, f'"{character}"' if name == place else value)
    lines = text.splitlines()
    (line,) = [n for n, one in enumerate(lines, 1) if character in one]
    column = lines[line - 1].index(f'"{character}"') + 1
    found = {(one.code, one.line, one.column) for one in problems_of(text)}
    assert (code, line, column) in found


DATA = """
orchestration:
  entry_team: a
  settings: {name: SETTING, deep: {list: [DEEP]}}
  context:
    word: {type: string, default: DEFAULT, description: WORDS}
    choose: {type: string, enum: [CHOICE, b], default: b}
    whole: {type: object, default: {KEY: [INNER]}}
  teams:
    a:
      tasks:
        - {name: t, type: set, values: {v: "{{ [context.word, context.choose, context.whole] }}"}}
"""


@pytest.mark.parametrize(
    "place", ["SETTING", "DEEP", "DEFAULT", "WORDS", "CHOICE", "KEY", "INNER", "name", "word"]
)
def test_data_may_have_line_breaks_and_names_may_not(place: str) -> None:
    text = DATA.replace(f"{place}:", '"a\\nb":') if place.islower() else DATA
    text = text.replace(place, '"one\\ntwo"') if place.isupper() else text
    found = {one.code for one in problems_of(text) if one.severity == "error"}
    assert ("E214" in found) is place.islower(), found


PLANNED = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    p:
      KEY
      execution_plan: [{name: note, tool: find}]
    other: {description: O, prompts: {user: Hi.}}
orchestration:
  entry_team: a
  teams:
    a: {tasks: [{name: t, agent_type: generic_orchestrating, persona_key: p}ASKED]}
tools: {find: {skill: Files.list, description: Finds files.}}
"""
ASKED_AS_WELL = (
    ", {name: u, agent_type: generic_single_shot, persona_key: p, config: {execution_plan: null}}"
)


def without_effect(key: str, asked: str = "") -> list[tuple[str, int]]:
    return warned(PLANNED.replace("KEY", key).replace("ASKED", asked))


def warned(text: str) -> list[tuple[str, int]]:
    try:
        made = compiled(text)
    except InvalidDocument as error:
        return [(one.code, one.line) for one in error.problems]
    return [(one.code, one.line) for one in warnings(made, analysed(made))]


_OF_PLANS = ("description", "budgets", "execution_plan")
UNREAD = {
    "provider": ("scripted", "W513"),
    "model": ("demo", "W513"),
    "temperature": ("0", "W513"),
    "top_p": ("0.5", "W513"),
    "max_tokens": ("5", "W513"),
    "effort": ("low", "W513"),
    "thinking": ("2000", "W513"),
    "reasoning": ("off", "W513"),
    "prompt_cache": ("5m", "W513"),
    "timeout": ("5", "W513"),
    "retries": ("1", "W513"),
    "hooks": ("[{on: before_turn, decide: fail}]", "E510"),
    "prompts": ("{user: Go.}", "E503"),
    "prompt": ("user", "E503"),
    "prompt_syntax": ("template", "E503"),
    "output_schema": ("{type: object}", "E503"),
    "max_reasks": ("1", "E503"),
    "flags": ("{a: 1}", "E503"),
    "stream": ("true", "E503"),
    "batch": ("true", "E503"),
    "fallback": ("[scripted/x]", "E503"),
    "context_window": ("9000", "E503"),
    "compaction": ("{at: 0.5}", "E503"),
    "tools": ("[find]", "E503"),
    "subagents": ("[other]", "E503"),
    "exclude_tools": ("[find]", "E503"),
    "handoffs": ("[a]", "E503"),
    "max_turns": ("3", "E503"),
    "tool_choice": ("none", "E503"),
    "tool_calls": ("return", "E503"),
    "tool_policy": ("[{tool: find, max_calls: 1}]", "E503"),
    "tool_search": ("always", "E503"),
    "always_sent": ("[find]", "E503"),
    "parallel_tool_calls": ("false", "E503"),
    "code_mode": ("true", "E503"),
    "agent_skills": ("skills", "E503"),
}
"""`{key: (a value, the code that reports it)}`: every other key of a persona."""


def test_every_key_of_a_persona_has_an_effect_on_one_that_follows_a_plan_or_is_listed() -> None:
    assert {*UNREAD, *_OF_PLANS} == {*PersonaDocument.model_fields}


@pytest.mark.parametrize("key", UNREAD)
def test_a_key_without_effect_on_a_persona_that_follows_a_plan_is_reported(key: str) -> None:
    value, code = UNREAD[key]
    assert (code, 7) in without_effect(f"{key}: {value}")


@pytest.mark.parametrize("key", UNREAD)
def test_a_key_without_effect_in_the_config_of_a_task_that_follows_a_plan_is_reported(
    key: str,
) -> None:
    value, code = UNREAD[key]
    config = f"persona_key: p, config: {{{key}: {value}}}"
    text = PLANNED.replace("KEY", "description: P").replace("ASKED", "")
    assert (code, 13) in warned(text.replace("persona_key: p", config))


@pytest.mark.parametrize("key", ["prompts: {user: Go.}", "temperature: 0", "tools: [find]"])
def test_a_key_without_effect_on_a_persona_that_a_tool_runs_is_reported(key: str) -> None:
    caller = "caller: {prompts: {user: Hi.}, tools: [helper]}\n    other:"
    text = PLANNED.replace("KEY", f"{key}\n      description: P").replace("ASKED", "")
    text = text.replace("other:", caller).replace("{find:", "{helper: {agent: p}, find:")
    text = text.replace("generic_orchestrating, persona_key: p", "generic_tool_calling, KEY")
    code = UNREAD[key.partition(":")[0]][1]
    assert (code, 7) in warned(text.replace("KEY", "persona_key: caller"))


@pytest.mark.parametrize("kind", ["return, value: 1", "fail, message: No."])
@pytest.mark.parametrize("key", ["context_updates: {a: 1}", "output_variable: b"])
def test_a_key_for_a_result_is_refused_on_a_step_that_ends_its_list(kind: str, key: str) -> None:
    text = TEAM % f"{{name: w, type: {kind}, {key}}}"
    name = key.partition(":")[0]
    path = f"orchestration.teams.a.tasks[0].{name}"
    (fix,) = (fix for place, fix in fixes(text).items() if place == f"E107 {path}")
    assert "to a step before it" in fix


def test_a_model_has_no_effect_on_a_persona_that_follows_a_plan_without_defaults_either() -> None:
    text = PLANNED.replace("ASKED", "").replace("  default_model: demo\n", "")
    assert warned(text.replace("KEY", "model: demo")) == [("W513", 6)]
    text = text.replace("  default_provider: scripted\n", "")
    assert warned(text.replace("KEY", "provider: scripted")) == [("W513", 5)]


@pytest.mark.parametrize("key", ["temperature: 0", "model: demo", "provider: scripted"])
def test_a_setting_in_the_config_of_a_task_that_follows_a_plan_is_reported(key: str) -> None:
    config = f"persona_key: p, config: {{{key}}}"
    text = PLANNED.replace("KEY", "description: P").replace("ASKED", "")
    assert warned(text.replace("persona_key: p", config)) == [("W513", 13)]
    text = PLANNED.replace("KEY", "prompts: {user: Go.}").replace("ASKED", ASKED_AS_WELL)
    assert warned(text.replace("null}", f"null, {key}}}")) == []


def test_an_agent_class_is_warned_of_only_where_its_package_is_not_allowed() -> None:
    task = TEAM % "{name: x, agent_class: mine.agents.A}"
    assert fixes(task) == {}  # nobody knows what the worker allows
    assert fixes(task + "worker: {agent_packages: [mine]}\n") == {}
    (fix,) = fixes(task + "worker: {agent_packages: [mine.other]}\n").values()
    assert "agent_packages: [mine]" in fix
