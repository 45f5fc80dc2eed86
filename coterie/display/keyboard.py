"""Ask the person at the terminal; a question can be withdrawn when another person answers."""

import asyncio
import sys
from collections.abc import Callable, Sequence

from coterie.control.deciding_names import DecidingNames
from coterie.dsl.visible import is_unicode
from coterie.terminal import note, prompt
from coterie.workflows.core.requests import Pending

_PASTE_SECONDS = 0.05
"""Lines that come within this time of each other were not typed."""
_CONTINUES = "\\"
"""At the end of a line: the text continues in the next one."""


async def ask(question: str) -> str | None:
    """Read a line; return None when the person closes the input (Ctrl-D).

    The wait can be cancelled, unlike `input()`, which would block a thread forever.
    """
    line = await _line(question)
    return None if line is None else line.strip()


async def ask_text(question: str, continued: str) -> str | None:
    """Read a text of one or several lines; return None when the person closes the input.

    A backslash at the end of a line continues the text in the next one. Lines that are pasted at
    once belong together.

    Args:
        question: Stands before the first line.
        continued: Stands before each line after a backslash.
    """
    lines: list[str] = []
    while not lines or lines[-1].endswith(_CONTINUES) or await _line_ready(_PASTE_SECONDS):
        before = "" if lines else question
        if lines and lines[-1].endswith(_CONTINUES):
            lines[-1] = lines[-1].removesuffix(_CONTINUES)
            before = continued
        line = await _line(before)
        if line is None:
            return None
        lines.append(line.rstrip())
    return "\n".join(lines).strip()


async def _line_ready(seconds: float | None) -> bool:
    """Wait until a line can be read, at most this long; return whether it can."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)
    try:
        async with asyncio.timeout(seconds):
            await ready.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(sys.stdin)
    return True


async def _line(before: str) -> str | None:
    """Read a line of text, which stands after `before`; ask again for bytes that are not text."""
    prompt(before)
    while True:
        await _line_ready(None)
        line = sys.stdin.readline()
        if not line:
            note("")
            return None
        if is_unicode(line):
            return line
        prompt(f"that is not UTF-8 text; type it again\n{before}")


async def asked_name(request: Pending, names: DecidingNames) -> str:
    """Return under which name the person decides; ask only if no known name may."""
    name = names.allowed(request.approvers)
    if name is not None:
        return name
    answer = await ask(f"who are you ({', '.join(request.approvers)})? ")
    if not answer:
        return names.login
    names.add(answer)
    return answer


async def ask_yes_no(question: str, show_whole: Callable[[], None] | None = None) -> bool | None:
    """Ask until the answer is yes or no; return None when the input is closed.

    Args:
        question: The question.
        show_whole: Shows all that the question is about, when the person asks for it.
    """
    choices = "[y/n]" if show_whole is None else "[y/n, w: show all of it]"
    while True:
        answer = await ask(f"{question} {choices} ")
        if answer is None:
            return None
        if answer.lower() in ("y", "yes"):
            return True
        if answer.lower() in ("n", "no"):
            return False
        if show_whole is not None and answer.lower() in ("w", "whole"):
            show_whole()


async def ask_one_of(question: str, choices: Sequence[str]) -> str | None:
    """Ask until the answer is one of the words, or its first letter; None when closed."""
    while True:
        answer = await ask(f"{question} [{'/'.join(choices)}] ")
        if answer is None:
            return None
        for choice in choices:
            if answer.lower() in (choice, choice[0]):
                return choice
