"""The reply at the terminal: its text while a model writes it, then the rest."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from coterie.runs.live_texts import LiveAnswer, TextFollower
from coterie.terminal import say, say_part


class ReplyText:
    """Prints one reply, each of its characters once where a model writes it for all to see."""

    def __init__(self) -> None:
        self._follower = TextFollower()
        self._call = ""
        self._written = ""
        """The text of the answer in progress that stands on the terminal."""

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Print the new text of the answers in progress."""
        for piece in self._follower.pieces(answers):
            if piece.begins or piece.answer.call != self._call:
                self._end_line()
                self._call = piece.answer.call
                if piece.answer.tail.attempt > 1:
                    say(f"[attempt {piece.answer.tail.attempt}]")
            missed = f"[... {piece.missed:,} characters ...]" if piece.missed else ""
            self._written += f"{missed}{piece.text}"
            say_part(f"{missed}{piece.text}")

    def interrupt(self) -> None:
        """Leave the terminal to others: what follows begins on a new line."""
        self._end_line()

    def end(self, reply: JsonValue) -> None:
        """Print the rest of the reply, or all of it if the terminal shows another text."""
        text = shown(reply)
        if self._written and text.startswith(self._written):
            say(text[len(self._written) :])
        else:
            self._end_line()
            say(text)
        self._written = ""

    def _end_line(self) -> None:
        if self._written:
            say()
        self._written = ""


def shown(value: JsonValue) -> str:
    """Return a message or reply for the terminal: a text as it is, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
