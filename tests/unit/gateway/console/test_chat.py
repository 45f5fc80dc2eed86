"""The chat with a session: from the newest end, each message with what was done for it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from markupsafe import Markup

from coterie.activities.contracts import TokenUsage
from coterie.gateway.console.chat.chat_exchanges import ChatExchange, ChatHistory, exchanges_of
from coterie.gateway.console.chat.chat_page import (
    ChatPage,
    Composer,
    SessionsPage,
    chat_page,
    chat_state,
)
from coterie.gateway.console.chat.message_forms import (
    NO_SESSION,
    TEXT,
    MessageForm,
    fields_of,
    kind_of,
    message_id,
    text_message,
)
from coterie.gateway.console.fields.filled_forms import read_form
from coterie.gateway.console.fields.form_fields import Typed
from coterie.gateway.console.inbox_page import inbox_card
from coterie.gateway.console.page_templates import SERVED_POLICY, PageFrame, render
from coterie.gateway.console.runs_page import runs_page
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.run_listing import ListAsked, RunListing
from coterie.gateway.sessions.session_history import read_session
from coterie.gateway.streams.cursors import Cursor
from coterie.workflows.core.views import Paused, RunStatus
from tests.support.engine import plan_of
from tests.support.recorded_pages import RecordedPages
from tests.unit.gateway.console.hostile_texts import harmless, hostile
from tests.unit.gateway.console.pages import Tree, read_html, text_in, with_texts
from tests.unit.gateway.console.test_served_pages import RUN, waiting

CHAT = """
orchestration:
  entry_team: talk
  teams: {talk: {type: chat, chat: {reply: ok, schema: %s}}}
