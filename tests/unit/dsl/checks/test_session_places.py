"""A run is one conversation: where a wait for messages or a reply may stand, and where not."""

import pytest

from tests.support.compiling import problems_of

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    planner: { execution_plan: PLAN }
orchestration:
  entry_team: main
  LIMIT
  teams:
    main: { tasks: TASKS, routing: ROUTING }
    left: { tasks: LEFT, routing: { default: far } }
    right: { tasks: [NOTE] }
    far: { tasks: FAR, routing: { rules: [{ condition: all_success, next_team: farther }] } }
    farther: { tasks: FURTHER, routing: { default: meet } }
    meet: { type: concentrator, tasks: MEET, routing: { default: null } }
    after: { tasks: AFTER, routing: { default: null } }
"""
NOTE = "{ name: note, type: set, values: { x: 1 } }"
WAIT = "{ name: hear, type: wait, message: true, deadline: 1m }"
REPLY = "{ name: answer, type: reply, value: 1 }"
BOTH = f"{WAIT}, {REPLY}"
FANS = (
    "{ rules: [{ condition: all_success, next_team: [left, right], concentrator: meet }],"
    " default: after }"
)
PLAIN = {
    "PLAN": f"[{NOTE}]",
    "LIMIT": "",
    "TASKS": f"[{BOTH}]",
    "ROUTING": "{ default: null }",
    "LEFT": f"[{NOTE}]",
    "FURTHER": f"[{NOTE}]",
    "FAR": f"[{NOTE}]",
    "MEET": f"[{NOTE}]",
    "AFTER": f"[{NOTE}]",
    "NOTE": NOTE,
}


def found(**words: str) -> list[tuple[str, str]]:
    """The step of each refusal, with what it is in or what is missing."""
    text = DOCUMENT
    for word, value in (PLAIN | words).items():
        text = text.replace(word, value)
    problems = [one for one in problems_of(text) if one.severity == "error"]
    assert {one.code for one in problems} <= {"E507"}
    kinds = ("branch of a fan-out", "branch of a parallel", "concurrent rounds", "finally", "plan")
    return [
        (one.step or one.path, next((kind for kind in kinds if kind in one.message), "alone"))
        for one in problems
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, []),
        ({"TASKS": f"[{WAIT}]"}, [("main/hear", "alone")]),
        ({"TASKS": f"[{WAIT}, {WAIT.replace('hear', 'more')}]"}, [("main/hear", "alone")]),
        ({"TASKS": f"[{REPLY}]"}, [("main/answer", "alone")]),
        ({"TASKS": f"[{REPLY}, {REPLY.replace('answer', 'more')}]"}, [("main/answer", "alone")]),
        ({"LIMIT": "max_messages: 3"}, []),
        (
            {"LIMIT": "max_messages: 3", "TASKS": f"[{NOTE}]"},
            [("orchestration.max_messages", "alone")],
        ),
        ({"TASKS": "[{ name: rest, type: wait, duration: 1s }]"}, []),
    ],
)
def test_a_run_waits_for_messages_and_replies_or_does_neither(
    words: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    assert found(**words) == expected


LOOP = "{ name: l, iterate_on: [1, 2], loop_variable: i, ROUNDS body: [BOTH] }"
ONE = "branches: { one: [BOTH], two: [{ name: rest, type: wait, duration: 1s }] }"


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        (LOOP.replace("ROUNDS", ""), None),
        (LOOP.replace("ROUNDS", "concurrency: 1,"), None),
        (LOOP.replace("ROUNDS", "concurrency: 2,"), "concurrent rounds"),
        (f"{{ name: p, type: parallel, {ONE} }}", "branch of a parallel"),
        (f"{{ name: t, type: try, steps: [{NOTE}], catch: [], finally: [BOTH] }}", "finally"),
        ("{ name: b, type: block, steps: [BOTH] }", None),
        # what is within it is aside as well
        (
            f"{{ name: p, type: parallel, {ONE.replace('BOTH', LOOP.replace('ROUNDS', ''))} }}",
            "branch of a parallel",
        ),
    ],
)
def test_a_conversation_has_one_path_within_a_team(task: str, kind: str | None) -> None:
    places = found(TASKS=f"[{task.replace('BOTH', BOTH)}]")
    assert [one for _, one in places] == ([] if kind is None else [kind] * 2)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("LEFT", "branch of a fan-out"),
        ("FAR", "branch of a fan-out"),
        ("FURTHER", "branch of a fan-out"),
        ("MEET", None),
        ("AFTER", None),
    ],
)
def test_a_conversation_has_one_path_between_teams(word: str, kind: str | None) -> None:
    places = found(**{"TASKS": f"[{NOTE}]", "ROUTING": FANS, word: f"[{BOTH}]"})
    assert [one for _, one in places] == ([] if kind is None else [kind] * 2)


def test_a_plan_is_not_part_of_the_conversation() -> None:
    assert [kind for _, kind in found(PLAN=f"[{BOTH}]")] == ["plan", "plan"]
