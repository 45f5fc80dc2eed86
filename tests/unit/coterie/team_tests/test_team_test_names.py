"""Names in a test file: the end of a step's path will do, and what is wrong shows what is near."""

from pathlib import Path

import pytest

from coterie.testing.files.short_names import StepNames, nearest_names
from tests.unit.coterie.team_tests.test_team_test_files import TEAM, made, problems

STAND_IN = TEAM.replace("AssetManager.process_action", "Archive.search")
SHORT = """
functions: [{ step: apply, visit: 2, data: {} }]
cases:
  - name: one
    decisions:
      - { approval: ask, decision: approve }
      - { approval: ask#2, decision: approve }
      - { approval: write/failed#1, decision: retry }
      - { approval: "*", decision: approve }
    signals: [{ signal: go, during: hold }]
    skips: [{ task: write, during: left/ask }]
    crash_after: [apply#2, draft/write]
    crash_during: both
    cancel: { during: nap }
    expect:
      trail: [{ step: ask }, { step: { contains: ask } }, { team: release, step: out }]
"""


def test_short_names_become_full_ones(tmp_path: Path) -> None:
    (case,) = made(tmp_path, SHORT).cases
    document = case.document
    assert case.functions[0].step == "draft/build/each/apply"
    assert [entry.approval for entry in document.decisions] == [
        "draft/both/left/ask#*",
        "draft/both/left/ask#2",
        "draft/write/failed#1",
        "*",
    ]
    assert document.signals[0].during == "draft/hold"
    assert (document.skips[0].task, document.skips[0].during) == (
        "draft/write",
        "draft/both/left/ask",
    )
    assert document.crash_after == ("draft/build/each/apply#2", "draft/write")
    assert document.crash_during == "draft/both"
    assert document.cancel is not None
    assert document.cancel.during == "draft/both/right/nap"
    assert [entry.step for entry in document.expect.trail] == [
        "both/left/ask",
        {"contains": "ask"},
        "out",
    ]


def test_rounds_and_visits_stay_with_the_name() -> None:
    names = StepNames(["team/each/go", "team/go_on"])
    assert names.full("each/3/go#2") == "team/each/3/go#2"
    assert names.full("go_on") == "team/go_on"
    assert names.full("on") == "on"


def test_a_name_in_a_trail_is_the_end_of_a_step_of_its_team(tmp_path: Path) -> None:
    tests = """
cases:
  - name: one
    signals: [{ signal: go }]
    expect:
      trail:
        - { step: nap }
        - { team: draft, step: nap }
        - { team: release, step: nap }
        - { team: { contains: rel }, step: nap }
"""
    (case,) = made(tmp_path, tests, TEAM.replace("name: out", "name: nap")).cases
    steps = [entry.step for entry in case.document.expect.trail]
    assert steps == ["nap", "both/right/nap", "nap", "nap"]
    assert case.document.signals[0].during is None


EVERYWHERE = {
    "functions": "functions: [{ step: STEP, data: {} }]",
    "crash_after": "crash_after: STEP",
    "crash_during": "crash_during: [STEP]",
    "skips": "skips: [{ task: STEP, during: STEP }]",
    "says": "says: [{ step: STEP, during: STEP, text: Hurry. }]",
    "cancel": "cancel: { during: STEP }",
    "pauses": "pauses: [{ during: STEP, lasts: 1h }]",
    "amendments": "amendments: [{ during: STEP, updates: { a: 1 } }]",
    "redirects": "redirects: [{ during: STEP, team: release }]",
    "signals": "signals: [{ during: STEP, signal: go }]",
    "trail": "expect: { trail: [{ step: STEP }] }",
    "trail of a team": "expect: { trail: [{ step: STEP, team: draft }] }",
}


@pytest.mark.parametrize("key", EVERYWHERE)
@pytest.mark.parametrize("step", ["apply", "each/0/apply", "draft/build/each/0/apply"])
def test_a_step_is_named_as_the_trail_prints_it_under_every_key(
    tmp_path: Path, key: str, step: str
) -> None:
    tests = f"cases: [{{ name: a, {EVERYWHERE[key].replace('STEP', step)} }}]"
    made(tmp_path, tests)


def test_a_step_in_a_trail_with_its_team_means_that_team(tmp_path: Path) -> None:
    tests = "cases: [{ name: a, expect: { trail: [{ step: draft/build/each/0/apply }] } }]"
    (entry,) = made(tmp_path, tests).cases[0].document.expect.trail
    assert (entry.team, entry.step) == ("draft", "build/each/0/apply")
    (problem,) = problems(tmp_path, tests.replace("}] }", ", team: release }] }"))
    assert (problem.code, problem.message) == ("E206", "unknown step 'draft/build/each/0/apply'")