"""
STATUS = RunStatus(
    plan="talk",
    digest="d",
    state="running",
    team="talk",
    visit=1,
    teams_run=1,
    max_total_teams=9,
    visits={},
    model_calls=0,
    function_calls=0,
    usage=TokenUsage(),
    events=1,
)


async def history_of(pages: RecordedPages, count: int = 20, before: str = "") -> ChatHistory:
    position = Cursor.parse(before) if before else None
    return exchanges_of(await read_session(pages, "r", position, count), count)


def said(exchanges: Sequence[ChatExchange]) -> list[tuple[str, str, str]]:
    """Who wrote what, and the reply."""
    return [
        (
            it.message.by,
            it.message.text.text,
            it.reply.text.text if it.reply is not None and it.reply.text is not None else "",
        )
        for it in exchanges
        if it.message is not None
    ]


TALK = [
    ("ann", "hello", "Well said."),
    ("ben", "again", "Well said."),
    ("ann", "more", "Well said."),
    ("ann", "bye", "Well said."),
]


async def test_a_conversation_is_read_over_the_histories_that_it_continued_in() -> None:
    whole = await history_of(RecordedPages.of("chat"))
    assert said(whole.exchanges) == TALK
    assert whole.earlier == ""
    assert whole.closed is not None
    assert not any(it.steps for it in whole.exchanges), "the answer is the reply"
    assert len({it.id for it in whole.exchanges}) == 4


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_pages_of_a_conversation_from_its_newest_end_make_the_whole(count: int) -> None:
    whole = await history_of(RecordedPages.of("chat"))
    page = await history_of(RecordedPages.of("chat", seed=2), count)
    found = list(page.exchanges)
    while page.earlier:
        page = await history_of(RecordedPages.of("chat"), count, page.earlier)
        found[:0] = page.exchanges
    assert found == list(whole.exchanges)


async def test_an_open_message_is_the_current_one_until_it_has_its_reply() -> None:
    pages = RecordedPages.of("session")
    pages.begin()
    numbers: list[tuple[int, int]] = []
    while pages.grow(1):
        exchanges = (await history_of(pages)).exchanges
        open_ones = [it for it in exchanges if it.is_current]
        assert len(open_ones) <= 1
        assert all(it.reply is None for it in open_ones)
        numbers.append((len(said(exchanges)), len(open_ones)))
    assert {(1, 1), (1, 0), (2, 1), (4, 0)} <= set(numbers)


async def test_what_a_run_did_is_shown_with_arguments_and_results() -> None:
    [opening] = (await history_of(RecordedPages.of("tool_agent"))).exchanges
    tools = [step for step in opening.steps if step.kind == "tool"]
    first = tools[0]
    assert (first.call.tool, first.call.arguments.text) == ("look", "{}")
    assert first.call.result is not None
    assert "files" in first.call.result.text
    assert [step.call.failed for step in tools[:2]] == [False, True]
    answers = [step.text.text for step in opening.steps if step.kind == "answer"]
    assert answers == ["One file.", "Over to the end.", "It rains."]


async def test_decisions_stand_where_they_were_made_with_their_names() -> None:
    exchanges = (await history_of(RecordedPages.of("consents"))).exchanges
    decided = [step for it in exchanges for step in it.steps if step.kind == "decision"]
    assert decided
    assert all(step.by and step.verdict for step in decided)


def status_with(**update: object) -> RunStatus:
    return STATUS.model_copy(update=update)


EMPTY = ChatHistory((), "", None, None)


async def test_a_chat_says_where_its_session_stands_and_what_to_do() -> None:
    ended = await history_of(RecordedPages.of("chat"))
    busy = replace(ended, closed=None, exchanges=(replace(ended.exchanges[0], is_current=True),))
    paused = Paused(by="ann", why="lunch", since="")
    states = [
        chat_state(ended, None, is_served=True, has_begun=True),
        chat_state(EMPTY, None, is_served=False, has_begun=True),
        chat_state(EMPTY, None, is_served=True, has_begun=False),
        chat_state(
            EMPTY, STATUS.model_copy(update={"paused": paused}), is_served=True, has_begun=True
        ),
        chat_state(
            EMPTY, STATUS.model_copy(update={"waiting_for": ("a",)}), is_served=True, has_begun=True
        ),
        chat_state(busy, STATUS, is_served=True, has_begun=True),
        chat_state(EMPTY, STATUS, is_served=True, has_begun=True),
    ]
    assert [state.word for state in states] == [
        "ended: completed",
        "worker away",
        "begins",
        "paused",
        "waits for a person",
        "works",
        "waits for a message",
    ]
    assert "coterie worker" in states[1].note
    assert states[3].note.startswith("Paused by ann: lunch.")


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ("{type: string, maxLength: 9}", TEXT),
        ("{}", TEXT),
        ("{type: integer}", ""),
        ("{type: object, properties: {amount: {type: integer}}, required: [amount]}", "amount"),
    ],
)
def test_the_form_of_a_message_comes_from_its_schema(schema: str, kind: object) -> None:
    form = kind_of(plan_of(CHAT % schema))
    assert isinstance(form, MessageForm)
    if isinstance(kind, MessageForm):
        assert form == kind
        assert fields_of(form, {}) == ()
        return
    fields = fields_of(form, {})
    assert [field.name for field in fields] == [kind]
    assert read_form(fields, Typed({str(kind): "7"})).value == ({"amount": 7} if kind else 7)
    assert read_form(fields, Typed({str(kind): "{"})).has_problems


def test_a_text_is_sent_without_the_line_breaks_of_a_form() -> None:
    assert text_message(" Hello\r\nyou ") == "Hello\nyou"
    with pytest.raises(Rejection, match="empty"):
        text_message(" \n")


def test_a_run_without_messages_is_no_session() -> None:
    team = "{tasks: [{name: s, type: set, values: {x: 1}}]}"
    plan = plan_of(f"orchestration: {{entry_team: a, teams: {{a: {team}}}}}")
    assert kind_of(plan) == NO_SESSION


def test_a_form_sends_each_text_once() -> None:
    assert message_id("n", "hello") == message_id("n", "hello")
    other = message_id("n", "hello!"), message_id("m", "hello")
    assert len({message_id("n", "hello"), *other}) == 3


def shown(template: str, page: object) -> Tree:
    frame = PageFrame("served", "a page", SERVED_POLICY, Markup(), viewer="Ann")
    return read_html(render(template, frame, page))


async def test_no_text_of_a_chat_becomes_more() -> None:
    talk = await history_of(RecordedPages.of("chat"))
    work = await history_of(RecordedPages.of("tool_agent"))
    decided = await history_of(RecordedPages.of("consents"))
    form = kind_of(plan_of(CHAT % "{type: object, properties: {amount: {type: integer}}}"))
    assert isinstance(form, MessageForm)
    open_one = replace(talk.exchanges[0], reply=None, is_current=True)
    exchanges = (*talk.exchanges, *work.exchanges, *decided.exchanges, open_one)
    page = page_with(
        ChatHistory(exchanges, "c", None, None),
        Composer("u", "a", "n", "fields", fields_of(form, {})),
    )
    text = harmless(shown("chat.html", with_texts(page, but_kinds)))
    assert text.count("{{7*7}}") > 50
    sessions = SessionsPage(runs_page(RunListing(runs=(RUN,), more=False), ListAsked()).runs, True)
    harmless(shown("sessions.html", with_texts(sessions, hostile(set()))))


def but_kinds(path: str, text: str) -> str:
    """A hostile text, except where the text is one of ours that selects a form."""
    return text if path.endswith(".kind") else hostile(set())(path, text)


def page_with(history: ChatHistory, composer: Composer | None) -> ChatPage:
    state = chat_state(history, STATUS, is_served=True, has_begun=True)
    cards = tuple(map(inbox_card, waiting().requests[:1]))
    return chat_page("r/1", "talk", history, state, STATUS, cards, composer, "ann", is_latest=True)


async def test_a_chat_sends_by_a_form_and_decides_with_the_digest_of_the_inbox() -> None:
    talk = await history_of(RecordedPages.of("chat"))
    open_one = replace(talk.exchanges[-1], reply=None, is_current=True)
    page = page_with(
        replace(talk, exchanges=(open_one,), closed=None), Composer("/chat/r", "/v1", "n", "text")
    )
    tree = shown("chat.html", page)
    [form] = tree.xpath("//form[@id='compose']")
    assert (form.get("method"), form.get("action")) == ("post", "/chat/r")
    assert form.xpath(".//textarea[@name='message']")
    assert form.xpath(".//input[@name='nonce']/@value") == ["n"]
    [pick] = tree.xpath(
        "//section[@class='exchange']//form[@action='/decide']/input[@name='pick']/@value"
    )
    assert "d" * 64 in pick
    assert "(you)" in text_in(tree)
    assert "not verified" in text_in(tree), "nobody knows who sent the recorded message"
    reader = shown("chat.html", page_with(EMPTY, None))
    assert not reader.xpath("//form[@id='compose']")
    assert "ask an administrator for the role starter" in text_in(reader)
