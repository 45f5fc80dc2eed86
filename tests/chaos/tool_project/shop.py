"""Tools in Python: of each kind of effect, and one that verifies."""

import time

import effects

from coterie import tool


@tool(effect="read", retries=20, timeout=20)
def look(id: str, number: int, seconds: float) -> int:
    """Look something up."""
    effects.append("journal.txt", time.time(), "look", id)
    time.sleep(seconds)
    return number * number


@tool(effect="idempotent", retries=20, timeout=20)
def store(id: str, seconds: float) -> str:
    """Put something on its shelf; again, it is the same."""
    effects.act("store", id, seconds)
    return f"{id} is stored"


@tool(effect="once", timeout=20)
def pay(id: str, seconds: float) -> str:
    """Pay, which must not happen twice."""
    effects.act("pay", id, seconds)
    return f"receipt of {id}"


@tool(effect="read", retries=20, timeout=20)
def was_done(tool: str, id: str, unsure: bool) -> str:
    """Tell whether a call of `pay` or `send` took effect; of some, nobody can."""
    effects.append("journal.txt", time.time(), "was_done", id)
    if unsure:
        return "nobody knows"
    return "done" if effects.line_ends("ledger.txt", f"{tool} {id}") else "missing"
