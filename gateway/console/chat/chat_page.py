"""The page of a session as a chat, and the list of sessions, as typed views. Pure."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from coterie.gateway.console.chat.chat_exchanges import ChatExchange, ChatHistory
from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.inbox_page import InboxCard
from coterie.gateway.console.runs_page import RunLine
from coterie.gateway.identity.console_address import chat_url, run_url
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.progress import Tone
from coterie.workflows.core.views import RunStatus


@dataclass(frozen=True, slots=True)
class ChatState:
    """Where a session stands."""

    word: str
    tone: Tone
    note: str = ""
    """What its reader should know or do; empty: nothing."""


@dataclass(frozen=True, slots=True)
class Composer:
    """The form of the next message."""

    url: str
    api: str
    """Where a script sends it."""
    nonce: str
    kind: Literal["text", "fields"]
    fields: tuple[FormField, ...] = ()
    """Of a message that is not a text."""


@dataclass(frozen=True, slots=True)
class ChatPage:
    """The chat with one session."""

    run: str
    team: str
    url: str
    """Of the whole page of the run."""
    latest: str
    """Of the newest messages; empty on their page."""
    earlier: str
    """Of the messages before these; empty: there are none."""
    state: ChatState
    me: str
    """The name that the run records of what the reader sends."""
    exchanges: tuple[ChatExchange, ...]
    continues: str
    """The address of the session that this one continues; empty: it is none."""
    requests: tuple[InboxCard, ...]
    """What waits for a person."""
    doing: tuple[str, ...]
    """The steps in progress."""
    composer: Composer | None
    closed_because: str
    """Why there is no form."""


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """The open sessions that a person may see."""

    sessions: tuple[RunLine, ...]
    is_cut: bool
    """Whether there are further runs that nobody looked at."""


def chat_state(
    history: ChatHistory, status: RunStatus | None, *, is_served: bool, has_begun: bool
) -> ChatState:
    """Return where a session stands.

    Args:
        history: Its newest messages.
        status: As its worker says; None if it does not.
        is_served: Whether a worker polls its task queue.
        has_begun: Whether it has a plan.
    """
    closed = history.closed
    if closed is not None:
        because = "" if closed.state == "completed" else incomplete_reason(closed.end)
        tone: Tone = "good" if closed.state == "completed" else "bad"
        return ChatState(f"ended: {closed.state}", tone, because)
    if not is_served:
        note = (
            "No worker serves this session: nothing answers until one does. Start `coterie worker` "
            "in its project; your text is kept."
        )
        return ChatState("worker away", "bad", note)
    if status is None:
        if not has_begun:
            note = "The session begins as soon as a worker has taken it up."
            return ChatState("begins", "waiting", note)
        return ChatState("no answer", "waiting", "Its worker does not answer now; it may be busy.")
    if status.paused is not None:
        why = f": {status.paused.why}" if status.paused.why else ""
        note = f"Paused by {status.paused.by}{why}. Messages wait until somebody resumes it."
        return ChatState("paused", "waiting", note)
    match status.state:
        case "stopping" | "cancelled" | "done":
            return ChatState("stopping", "waiting", "It takes no further message.")
        case _ if status.waiting_for:
            return ChatState("waits for a person", "waiting")
        case _ if any(exchange.is_current for exchange in history.exchanges):
            return ChatState("works", "working")
        case _:
            return ChatState("waits for a message", "good")


def chat_page(
    run: str,
    team: str,
    history: ChatHistory,
    state: ChatState,
    status: RunStatus | None,
    requests: tuple[InboxCard, ...],
    composer: Composer | None,
    me: str,
    *,
    is_latest: bool,
) -> ChatPage:
    """Return the chat with a session.

    Args:
        run: The id of the run.
        team: The team that was started.
        history: What it shows of the session.
        state: Where it stands.
        status: As its worker says; None if it does not.
        requests: What waits for a person.
        composer: The form of the next message; None if the reader may not send any.
        me: The name that the run records of what the reader sends.
        is_latest: Whether it ends with the newest messages.
    """
    url = chat_url(run)
    has_ended = history.closed is not None
    closed_because = ""
    if has_ended:
        closed_because = "This session has ended. Its team's page starts a new one."
    elif composer is None:
        closed_because = (
            "You may read this session. To write, ask an administrator for the role starter or "
            "operator, in `access` of coterie.yml."
        )
    earlier = f"{url}?{urlencode({'before': history.earlier})}" if history.earlier else ""
    return ChatPage(
        run=run,
        team=team,
        url=run_url(run),
        latest="" if is_latest else url,
        earlier=earlier,
        state=state,
        me=me,
        exchanges=history.exchanges,
        continues="" if history.continues is None else chat_url(history.continues.run),
        requests=requests if is_latest else (),
        doing=_doing(status) if status is not None and state.tone == "working" else (),
        composer=composer if is_latest and not has_ended else None,
        closed_because=closed_because if is_latest else "",
    )


def _doing(status: RunStatus) -> tuple[str, ...]:
    """Return the steps in progress that do not only wait for a message or a person."""
    return tuple(
        current.step for current in status.doing if current.step not in status.waiting_for
    )[-3:]
