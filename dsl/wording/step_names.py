"""The names of steps in problems."""

from coterie.dsl.values import UNREADABLE


def called(name: str, noun: str = "") -> str:
    """Return a step by its name: `the wait 'x'`; or `the wait without a name`."""
    if name == UNREADABLE:
        return f"{noun or 'the step'} without a name"
    return f"{noun} {name!r}" if noun else repr(name)
