"""Questions to the person at the terminal that can be withdrawn when somebody else answers."""

import asyncio
import sys
from collections.abc import Sequence

from coterie.terminal import note, prompt


async def ask(question: str) -> str | None:
    """A line from the person; None when they close the input (Ctrl-D).

    Waiting for it can be cancelled, unlike `input()`, which would hold a thread for ever.
    """
    prompt(question)
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin)
    line = sys.stdin.readline()
    if not line:
        note("")
        return None
    return line.strip()


async def ask_yes_no(question: str) -> bool | None:
    """Yes or no, asked until it is one of them; None when the input is closed."""
    while True:
        answer = await ask(f"{question} [y/n] ")
        if answer is None:
            return None
        if answer.lower() in ("y", "yes"):
            return True
        if answer.lower() in ("n", "no"):
            return False


async def ask_one_of(question: str, choices: Sequence[str]) -> str | None:
    """One of the words, or its first letter; None when the input is closed."""
    while True:
        answer = await ask(f"{question} [{'/'.join(choices)}] ")
        if answer is None:
            return None
        for choice in choices:
            if answer.lower() in (choice, choice[0]):
                return choice
