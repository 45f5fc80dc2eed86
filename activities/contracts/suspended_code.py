"""A program in the sandbox that calls tools: how it stops at its calls, and how it continues.

Each activity runs the program up to its next calls. The run makes these calls, and the next
activity continues from the stored state. No process waits in between.
"""

from pydantic import Field, JsonValue

from coterie.dsl.values import Frozen, Json


class CodeCall(Frozen):
    """A call that a program waits for."""

    id: int
    """Its number in the program."""
    function: str
    """Its name in the code."""
    arguments: Json = Field(default_factory=dict[str, JsonValue])


class CodeAnswer(Frozen):
    """What a call of a program came to."""

    id: int
    value: JsonValue = None
    kept: str | None = None
    """The name of the stored value, if the worker has stored it."""
    error: str = ""
    """The type of its failure; empty if it succeeded."""
    message: str = ""


class CodeState(Frozen):
    """The state of a program that waits for calls."""

    kept: str = ""
    """The name of the stored state; empty if it is here."""
    inline: str = ""
    """The state itself, in base 64."""
    size: int = 0
    """Bytes."""


class CodeTurn(Frozen):
    """A part of a program: from its beginning, or from calls that have ended."""

    functions: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """`{name in the code: names of its parameters}`, at the beginning only."""
    now: float = 0.0
    """Unix time that the program sees, at the beginning only."""
    state: CodeState | None = None
    """Where it continues; None at the beginning."""
    origins: tuple[str, ...] = ()
    """The runs that this one was forked from, whose values it may need."""
    answers: tuple[CodeAnswer, ...] = ()
    """Of the calls that it waits for."""


class SuspendedCode(Frozen):
    """A program that waits for calls."""

    state: CodeState
    calls: tuple[CodeCall, ...]
