"""Every path of a session answers its message; what cannot, and what answers nobody, is found."""

import pytest

from tests.unit.dsl.analysis.documents import found, messages

NEXT = "{ name: next, type: wait, message: true, deadline: 1h }"
SAY = "{ name: say, type: reply, value: hello }"
ENDS = (
    "routing: { rules: [{ condition: { task: next, status: failure }, next_team: null }], default: "
)


def team(name: str, tasks: str, routing: str = "") -> str:
    return f"{name}:\n  tasks: [{tasks}]\n" + (f"  {routing}\n" if routing else "")


LISTEN = team("a", NEXT, f"{ENDS}b }}")
SKIPPED = SAY.replace("value", 'when: "{{ context.loud }}", value')
QUIET = SKIPPED.replace("say", "hush").replace("context.loud", "not context.loud")


@pytest.mark.parametrize(
    ("document", "path"),
    [
        # a rule leads back, or to the end, before any reply
        (
            team(
                "a",
                f"{NEXT}, WRITE",
                "routing: { rules: [{ condition: { task: next, status: failure }, "
                "next_team: null }, { condition: { task: next, output_field: bye, "
                "operator: equals, value: true }, next_team: null }], default: b }",
            )
            + team("b", SAY, "routing: { default: a }"),
            "a (rule 2) -> the end ends the run",
        ),
        (
            LISTEN + team("b", f"WRITE, {SKIPPED}", "routing: { default: a }"),
            "a -> b (without 'say') -> a comes to the next message",
        ),
        (
            LISTEN + team("b", f'{SAY.replace("value", """when: "{{ context.x }}", value""")}'),
            "a -> b (without 'say') -> the end ends the run",
        ),
        # a choice, a loop, a return
        (
            LISTEN
            + team(
                "b",
                '{ name: choose, type: branch, branches: [{ condition: "{{ context.x }}", '
                f"steps: [{SAY}] }}] }}",
                "routing: { default: a }",
            ),
            "a -> b -> a comes to the next message",
        ),
        (
            LISTEN
            + team(
                "b",
                '{ name: each, type: loop, iterate_on: "{{ context.xs }}", loop_variable: x, '
                f"body: [{SAY}] }}",
                "routing: { default: a }",
            ),
            "a -> b (no round of 'each') -> a comes to the next message",
        ),
        (
            LISTEN
            + team(
                "b",
                f'{{ name: enough, type: return, when: "{{{{ context.x }}}}" }}, {SAY}',
                "routing: { default: a }",
            ),
            "a -> b -> a comes to the next message",
        ),
        (
            team(
                "a",
                '{ name: rounds, type: loop, while: "{{ context.x }}", max_iterations: 9, '
                f"body: [{NEXT}, {SKIPPED}] }}",
            ),
            "a (next round of 'rounds') comes to the next message",
        ),
    ],
)
def test_a_path_without_a_reply_is_shown(document: str, path: str) -> None:
    assert [text for text in messages(document) if "may get no reply" in text] == [
        f"a message that 'next' takes may get no reply: the path {path}"
    ]


@pytest.mark.parametrize(
    "document",
    [
        LISTEN + team("b", f"WRITE, {SAY}", "routing: { default: a }"),
        LISTEN + team("b", f"{SKIPPED}, {QUIET}", "routing: { default: a }"),
        # where the reply was skipped, a rule leads to another one
        LISTEN
        + team(
            "b",
            SKIPPED,
            "routing: { rules: [{ condition: { task: say, status: skipped }, next_team: c }], "
            "default: a }",
        )
        + team("c", SAY.replace("say", "sorry"), "routing: { default: a }"),
        LISTEN
        + team(
            "b",
            '{ name: choose, type: branch, branches: [{ condition: "{{ context.x }}", '
            f"steps: [{SAY}] }}], otherwise: [{SAY.replace('say', 'other')}] }}",
            "routing: { default: a }",
        ),
        LISTEN + team("b", "{ name: call, type: team, team: c }") + team("c", SAY),
        team(
            "a",
            '{ name: rounds, type: loop, while: "{{ context.x }}", max_iterations: 9, '
            f"body: [{NEXT}, {SAY}] }}",
        ),
        # only a failure leads past the reply: its sender receives the error
        LISTEN + team("b", f"WRITE, {SAY}", "routing: { default: null }"),
    ],
)
def test_a_session_that_replies_on_every_path_is_without_findings(document: str) -> None:
    assert [code for code in found(document) if code[:4] in ("W522", "W523")] == []


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (
            team("a", SAY.replace("say", "hi"), "routing: { default: b }")
            + team("b", f"{NEXT}, {SAY}", f"{ENDS}b }}"),
            "W523 2:",
        ),
        (team("a", f"{NEXT}, {SAY}, {SAY.replace('say', 'twice')}", f"{ENDS}a }}"), "W523 2:"),
        (
            LISTEN
            + team(
                "b",
                SAY,
                "routing: { rules: [{ condition: { task: say, status: success }, next_team: c }], "
                "default: a }",
            )
            + team("c", SAY.replace("say", "late"), "routing: { default: a }"),
            "W523 8:",
        ),
    ],
)
def test_a_reply_that_no_message_precedes_is_found(document: str, place: str) -> None:
    stray = [code for code in found(document) if code.startswith("W523")]
    assert len(stray) == 1
    assert stray[0].startswith(place)


def test_a_reply_after_a_failure_may_still_answer() -> None:
    document = (
        LISTEN
        + team("b", f"WRITE, {SAY}", "routing: { default: c }")
        + team("c", SAY.replace("say", "sorry"), "routing: { default: a }")
    )
    assert not [code for code in found(document) if code.startswith("W523")]
