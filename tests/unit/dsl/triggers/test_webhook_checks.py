"""What validation reports of webhooks: where, by which code, and which names exist there."""

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from tests.support.compiling import CAPABILITIES, compiled, problems_of, problems_of_included

TEAM = """
orchestration:
  entry_team: review
  context:
    repository: {type: string}
    number: {type: integer}
    note: {type: string, default: ""}
    pull.title: {type: string, default: ""}
  teams:
    review:
      tasks:
        - {name: hear, type: wait, signal: paid, deadline: 1h}
        - {name: note, type: set, values: {a: "{{ context }}{{ tasks.hear.data }}"}}
"""
CONTEXT = 'context: {repository: "{{ payload.repository.full_name }}", number: 7}'


def webhook(*keys: str, verify: str = "stripe") -> str:
    lines = (f"verify: {verify}", "secret_env: SECRET", *keys)
    return f"{TEAM}triggers:\n  opened:\n    webhook:\n" + "".join(
        f"      {key}\n" for key in lines
    )


def found(*keys: str, verify: str = "stripe") -> list[tuple[str, str]]:
    """The code and the path of each problem below the webhook."""
    root = "triggers.opened.webhook"
    problems = problems_of(webhook(*keys, verify=verify))
    return [(one.code, one.path.removeprefix(root).removeprefix(".")) for one in problems]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ((CONTEXT,), []),
        (("when: \"{{ event.type == 'a' and payload.b }}\"", CONTEXT), []),
        (("event_id: \"{{ headers['x-id'] }}-{{ payload.id }}\"", CONTEXT), []),
        (('when: "{{ evnt.type }}"', CONTEXT), [("E207", "when")]),
        (('when: "{{ event.kind }}"', CONTEXT), [("E207", "when")]),
        (('when: "{{ context.note }}"', CONTEXT), [("E207", "when")]),
        (('when: "{{ payload.a"', CONTEXT), [("E301", "when")]),
        (("when: opened", CONTEXT), [("E109", "when")]),
        (("event_id: always", CONTEXT), [("E107", "event_id")]),
        (("context: {repository: a}",), [("E102", "context")]),
        ((), [("E102", ""), ("E102", "")]),
        (("context: {repository: a, number: seven}",), [("E405", "context.number")]),
        (("context: {repository: a, number: 1, nt: b}",), [("E215", "context.nt")]),
        (
            ("context: {repository: a, number: 1, pull: {titel: b}}",),
            [("E215", "context.pull.titel")],
        ),
        (("context: {repository: a, number: 1, pull: {title: b}}",), []),
        (('context: {repository: a, number: "{{ tasks.a }}"}',), [("E207", "context.number")]),
        ((CONTEXT, "tolerance: 8d"), [("E106", "tolerance")]),
        ((CONTEXT, "signal: {run: a, name: paid}"), [("E103", "")]),
        (("signal: {run: a, name: paid, start: true}", CONTEXT), []),
        (("signal: {run: a, name: paid, start: true}",), [("E102", ""), ("E102", "")]),
        (("signal: {run: a, name: paid}",), []),
        (("signal: {run: a, name: piad}",), [("E206", "signal.name")]),
        (("signal: {run: a, name: approve}",), [("E105", "signal.name")]),
        (("signal: {run: a, name: __temporal_x}",), [("E105", "signal.name")]),
        (('signal: {run: "{{ run.id }}", name: paid}',), [("E207", "signal.run")]),
        (('signal: {run: a, name: "{{ payload.a }}"}',), [("E303", "signal.name")]),
    ],
)
def test_a_webhook_is_checked_where_it_is_wrong(
    keys: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    assert [(code, path) for code, path in found(*keys)] == expected


@pytest.mark.parametrize(
    ("verify", "keys", "expected"),
    [
        ("github", (), ["W532"]),
        ("github", ("event_id: \"{{ headers['x-id'] }}\"",), ["W532"]),
        ("github", ('event_id: "{{ event.id }}"',), ["W532"]),
        ("github", ('event_id: "{{ payload.id }}"',), []),
        ("standard-webhooks", ('event_id: "{{ event.id }}"',), []),
        ("hmac", ("hmac: {header: X-Signature}",), []),
        ("hmac", ("hmac: {header: X-Signature}", 'event_id: "{{ event.id }}"'), []),
        ("hmac", ("hmac: {header: X-Signature}", 'event_id: "{{ headers.a }}"'), ["W532"]),
        ("hmac", (), ["E103"]),
        ("github", ("hmac: {header: X-Signature}",), ["E103"]),
        ("github", ("tolerance: 1m",), ["E103"]),
        ("gitlab", (), ["E105"]),
    ],
)
def test_what_proves_an_event_depends_on_how_the_sender_signs(
    verify: str, keys: tuple[str, ...], expected: list[str]
) -> None:
    assert [code for code, _ in found(CONTEXT, *keys, verify=verify)] == expected


def test_a_secret_in_the_file_is_refused() -> None:
    text = webhook(CONTEXT).replace(
        "secret_env: SECRET", "secret_env: sk-ant-api03-abcdefghijklmnop"
    )
    assert "E103" in {problem.code for problem in problems_of(text)}


def test_a_trigger_has_one_kind() -> None:
    problems = problems_of(f"{TEAM}triggers: {{opened: {{}}}}")
    assert [(one.code, one.path) for one in problems] == [("E103", "triggers.opened")]


def test_triggers_are_no_part_of_the_plan() -> None:
    with_triggers = compiled(webhook(CONTEXT))
    assert set(with_triggers.triggers) == {"opened"}
    assert with_triggers.plan == compiled(TEAM).plan


def test_only_the_file_of_the_team_has_triggers() -> None:
    triggers = webhook(CONTEXT).removeprefix(TEAM)
    assert [one.code for one in problems_of_included(triggers)] == ["E110"]
    over = SourceText("coterie.yml", triggers, overrides=True)
    with pytest.raises(InvalidDocument) as refused:
        compile_sources([SourceText("1.yml", TEAM), over], CAPABILITIES, name="test")
    assert [(one.code, one.file) for one in refused.value.problems] == [("E601", "coterie.yml")]