def test_a_step_of_another_team_is_unknown_where_the_team_is_named(tmp_path: Path) -> None:
    tests = "cases: [{ name: a, expect: { trail: [{ team: release, step: write }] } }]"
    (problem,) = problems(tmp_path, tests)
    assert (problem.code, problem.message) == ("E206", "unknown step 'write'")
    assert problem.allowed == "draft, release, out"


def test_a_step_is_looked_for_everywhere_where_the_team_is_unknown(tmp_path: Path) -> None:
    tests = "cases: [{ name: a, expect: { trail: [{ team: relase, step: write }] } }]"
    (problem,) = problems(tmp_path, tests)
    assert (problem.code, problem.message) == ("E201", "unknown team 'relase'")


def test_one_name_that_is_left_out_is_counted_as_one(tmp_path: Path) -> None:
    teams = "".join(
        f"    t{n}: {{ tasks: [{{ name: go, type: set, values: {{ a: 1 }} }}], "
        f"routing: {{ default: {f't{n + 1}' if n < 3 else 'null'} }} }}\n"
        for n in range(4)
    )
    team = f"orchestration:\n  entry_team: t0\n  teams:\n{teams}"
    tests = "cases: [{ name: a, cancel: { during: go } }]"
    (problem,) = problems(tmp_path, tests, team)
    assert problem.message == "'go' is the end of the names of 4 steps"
    assert problem.allowed == "t0/go, t1/go, t2/go, and 1 other"


def test_an_end_of_several_names_is_a_problem_with_its_cure(tmp_path: Path) -> None:
    team = TEAM.replace("name: out", "name: write")
    tests = "cases: [{ name: a, cancel: { during: write } }]"
    (problem,) = problems(tmp_path, tests, team)
    assert (problem.code, problem.line, problem.column) == ("E206", 1, 38)
    assert problem.message == "'write' is the end of the names of 2 steps"
    assert problem.allowed == "draft/write, release/write"
    assert problem.fix == "write more of it, such as 'draft/write'"


def test_a_wrong_name_shows_the_three_nearest_only(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "cases: [{ name: a, cancel: { during: draft/applyy } }]")
    assert problem.message == "unknown step 'draft/applyy'"
    assert problem.allowed.startswith("draft/build/each/apply, ")
    assert problem.allowed.endswith(", and 8 others")
    assert problem.fix == "did you mean 'draft/build/each/apply'?"


def test_the_nearest_names_are_few_among_many() -> None:
    known = [f"team/part_{number}/step_{number}" for number in range(60)] + ["team/deep/in/apply"]
    assert nearest_names("applyy", known)[0] == "team/deep/in/apply"
    assert len(nearest_names("applyy", known)) == 3


@pytest.mark.parametrize(
    ("written", "known", "nearest"),
    [
        ("applyy", ["appl", "team/deep/in/apply"], ["team/deep/in/apply", "appl"]),
        ("apply", ["team/apply", "apply"], ["apply", "team/apply"]),
        ("team/aply", ["other/aply", "team/apply"], ["other/aply", "team/apply"]),
        ("b", ["y", "x", "a"], ["a", "x", "y"]),
    ],
)
def test_the_end_of_a_name_counts_almost_as_much_as_the_whole(
    written: str, known: list[str], nearest: list[str]
) -> None:
    assert nearest_names(written, known) == nearest


def test_a_stand_in_lets_a_team_compile_with_a_function_of_the_future(tmp_path: Path) -> None:
    declared = "stand_ins: { Archive.search: { data: { hits: [] }, effect: once } }\n"
    file = made(tmp_path, f"{declared}cases: [{{ name: a }}]", STAND_IN)
    assert file.cases[0].stand_ins["Archive.search"].data == {"hits": []}
    (unknown,) = problems(tmp_path, "cases: [{ name: a }]", STAND_IN)
    assert unknown.code == "E204"


@pytest.mark.parametrize(
    ("entry", "code", "column", "message"),
    [
        (
            "AssetManager.process_action: { data: 1 }",
            "E208",
            14,
            "the tool function 'AssetManager.process_action' exists, and a stand-in would hide it",
        ),
        ("search: { data: 1 }", "E105", 14, "'search' is not the name of a tool function"),
        (
            "A.b: { data: 1, output_schema: { type: string } }",
            "E105",
            27,
            "the data does not match its own output_schema: ",
        ),
        (
            "A.b: { data: [1, 2], output_schema: { items: { type: string } } }",
            "E105",
            27,
            "the data does not match its own output_schema: ",
        ),
        (
            "A.b: { input_schema: { type: text_of_mine } }",
            "E505",
            21,
            "`input_schema` cannot be used: ",
        ),
        (
            "A.b: { data: 1, output_schema: { type: text_of_mine } }",
            "E505",
            30,
            "`output_schema` cannot be used: ",
        ),
        (
            "A.b: { data: 1, output_schema: { $ref: '#/$defs/none' } }",
            "E505",
            30,
            "`output_schema` cannot be used: ",
        ),
        ("A.b: { effects: read }", "E101", 21, "unknown key 'effects'"),
    ],
)
def test_a_wrong_stand_in_is_a_problem_at_its_place(
    tmp_path: Path, entry: str, code: str, column: int, message: str
) -> None:
    tests = f"stand_ins: {{ {entry} }}\ncases: [{{ name: a }}]"
    (problem,) = problems(tmp_path, tests)
    assert (problem.code, problem.line, problem.column) == (code, 1, column)
    assert problem.message.startswith(message)


