"""Every path of a session answers its message; what cannot is found, with its path."""

import pytest

from tests.unit.dsl.analysis.documents import found, messages
from tests.unit.dsl.analysis.session_documents import (
    CALL,
    CHOOSE,
    EACH,
    ENOUGH,
    GROUP,
    LISTEN,
    LOOK,
    LOUD_ENDS,
    MORE,
    NEXT,
    OTHER,
    QUIET,
    SAY,
    SEE,
    SEVERAL,
    SKIPPED,
    TO_A,
    TO_B,
    TOGETHER,
    WHILE,
    XS,
    by_rules,
    cases,
    choice,
    team,
)


def unanswered(document: str) -> list[tuple[str, str]]:
    """The waits whose message may get no reply, with the path."""
    texts = [text for text in messages(document) if "may get no reply" in text]
    return [(text.split("'")[1], text.partition("the path ")[2]) for text in texts]


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
        (
            team(
                "a",
                '{ name: rounds, type: loop, while: "{{ context.x }}", max_iterations: 9, '
                f"body: [{LOOK}, {{ name: group, type: block, steps: [{NEXT}] }}, {SKIPPED}] }}",
            ),
            "a (next round of 'rounds') comes to the next message",
        ),
        # a wait in a later list of a step, and the tasks after that step
        (
            team(
                "a",
                f"{CHOOSE}steps: [{LOOK}] }}], otherwise: [{NEXT}, WRITE] }}, {SEE}",
                TO_B,
            )
            + team("b", SKIPPED, "routing: { default: a }"),
            "a -> b (without 'say') -> a comes to the next message",
        ),
        (
            LISTEN
            + team("b", SKIPPED, "routing: { default: c }")
            + team("c", f"{LOOK}, {CHOOSE}steps: [{MORE}, {OTHER}] }}] }}"),
            "a -> b (without 'say') -> c comes to the next message",
        ),
        # the rule that the reply leads to is not the way past it
        (
            LISTEN
            + team(
                "b",
                SKIPPED,
                "routing: { rules: [{ condition: { task: say, status: success }, next_team: c }], "
                "default: a }",
            )
            + team("c", OTHER, "routing: { default: a }"),
            "a -> b (without 'say') -> a comes to the next message",
        ),
        # steps that do not reply before one that may
        (
            LISTEN
            + team("b", f"{GROUP}[{LOOK}] }}, {CALL}, {TOGETHER}, {SKIPPED}", TO_A)
            + team("c", "WRITE"),
            "a -> b (without 'say') -> a comes to the next message",
        ),
        (
            LISTEN + team("b", f"{WHILE}[{SAY}] }}", TO_A),
            "a -> b (no round of 'rounds') -> a comes to the next message",
        ),
        # a return in one branch of several, none of which replies
        (
            LISTEN
            + team(
                "b",
                f"{CHOOSE}steps: [{ENOUGH}] }}], otherwise: [{LOOK}] }}, {SAY}",
                TO_A,
            ),
            "a -> b -> a comes to the next message",
        ),
        # as many paths as can be listed: in several steps, in one, and without any reply
        (
            LISTEN + team("b", ", ".join(map(choice, "pqrstu")), TO_A),
            "a -> b -> a comes to the next message",
        ),
        (LISTEN + team("b", cases(64), TO_A), "a -> b -> a comes to the next message"),
        (
            LISTEN
            + team(
                "b",
                ", ".join(choice(name, replies=False) for name in "pqrstuv") + f", {SKIPPED}",
                TO_A,
            ),
            "a -> b (without 'say') -> a comes to the next message",
        ),
        # a team that no run comes to
        (
            team("never", f"{MORE}, {OTHER}")
            + LISTEN
            + team("b", SKIPPED, "routing: { default: a }"),
            "a -> b (without 'say') -> a comes to the next message",
        ),
    ],
)
def test_a_path_without_a_reply_is_shown(document: str, path: str) -> None:
    assert unanswered(document) == [("next", path)]


def test_a_reply_before_a_wait_is_none_to_its_message() -> None:
    ends = "routing: { rules: [{ condition: { task: say, status: success }, next_team: null }], "
    document = (
        LISTEN
        + team("b", f"{SAY}, {MORE}", f"{ends}default: c }}")
        + team("c", OTHER, "routing: { default: null }")
    )
    assert unanswered(document) == [("more", "b (rule 1) -> the end ends the run")]


@pytest.mark.parametrize(
    "document",
    [
        team("a", f"{GROUP}[{NEXT}] }}, {SEVERAL}"),
        team("a", f"{GROUP}[{NEXT}, {SEVERAL}] }}"),
        LISTEN + team("b", f"{SEVERAL}, WRITE", TO_A),
        LISTEN + team("b", cases(65), TO_A),
        LISTEN
        + team("b", SKIPPED, "routing: { default: c }")
        + team("c", f"{SEVERAL}, {GROUP}[{MORE}] }}, {OTHER}", "routing: { default: null }"),
    ],
    ids=[
        "after the step with the wait",
        "in it",
        "in the next team",
        "in one step",
        "before the next wait",
    ],
)
def test_nothing_is_said_of_more_paths_than_can_be_listed(document: str) -> None:
    assert unanswered(document) == []


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
        # a rule leads past the second reply only where the first one ran
        LISTEN
        + team(
            "b",
            f"{CHOOSE}steps: [{SAY}] }}] }}",
            "routing: { rules: [{ condition: { task: say, status: success }, next_team: null }], "
            "default: c }",
        )
        + team("c", OTHER, "routing: { default: a }"),
        team(
            "a",
            f"{NEXT}, {CHOOSE}steps: [{SAY}] }}] }}",
            "routing: { rules: [{ condition: { task: say, status: success }, next_team: null }], "
            "default: c }",
        )
        + team("c", OTHER, "routing: { default: a }"),
        # where the reply is skipped, or another case is chosen, the rule cannot match
        LISTEN + team("b", SKIPPED, LOUD_ENDS) + team("c", OTHER, TO_A),
        LISTEN
        + team("b", f"{CHOOSE.replace('.x', '.loud')}steps: [{SAY}] }}] }}", LOUD_ENDS)
        + team("c", OTHER, TO_A),
        # a loop that has a round
        LISTEN + team("b", f"{EACH.replace(XS, '[1, 2]')}[{SAY}] }}", TO_A),
        LISTEN
        + team(
            "b", f"{{ name: once, until: any_success, max_iterations: 2, body: [{SAY}] }}", TO_A
        ),
        # a called team replies after other tasks, or leads or calls where one replies
        LISTEN + team("b", CALL) + team("c", f"WRITE, {SAY}"),
        LISTEN + team("b", CALL) + team("c", "WRITE", "routing: { default: d }") + team("d", SAY),
        LISTEN
        + team("b", CALL)
        + team(
            "c",
            "WRITE",
            by_rules('{ condition: "{{ context.x }}", next_team: null }', "{ next_team: e }"),
        )
        + team("e", CALL.replace("c }", "d }"))
        + team("d", SAY),
        # a team before the reply may come to itself
        LISTEN
        + team(
            "b",
            "WRITE",
            'routing: { rules: [{ condition: "{{ context.x }}", next_team: b }], default: c }',
        )
        + team("c", SAY, "routing: { default: a }"),
        # only a failure leads past the reply: its sender receives the error
        LISTEN + team("b", f"WRITE, {SAY}", "routing: { default: null }"),
    ],
)
def test_a_session_that_replies_on_every_path_is_without_findings(document: str) -> None:
    assert [code for code in found(document) if code[:4] in ("W522", "W523")] == []
