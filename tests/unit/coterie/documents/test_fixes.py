"""`validate --fix`: mistakes in a document whose fix is certain, and what a fix must not do."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from coterie.documents.fixes import Check, FixedFiles
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.problem_details import Replace
from coterie.dsl.source.text_edits import WrittenEntries
from coterie.dsl.source.yaml_events import MAX_DEPTH
from coterie.explaining.sarif import sarif_log
from coterie.failures import CommandError
from tests.support.compiling import CAPABILITIES
from tests.support.documents.documents import RICH

MISTAKES = [
    # misspelled keys, kinds, values and names
    ("entry_team: draft", "entry_taem: draft"),
    ("    draft:\n      name: Draft", "    draft:\n      nmae: Draft"),
    ("type: approval", "type: aproval"),
    ("operator: equals, value: stop", "operator: eqals, value: stop"),
    ("on_failure: continue", "on_failure: contnue"),
    ("join: any", "join: anny"),
    ("losers: finish", "losers: finsh"),
    ("entry_team: draft", "entry_team: drafft"),
    ("persona_key: writer", "persona_key: writr"),
    ("agent_type: generic_orchestrating", "agent_type: generic_orchestratin"),
    ("provider: anthropic", "provider: antropic"),
    ("default_provider: scripted", "default_provider: scrpted"),
    ("skill: CommandRunner.run", "skill: CommandRunner.rn"),
    ("tool: tests", "tool: test"),
    ("aggregate: merge_dict", "aggregate: merge_dct"),
    ("{task: review, status: success}", "{task: reviw, status: success}"),
    ("tasks: [{name: sub, team: sign", "tasks: [{name: sub, team: sgin"),
    ("next_team: [left, right]", "next_team: [left, rigth]"),
    ("next_team: meet}]", "next_team: mete}]"),
    ("prompt_syntax: braces", "prompt_syntax: brces"),
    ("on_timeout: fail", "on_timeout: fial"),
    ("status: success", "status: sucess"),
    # keys of older forms and of other systems
    ("when:", "if:"),
    ("when:", "condition:"),
    ("next_team: code", "next: code"),
    ("          timeout: 2m", "          timeout_seconds: 2m"),
    ("          config: {temp", "          agent_config: {temp"),
    ("name: rich\n", "name: rich\nversion: 1\n"),
    ("name: rich\n", "name: rich\nlogging: {level: debug}\n"),
    ("name: rich\n", "name: rich\nbackup:\n  # where\n  folder: x\n"),
    ("          timeout: 2m", "          timeout: 2m\n          litellm_params: {a: 1}"),
    ("body: [{name: again", "recursion_strategy: x\n          body: [{name: again"),
    ("body:\n", "break_on_failure: true\n          body:\n"),
    ("name: rich\n", "name: rich\nconfig_locations: [a]\n"),
    # values of another type
    ("temperature: 0.5", 'temperature: "0.5"'),
    ("max_iterations: 3", 'max_iterations: "3"'),
    ("max_total_teams: 12", 'max_total_teams: "12"'),
    ("requires_approval: true", "requires_approval: yes"),
    # keys that only other kinds have, or that do nothing
    ("type: wait, duration: 5m", "type: wait, duration: 5m, deadline: 1h"),
    ("type: wait, duration: 5m", "type: wait, duration: 5m, schema: {type: string}"),
    ("fixed: {command: pytest}", "fixed: {command: pytest}, grants: [untrusted]"),
    ("          timeout: 2m", "          timeout: 2m\n          terms: {a: 1}"),
    ("condition: all_success, steps", "condition: all_sucess, steps"),
    ("merge: {x: extend}", "merge: {x: append}"),
    ("max_total_teams: 12\n", "max_total_teams: 12\n  max_messages: 3\n"),
]
"""What RICH has, and a mistake instead of it, which a fix takes back."""

REWRITTEN = [
    ("          timeout: 2m", "          model: demo", "          config: {model: demo}"),
    ("          timeout: 2m", "          max_retries: 2", "          retry: {retries: 2}"),
    (
        "          timeout: 2m",
        "          prompts:\n            # asked\n            user: Go",
        "          config:\n            prompts:\n              # asked\n              user: Go",
    ),
    ("values: {ok: true}", "values: {ok: 007}", 'values: {ok: "007"}'),
    ("name: Draft Team", "name: 12", 'name: "12"'),
    ("persona_key: old", "persona_key: oldd # why", "persona_key: old # why"),
    ("persona_key: old", "persona_key: 'oldd'", "persona_key: 'old'"),
]
"""What RICH has, a mistake instead of it, and what a fix makes of it."""


def check_of(name: str, text: str) -> Check:
    def check(texts: Mapping[str, str]) -> Sequence[Problem]:
        try:
            sources = [SourceText(name, texts.get(name, text))]
            return compile_sources(sources, CAPABILITIES, name="t").warnings
        except InvalidDocument as error:
            return error.problems

    return check


def fixed(folder: Path, text: str) -> FixedFiles:
    (folder / "t.yml").write_text(text)
    check = check_of("t.yml", text)
    files = FixedFiles(folder, check, check({}))
    files.fix()
    return files


@pytest.mark.parametrize(("right", "wrong"), MISTAKES)
def test_a_certain_fix_takes_a_mistake_back(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in RICH
    assert fixed(tmp_path, RICH.replace(right, wrong, 1)).texts.get("t.yml") == RICH


@pytest.mark.parametrize(("right", "wrong", "then"), REWRITTEN)
def test_a_certain_fix_writes_what_is_meant(
    tmp_path: Path, right: str, wrong: str, then: str
) -> None:
    files = fixed(tmp_path, RICH.replace(right, wrong, 1))
    assert (files.problems, files.texts) == ((), {"t.yml": RICH.replace(right, then, 1)})


def test_many_fixes_of_one_document_are_applied_together(tmp_path: Path) -> None:
    text = RICH
    for right, wrong in MISTAKES[:3] + MISTAKES[4:6]:
        text = text.replace(right, wrong, 1)
    files = fixed(tmp_path, text)
    assert files.texts == {"t.yml": RICH}
    assert files.difference().count("\n-") == 5


def test_a_fix_that_shows_a_new_problem_is_left_out(tmp_path: Path) -> None:
    wrong = RICH.replace("type: wait, duration: 5m", "type: wiat, duration: 5m, signal: go")
    files = fixed(tmp_path, wrong.replace("entry_team: draft", "entry_team: drafft"))
    assert [one.code for one in files.problems] == ["E104"]
    assert files.texts == {"t.yml": wrong}


def test_what_a_fix_does_not_touch_keeps_every_byte(tmp_path: Path) -> None:
    text = RICH.replace("type: approval", "type: aproval").strip("\n")
    stored = "\ufeff# é  \r\n" + text.replace("\n", "\r\n")
    (tmp_path / "t.yml").write_bytes(stored.encode())
    (tmp_path / "t.yml").chmod(0o640)
    check = check_of("t.yml", stored.replace("\r\n", "\n"))
    files = FixedFiles(tmp_path, check, check({}))
    files.fix()
    files.write()
    assert (tmp_path / "t.yml").read_bytes() == stored.replace("aproval", "approval").encode()
    assert (tmp_path / "t.yml").stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["t.yml"]


def test_no_file_is_written_when_one_has_changed_meanwhile(tmp_path: Path) -> None:
    files = fixed(tmp_path, RICH.replace("type: approval", "type: aproval"))
    files.texts["other.yml"] = "x"
    before = (tmp_path / "t.yml").read_bytes()
    with pytest.raises(CommandError, match="no file is changed"):
        files.write()
    (tmp_path / "t.yml").write_bytes(before + b"# more\n")
    del files.texts["other.yml"]
    with pytest.raises(CommandError, match=r"t\.yml has changed meanwhile"):
        files.write()
    assert os.listdir(tmp_path) == ["t.yml"]
    assert (tmp_path / "t.yml").read_bytes() == before + b"# more\n"


def test_sarif_has_a_result_for_each_problem_and_its_fix(tmp_path: Path) -> None:
    text = RICH.replace("type: approval", "type: aproval").replace("join: any", "join: {}")
    (tmp_path / "t.yml").write_text(text)
    check = check_of("t.yml", text)
    files = FixedFiles(tmp_path, check, check({}))
    (run,) = json.loads(json.dumps(sarif_log(files.problems, files.region)))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["E104", "E105"]
    refused, misspelt = sorted(run["results"], key=lambda one: one["ruleIndex"], reverse=True)
    assert (refused["ruleId"], refused["level"], "fixes" in refused) == ("E105", "error", False)
    assert misspelt["message"]["text"].startswith("unknown step kind 'aproval'; allowed: agent")
    (change,) = misspelt["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    region = misspelt["locations"][0]["physicalLocation"]["region"]
    assert change["artifactLocation"] == {"uri": "t.yml"}
    assert replacement["insertedContent"] == {"text": "approval"}
    assert replacement["deletedRegion"] == region | {
        "endLine": region["startLine"],
        "endColumn": region["startColumn"] + len("aproval"),
    }


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/t.yml", "a%20b/t.yml"),
        ("c:1/t.yml", "c%3A1/t.yml"),
        ("/a b/t.yml", "file:///a%20b/t.yml"),
    ],
)
def test_sarif_names_a_file_by_its_uri_and_explains_each_code(file: str, uri: str) -> None:
    (run,) = json.loads(json.dumps(sarif_log([Problem("E104", file, 1, 1, "", "")], _no_fix)))[
        "runs"
    ]
    (place,), (rule,) = run["results"][0]["locations"], run["tool"]["driver"]["rules"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": uri}
    assert rule["help"]["text"].startswith(rule["fullDescription"]["text"])
    assert rule["shortDescription"]["text"] not in rule["fullDescription"]["text"]


def _no_fix(_: Problem) -> None:
    return None


@pytest.mark.parametrize(("depth", "is_fixed"), [(MAX_DEPTH - 1, True), (MAX_DEPTH + 1, False)])
def test_a_text_that_is_nested_too_deeply_for_a_reader_has_no_fix(
    depth: int, *, is_fixed: bool
) -> None:
    entries = WrittenEntries(f"nmae: {'[' * depth}{']' * depth}\n")
    problem = Problem("E101", "team.yml", 1, 1, "", "", edit=Replace("nmae", "name"))
    assert (entries.edit(problem) is not None) == is_fixed
