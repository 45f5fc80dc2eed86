"""One text means the same through every door: the same input of a start, the same message."""

import pytest
from pydantic import JsonValue

from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.console.chat.message_forms import MessageForm, kind_of
from coterie.gateway.doors.a2a.message_contents import MessageContent, session_value, task_context
from coterie.gateway.doors.agui.agui_threads import context_with
from coterie.gateway.doors.openai.conversation import ChatText, conversation_of
from coterie.gateway.doors.openai.exposed_teams import ReadyTeam, starting_context
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.sessions.message_inputs import (
    message_schemas,
    session_message,
    start_context,
    takes_text,
)
from tests.support.compiling import compiled, plan_of

TEXT = "{type: string}"
OPTIONAL = '{type: string, default: ""}'
NUMBER = "{type: integer, default: 1}"
ONLY = """
orchestration:
  entry_team: only
  context: {%s}
  teams: {only: {tasks: [{name: keep, type: set, values: {kept: 1}}]}}
"""
SESSION = """
orchestration:
  entry_team: desk
  teams:
    desk:
      tasks:
        - {name: heard, type: wait, message: true, deadline: 1h, schema: %s}
        - {name: told, type: reply, value: ok}
        - {name: again, type: wait, message: true, deadline: 1h, schema: %s}
        - {name: said, type: reply, value: ok}
"""


def through_each_door(declared: str, given: Json) -> list[Json | None]:
    """What a run starts with, if a client of each door sends `hi`; None where it is refused."""
    one = compiled(ONLY % declared)
    conversation = conversation_of([ChatText("user", "hi")], ("owner",))
    starts = (
        lambda: start_context(one.plan, "only", given, "hi"),
        lambda: context_with(one.plan, "only", given, "hi"),
        lambda: task_context(one.plan, "only", MessageContent(("hi",), (given,))),
        lambda: starting_context(ReadyTeam("only", one, False), conversation, given),
    )
    found: list[Json | None] = []
    for start in starts:
        try:
            found.append(start())
        except CommandError:
            found.append(None)
    return found


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        (f"message: {TEXT}", {"message": "hi"}),
        (f"message: {OPTIONAL}, topic: {OPTIONAL}", {"message": "hi"}),
        (f"topic: {TEXT}, note: {OPTIONAL}, size: {NUMBER}", {"topic": "hi"}),
        (f"order.topic: {TEXT}", {"order": {"topic": "hi"}}),
        (f"note: {OPTIONAL}, size: {NUMBER}", {"note": "hi"}),
        (f"message: {NUMBER}, topic: {TEXT}", {"topic": "hi"}),
        ('topic: {type: [string, "null"]}', {"topic": "hi"}),
        (f"a: {TEXT}, b: {TEXT}", None),
        (f"a: {OPTIONAL}, b: {OPTIONAL}", None),
        (f"size: {NUMBER}", None),
    ],
)
def test_a_text_is_the_same_input_through_every_door(declared: str, wanted: Json | None) -> None:
    assert through_each_door(declared, {}) == [wanted] * 4


def test_a_text_beside_given_inputs_is_the_one_that_is_missing() -> None:
    declared = f"a: {TEXT}, size: {{type: integer}}"
    assert through_each_door(declared, {"size": 3}) == [{"size": 3, "a": "hi"}] * 4


def test_only_the_state_that_a_client_of_ag_ui_sends_back_is_older_than_the_text() -> None:
    given: Json = {"message": "before"}
    shared, agui, a2a, openai = through_each_door(f"message: {TEXT}", given)
    assert agui == {"message": "hi"}
    assert (shared, a2a, openai) == (None, None, None), "nothing that was given is lost"


def test_a_team_without_a_context_takes_the_text_as_what_it_needs() -> None:
    text = ONLY.replace("  context: {%s}\n", "").replace("kept: 1", 'kept: "{{ context.topic }}"')
    plan = with_needs(compiled(text)).plan
    assert start_context(plan, "only", {}, "hi") == {"topic": "hi"}


@pytest.mark.parametrize(
    ("schemas", "text", "wanted"),
    [
        (("{}", TEXT), "[1]", "[1]"),
        (("{type: object}", "{type: object}"), '{"a": 1}', {"a": 1}),
        ((TEXT, "{type: object}"), '{"a": 1}', {"a": 1}),
        ((TEXT, "{type: object}"), "hello", "hello"),
    ],
)
def test_a_text_is_the_same_message_through_every_door(
    schemas: tuple[str, str], text: str, wanted: JsonValue
) -> None:
    plan = plan_of(SESSION % schemas)
    form = kind_of(plan)
    assert isinstance(form, MessageForm)
    for waits in (message_schemas(plan), form.schemas):
        assert session_message(waits, text) == wanted
    assert session_value(plan, MessageContent((text,), ())) == wanted


def test_a_text_that_is_no_json_is_refused_where_only_json_is_taken() -> None:
    plan = plan_of(SESSION % ("{type: object}", "{type: integer}"))
    with pytest.raises(Rejection, match="cannot be read as JSON"):
        session_message(message_schemas(plan), "hello")


@pytest.mark.parametrize(
    ("schema", "takes"),
    [
        ({}, True),
        ({"type": "string"}, True),
        ({"type": ["null", "string"]}, True),
        ({"type": "object"}, False),
        ({"properties": {}}, False),
    ],
)
def test_the_type_of_a_schema_says_whether_it_takes_a_text(schema: Json, takes: bool) -> None:
    assert takes_text(schema) == takes