def test_a_stand_in_that_nothing_calls_is_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    entries = "  Archive.search: { data: 1 }\n  Archive.serch: { data: 1 }\n"
    tests = f"stand_ins:\n{entries}cases: [{{ name: a }}]"
    (warning,) = made(tmp_path, tests, STAND_IN).warnings
    assert (warning.code, warning.severity, warning.line, warning.column) == (
        "W517",
        "warning",
        3,
        3,
    )
    assert warning.path == "stand_ins.Archive.serch"
    assert (warning.allowed, warning.fix) == ("Archive.search", "did you mean 'Archive.search'?")


def test_a_stand_in_that_a_tool_or_a_concentrator_calls_is_used(tmp_path: Path) -> None:
    team = """
tools: { look: { skill: Archive.search } }
orchestration:
  entry_team: split
  teams:
    split:
      tasks: [{ name: find, tool: look }]
      routing: { rules: [{ next_team: [left, right] }] }
    left: { tasks: [{ name: l, type: wait, duration: 1 }], routing: { default: meet } }
    right: { tasks: [{ name: r, type: wait, duration: 1 }], routing: { default: meet } }
    meet:
      type: concentrator
      collect: { aggregate: Archive.join }
      tasks: [{ name: m, type: wait, duration: 1 }]
"""
    entries = "{ Archive.search: { data: 1 }, Archive.join: { data: 2 } }"
    tests = f"stand_ins: {entries}\ncases: [{{ name: a }}]"
    assert made(tmp_path, tests, team).warnings == ()


def test_data_that_takes_too_long_to_check_is_a_problem_of_its_stand_in(tmp_path: Path) -> None:
    entry = f"A.b: {{ data: {'ab' * 60_000}, output_schema: {{ pattern: '[ab]{{1000}}c' }} }}"
    (problem,) = problems(tmp_path, f"stand_ins: {{ {entry} }}\ncases: [{{ name: a }}]")
    assert problem.message == (
        "the data does not match its own output_schema: it takes too long to check"
    )


def test_a_stand_in_without_data_may_return_whatever_its_schema_says(tmp_path: Path) -> None:
    entry = "Archive.search: { output_schema: { type: object } }"
    file = made(tmp_path, f"stand_ins: {{ {entry} }}\ncases: [{{ name: a }}]", STAND_IN)
    assert not file.cases[0].stand_ins["Archive.search"].has_result
    assert file.warnings == ()


def test_the_functions_beside_an_unused_stand_in_are_those_that_a_team_calls(
    tmp_path: Path,
) -> None:
    team = """
tools: { look: { skill: Archive.search } }
orchestration:
  entry_team: split
  teams:
    split:
      tasks: [{ name: find, tool: look }]
      routing: { rules: [{ next_team: [left, right] }] }
    left: { tasks: [{ name: l, type: wait, duration: 1 }], routing: { default: meet } }
    right: { tasks: [{ name: r, type: wait, duration: 1 }], routing: { default: meet } }
    meet:
      type: concentrator
      collect: { aggregate: list }
      tasks: [{ name: m, type: wait, duration: 1 }]
"""
    entries = "{ Archive.search: { data: 1 }, Other.thing: { data: 2 } }"
    (warning,) = made(tmp_path, f"stand_ins: {entries}\ncases: [{{ name: a }}]", team).warnings
    assert (warning.path, warning.allowed) == ("stand_ins.Other.thing", "Archive.search")
    assert warning.fix == "remove it"


@pytest.mark.parametrize(
    "events",
    [
        "signals: [{ signal: go, during: hold#2 }]",
        "messages: [{ message: hi, during: hold#2 }]",
        "pauses: [{ during: hold#2, lasts: 1h }]",
        "amendments: [{ updates: { a: 1 }, during: hold#2 }]",
        "redirects: [{ team: release, during: hold#2 }]",
        "skips: [{ task: write, during: hold#2 }]",
        "cancel: { during: hold#2 }",
    ],
)
def test_a_moment_names_a_step_and_not_one_execution_of_it(tmp_path: Path, events: str) -> None:
    found = problems(tmp_path, f"cases:\n  - name: one\n    {events}\n")
    assert "`during` is 'hold#2', and it names a step, not one execution of it" in str(found)
