"""What a chat says of a session that is paused, once for each pause."""

import pytest

from coterie.display.chat_session import ChatView, ReplyText
from coterie.workflows.core.views import Paused

LUNCH = Paused(by="ops", why="lunch\nand more", since="2026-01-01T12:00:00Z")
NIGHT = Paused(by="ann", why="", since="2026-01-01T22:00:00Z")


def test_a_chat_says_once_that_its_session_is_paused_and_that_it_continues(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = ChatView("my talk", ReplyText())
    for paused in (None, LUNCH, LUNCH, NIGHT, None, None):
        view.note_pause(paused)
    assert capsys.readouterr().err.splitlines() == [
        "the session is paused by ops: lunch and more; to continue it: coterie resume 'my talk'",
        "the session is paused by ann; to continue it: coterie resume 'my talk'",
        "the session continues",
    ]
