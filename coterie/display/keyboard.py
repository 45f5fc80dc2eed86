"""Ask the person at the terminal; a question can be withdrawn when another person answers."""

import asyncio
import sys
from collections.abc import Sequence

from coterie.terminal import note, prompt


async def ask(question: str) -> str | None:
    """Read a line; return None when the person closes the input (Ctrl-D).

    The wait can be cancelled, unlike `input()`, which would block a thread forever.
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
    """Ask until the answer is yes or no; return None when the input is closed."""
    while True:
        answer = await ask(f"{question} [y/n] ")
        if answer is None:
            return None
        if answer.lower() in ("y", "yes"):
            return True
        if answer.lower() in ("n", "no"):
            return False


async def ask_one_of(question: str, choices: Sequence[str]) -> str | None:
    """Ask until the answer is one of the words, or its first letter; None when closed."""
    while True:
        answer = await ask(f"{question} [{'/'.join(choices)}] ")
        if answer is None:
            return None
        for choice in choices:
            if answer.lower() in (choice, choice[0]):
                return choice
