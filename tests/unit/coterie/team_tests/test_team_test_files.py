"""A file of tests that is wrong: every mistake at once, at its place, with its cure."""

from pathlib import Path

import pytest

from coterie.dsl.errors import InvalidDocument, Problem
from coterie.settings import load
from coterie.testing.files.case_reader import TestFile, read_tests

TEAM = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas:
    writer: { prompts: { user: "Write." } }
    coder:
      execution_plan:
        - name: each
          type: loop
          iterate_on: [1]
          loop_variable: one
          body:
            - name: apply
              skill: AssetManager.process_action
              input: { file_path: a, type: delete }
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - { name: write, agent_type: generic_single_shot, persona_key: writer }
        - { name: build, agent_type: generic_orchestrating, persona_key: coder }
        - { name: hold, type: wait, signal: go, deadline: 1h }
        - name: both
          type: parallel
          branches:
            left: [{ name: ask, type: approval, prompt: ok?, deadline: 1h }]
            right: [{ name: nap, type: wait, duration: 1 }]
      routing:
        rules: [{ condition: all_success, next_team: release }]
        default: null
    release:
      tasks: [{ name: out, type: set, values: { a: 1 } }]
"""
GOOD = """
files: { a/b.txt: text }
answers: [{ task: draft/write, answer: hi }, { task: write, error: { message: no } }]
functions: [{ step: draft/build/each/apply, visit: 2, data: {} }]
cases:
  - name: one
    decisions: [{ approval: "draft/both/left/ask#1", decision: approve }, { decision: reject }]
    signals: [{ signal: go, during: draft/hold, after: 5m, payload: [1] }]
    crash_after: [draft/build/each/apply#2, draft/write]
    crash_during: draft/both
    expect:
      path: [draft, [release, draft]]
      visits: { draft: { ge: 1, le: 2 } }
      context: { a.b: { matches: "^x+$" }, c: null, d: [1, 2] }
      trail: [{ event: step, step: both/left/ask, seconds: { in_range: [1m, 2m] } }]
      duration: 3d
"""


def made(folder: Path, tests: str, team: str = TEAM, name: str = "made.test.yml") -> TestFile:
    (folder / "made.yml").write_text(team)
    (folder / name).write_text(tests)
    return read_tests(load({}, folder), folder / name)


def problems(folder: Path, tests: str, team: str = TEAM) -> list[Problem]:
    with pytest.raises(InvalidDocument) as caught:
        made(folder, tests, team)
    return list(caught.value.problems)


def test_a_file_that_is_right_is_read_with_everything(tmp_path: Path) -> None:
    file = made(tmp_path, GOOD)
    (case,) = file.cases
    assert file.shown == "made.test.yml"
    assert file.team.compiled.plan.entry_team == "draft"
    assert [[entry.task for entry in script] for script in case.answers] == [
        ["draft/write", "write"]
    ]
    assert case.files == {"a/b.txt": "text"}
    assert case.document.signals[0].after == 300.0
    assert case.document.expect.end == "completed"


@pytest.mark.parametrize(
    ("tests", "code", "line", "column", "message", "fix"),
    [
        (
            "case: []\ncases: [{ name: a }]",
            "E101",
            1,
            1,
            "unknown key 'case'",
            "did you mean 'cases'?",
        ),
        ("context: {}", "E102", 1, 1, "the key 'cases' is missing", "add `cases:`"),
        ("cases: []", "E106", 1, 8, "'cases' is empty", "add one under `cases:`"),
        (
            "cases: [{ name: a, expects: {} }]",
            "E101",
            1,
            20,
            "unknown key 'expects'",
            "did you mean 'expect'?",
        ),
        ("cases: [{ expect: {} }]", "E102", 1, 9, "the key 'name' is missing", "add `name:`"),
        ("cases: [{ name: a, expect: { end: done } }]", "E105", 1, 35, "'end' is 'done'", ""),
        (
            "cases: [{ name: a, decisions: [{ decision: yes }] }]",
            "E105",
            1,
            44,
            "'decision' is 'yes'",
            "",
        ),
        (
            "cases: [{ name: a, decisions: [{ decision: approve, after: soon }] }]",
            "E103",
            1,
            60,
            "'after' is 'soon'",
            "",
        ),
        (
            "cases: [{ name: a, decisions: "
            "[{ approval: draft/no_progress#1, decision: approve }] }]",
            "E206",
            1,
            44,
            "unknown step 'draft/no_progress#1'",
            "",
        ),
        ("team: drafts\ncases: [{ name: a }]", "E201", 1, 7, "unknown team 'drafts'", ""),
        (
            "model: gpt\ncases: [{ name: a }]",
            "E103",
            1,
            8,
            "'gpt' must have the form provider/model, such as anthropic/claude-sonnet-5-5",
            "",
        ),
        (
            "workspace: nowhere\ncases: [{ name: a }]",
            "E001",
            1,
            12,
            "`workspace` names nowhere, which is not a folder",
            "name a folder, relative to this file",
        ),
        (
            "answers: none.yml\ncases: [{ name: a }]",
            "E001",
            1,
            10,
            "could not read the script {folder}/none.yml: No such file or directory",
            "",
        ),
        (
            "files: { ../x: y }\ncases: [{ name: a }]",
            "E105",
            1,
            10,
            "'../x' is not a path within the workspace",
            "name a file relative to the workspace",
        ),
        (
            "cases: [{ name: a }, { name: a }]",
            "E208",
            1,
            30,
            "line 1 already has a case 'a'",
            "give each case a unique name",
        ),
        (
            "answers: [{ task: writ, answer: 1 }]\ncases: [{ name: a }]",
            "E206",
            1,
            19,
            "unknown task of an agent 'writ'",
            "did you mean 'write'?",
        ),
        (
            "cases: [{ name: a, answers: [{ task: writ, answer: 1 }] }]",
            "E206",
            1,
            38,
            "unknown task of an agent 'writ'",
            "did you mean 'write'?",
        ),
        (
            "cases: [{ name: a, redirects: [{ team: relese }] }]",
            "E201",
            1,
            40,
            "unknown team 'relese'",
            "did you mean 'release'?",
        ),
        (
            "cases: [{ name: a, skips: [{ task: writ }] }]",
            "E206",
            1,
            36,
            "unknown step 'writ'",
            "did you mean 'draft/write'?",
        ),
        (
            "cases: [{ name: a, pauses: [{ lasts: 1m, during: draft/hld }] }]",
            "E206",
            1,
            50,
            "unknown step 'draft/hld'",
            "did you mean 'draft/hold'?",
        ),
        (
            "cases: [{ name: a, messages: [{ message: hi, reply: { contians: x } }] }]",
            "E401",
            1,
            55,
            "unknown operator 'contians'",
            "did you mean 'contains'?",
        ),
        (
            "cases: [{ name: a, expect: { trail: [{ team: { contians: x } }] } }]",
            "E401",
            1,
            48,
            "unknown operator 'contians'",
            "did you mean 'contains'?",
        ),
        (
            "answers: [{ task: write }]\ncases: [{ name: a }]",
            "E103",
            1,
            11,
            "entry 1 is a mapping",
            "",
        ),
        (
            "functions: [{ step: draft/build/apply, data: 1 }]\ncases: [{ name: a }]",
            "E206",
            1,
            21,
            "unknown step 'draft/build/apply'",
            "did you mean 'draft/build/each/apply'?",
        ),
        (
            "cases: [{ name: a, decisions: [{ approval: draft/ask#1, decision: approve }] }]",
            "E206",
            1,
            44,
            "unknown step 'draft/ask#1'",
            "",
        ),
        (
            "cases: [{ name: a, signals: [{ signal: gone }] }]",
            "E206",
            1,
            40,
            "unknown signal 'gone'",
            "did you mean 'go'?",
        ),
        (
            "cases: [{ name: a, cancel: { during: draft/wait } }]",
            "E206",
            1,
            38,
            "unknown step 'draft/wait'",
            "",
        ),
        (
            "cases: [{ name: a, crash_after: draft/bild }]",
            "E206",
            1,
            33,
            "unknown step 'draft/bild'",
            "did you mean 'draft/build'?",
        ),
        (
            "cases: [{ name: a, crash_during: [draft/build, drft/hold] }]",
            "E206",
            1,
            48,
            "unknown step 'drft/hold'",
            "did you mean 'draft/hold'?",
        ),
        (
            "cases: [{ name: a, amendments: [{ updates: {} }] }]",
            "E106",
            1,
            44,
            "'updates' is empty",
            "add one under `updates:`",
        ),
        (
            "cases: [{ name: a, pauses: [{ during: draft/hold }] }]",
            "E102",
            1,
            29,
            "the key 'lasts' is missing",
            "add `lasts:`",
        ),
        (
            "cases: [{ name: a, expect: { path: [draft, [relese]] } }]",
            "E201",
            1,
            45,
            "unknown team 'relese'",
            "did you mean 'release'?",
        ),
        (
            "cases: [{ name: a, expect: { visits: { drafts: 1 } } }]",
            "E201",
            1,
            40,
            "unknown team 'drafts'",
            "did you mean 'draft'?",
        ),
        (
            "cases: [{ name: a, expect: { trail: [{ step: both/asks }] } }]",
            "E206",
            1,
            46,
            "unknown step 'both/asks'",
            "did you mean 'both/left/ask'?",
        ),
        (
            "cases: [{ name: a, expect: { trail: [{ kind: step }] } }]",
            "E101",
            1,
            40,
            "unknown key 'kind'",
            "did you mean 'event'?",
        ),
        (
            "cases: [{ name: a, expect: { context: { a: { contians: x } } } }]",
            "E401",
            1,
            46,
            "unknown operator 'contians'",
            "did you mean 'contains'?",
        ),
        (
            "cases: [{ name: a, expect: { context: { a: { city: x } } } }]",
            "E401",
            1,
            46,
            "unknown operator 'city'",
            "to compare with a whole mapping, put it below `equals:`",
        ),
        (
            "cases: [{ name: a, expect: { context: { a: {} } } }]",
            "E106",
            1,
            41,
            "a check without operators always holds",
            "to find an empty mapping, write `equals: {}`",
        ),
        (
            "cases: [{ name: a, expect: { model_calls: { min_length: many } } }]",
            "E402",
            1,
            57,
            "'min_length' takes a length: a whole number, zero or more, and this is \"many\"",
            "",
        ),
        (
            "cases: [{ name: a, expect: { error: { message: { matches: '(' } } } }]",
            "E403",
            1,
            59,
            "'(' is not a regular expression: ",
            "",
        ),
        (
            "cases: [{ name: a, expect: { duration: { in_range: [1d, x] } } }]",
            "E402",
            1,
            52,
            "'in_range' takes [lowest, highest], either may be null",
            "",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_place(
    tests: str, code: str, line: int, column: int, message: str, fix: str, tmp_path: Path
) -> None:
    (problem,) = problems(tmp_path, tests)
    assert (problem.code, problem.file) == (code, "made.test.yml")
    assert (problem.line, problem.column) == (line, column)
    assert problem.message.startswith(message.replace("{folder}", str(tmp_path)))
    assert problem.fix == fix or not fix


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        ("{ decision: retry, payload: 1 }", "a `payload` goes with `decision: approve`"),
        ("{ decision: approve, value: 1 }", "a `value` goes with `decision: skip`"),
    ],
)
def test_unused_key_of_a_decision_is_reported(entry: str, allowed: str, tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, f"cases: [{{ name: a, decisions: [{entry}] }}]")
    assert (problem.code, problem.column, problem.allowed) == ("E103", 32, allowed)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    tests = """
contxt: {}
answers: [{ task: nobody, answer: 1 }]
cases:
  - name: a
    crash_after: nowhere/at_all
    expect:
      path: [drafft]
      context: { a: { contains_all: x } }
"""
    found = [(p.code, p.line, p.column) for p in problems(tmp_path, tests)]
    assert found == [
        ("E101", 2, 1),
        ("E206", 3, 19),
        ("E206", 6, 18),
        ("E201", 8, 14),
        ("E402", 9, 37),
    ]


def test_a_case_without_a_name_hides_no_double_name_and_a_wrong_operator_no_wrong_value(
    tmp_path: Path,
) -> None:
    tests = """
cases:
  - expect: { context: { a: { contians: x, min_length: many } } }
  - name: a
  - name: a
"""
    found = [(p.code, p.line) for p in problems(tmp_path, tests)]
    assert found == [("E102", 3), ("E401", 3), ("E402", 3), ("E208", 5)]


@pytest.mark.parametrize("is_project", [False, True])
def test_a_workspace_that_is_a_project_brings_its_own_settings(
    tmp_path: Path, is_project: bool
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    if is_project:
        (folder / "coterie.yml").write_text("{}\n")
    file = made(tmp_path, "workspace: work\ncases: [{ name: a }]")
    assert file.workspace == folder.resolve()
    assert file.settings.project == (folder.resolve() if is_project else tmp_path)
    assert made(tmp_path, "cases: [{ name: a }]").workspace is None


def test_a_file_may_name_a_team_that_comes_with_the_product(tmp_path: Path) -> None:
    file = made(
        tmp_path,
        "team: research\ncontext: { question: why }\ncases: [{ name: a }]",
        name="other.test.yml",
    )
    assert file.team.located.file.name == "research.yml"


def test_a_case_that_no_start_would_accept_is_reported_with_each_path(tmp_path: Path) -> None:
    team = TEAM.replace('"Write."', '"Write {{ context.topic }} for {{ context.by.name }}."')
    tests = """
context: { topic: tides }
cases:
  - { name: a, context: { by: { name: ada } } }
  - { name: b, context: { by: {} } }
  - { name: c }
"""
    found = [(p.code, p.line, p.path, p.message) for p in problems(tmp_path, tests, team)]
    lacking = "cannot start: the context lacks what the plan needs: by.name (read by draft/write)"
    assert found == [
        ("E405", 5, "cases[1].context", f"the case 'b' {lacking}"),
        ("E405", 6, "cases[2].context", f"the case 'c' {lacking}"),
    ]


def test_a_team_that_does_not_compile_is_reported_as_such(tmp_path: Path) -> None:
    (problem, *_) = problems(
        tmp_path, "cases: [{ name: a }]", TEAM.replace("name: out", "nam: out")
    )
    assert (problem.file, problem.code) == ("made.yml", "E101")


def test_without_a_team_the_file_is_about_the_one_that_it_is_named_after(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument) as caught:
        made(tmp_path, "cases: [{ name: a }]", name="other.test.yml")
    (problem,) = caught.value.problems
    assert problem.message == "the key 'team' is missing"
    assert "review.test.yml beside review.yml" in problem.fix
    named = made(tmp_path, "team: made.yml\ncases: [{ name: a }]", name="other.test.yml")
    assert named.team.located.file == tmp_path / "made.yml"


def test_a_cases_own_word_is_stronger_than_the_files(tmp_path: Path) -> None:
    file = made(
        tmp_path,
        """
context: { a: { b: 1, c: 2 }, d: 3 }
files: { x: "1", y: "1" }
answers: [{ task: write, answer: usual }]
functions: [{ step: draft/build/each/apply, data: usual }]
cases:
  - name: one
    context: { a: { b: null }, e: 4 }
    files: { y: "2" }
    answers: [{ task: write, answer: special }]
    functions: [{ step: draft/build/each/apply, data: special }]
""",
    )
    (case,) = file.cases
    assert case.context == {"a": {"b": None, "c": 2}, "d": 3, "e": 4}
    assert case.files == {"x": "1", "y": "2"}
    assert [[entry.answer for entry in script] for script in case.answers] == [
        ["special"],
        ["usual"],
    ]
    assert [entry.data for entry in case.functions] == ["special", "usual"]
