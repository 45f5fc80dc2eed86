"""Make a typed Python function a tool: `@tool`, and what a call may ask for.

    from coterie import ToolContext, tool

    @tool(effect="read", timeout=5, secrets=["WEATHER_KEY"])
    def weather(city: str, context: ToolContext) -> Weather:
        "Tell the current weather in a city."
        return look_up(city, key=context.secret("WEATHER_KEY"))

The decorator only marks the function, which stays as it is: nothing is registered, and a test calls
it directly. Coterie finds marked functions in the packages that a worker allows. This module
imports only the standard library, so that importing a tool costs nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Literal, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

_MARK = "__coterie_tool__"


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """What a function's author says about calls of it."""

    description: str | None = None
    effect: Literal["read", "idempotent", "once"] = "once"
    timeout: float = 60.0
    retries: int = 2
    labels: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    local_activity: bool = False


class ToolError(Exception):
    """The call failed and nothing has happened; the message says why, for the model and people.

    A function with the effect `once` raises it only while it has changed nothing: any other
    exception means that nobody knows whether it has acted.

    Attributes:
        retry: The same call may succeed later.
    """

    def __init__(self, message: str, *, retry: bool = False) -> None:
        self.retry = retry
        super().__init__(message)


class ToolMisused(Exception):
    """The function uses its context in a way that the context does not offer."""


def _unseen(progress: object) -> None:
    """Take a heartbeat that nobody waits for: the function was called directly."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The call that a tool serves; a parameter of this type receives it."""

    run: str = ""
    """The id of the calling run."""
    call: str = ""
    """Identifies this call permanently, also across retries: a key for idempotent requests. No
    other run has it, even under the same id."""
    workspace: Path = Path()
    """The folder of the run's files, in which the process works: in a test or an eval, a copy."""
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The values of the secrets that the tool names."""
    progress: object = None
    """The last progress that an earlier attempt of this call reported; None if there is none."""
    _beat: Callable[[object], None] = field(default=_unseen, repr=False, compare=False)
    _stopped: Event = field(default_factory=Event, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """Whether the call is cancelled or out of time; its process ends two seconds later."""
        return self._stopped.is_set()

    def heartbeat(self, progress: object) -> None:
        """Report progress, a small JSON value; the next attempt finds it in `progress`.

        Nobody needs it to stay alive: Coterie sends empty heartbeats by itself.

        Raises:
            ToolMisused: It is longer than 10,000 characters of JSON.
            NotJson: It is not JSON.
        """
        self._beat(progress)

    def secret(self, name: str) -> str:
        """Return the value of a secret.

        Raises:
            ToolMisused: The tool does not name it.
        """
        if name not in self.secrets:
            raise ToolMisused(f"the tool reads the secret {name!r} without naming it in `secrets`")
        return self.secrets[name]


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(
    *,
    description: str | None = None,
    effect: Literal["read", "idempotent", "once"] = "once",
    timeout: float = 60.0,
    retries: int = 2,
    labels: Sequence[Literal["private", "untrusted", "egress"]] = (),
    secrets: Sequence[str] = (),
    local_activity: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    description: str | None = None,
    effect: Literal["read", "idempotent", "once"] = "once",
    timeout: float = 60.0,
    retries: int = 2,
    labels: Sequence[Literal["private", "untrusted", "egress"]] = (),
    secrets: Sequence[str] = (),
    local_activity: bool = False,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as a tool; its types and its docstring become the tool's contract.

    Args:
        function: A function at the top of a module, sync or async, with typed parameters.
        description: What the model reads. Default: the first paragraph of the docstring.
        effect: What a repeated call does: `read` nothing, `idempotent` the same again, `once` harm.
        timeout: Seconds for one attempt.
        retries: Additional attempts after a failure; none for `once`.
        labels: `private` (returns confidential data), `untrusted` (returns text that others wrote),
            `egress` (sends data out).
        secrets: Names of the environment variables whose values a call may read.
        local_activity: Write one event for a call instead of three; a crash of the worker repeats
            it, and messages to the run wait. Only with `effect="read"`, `retries=0` and a timeout
            of at most 2 seconds.
    """
    terms = ToolTerms(
        description, effect, timeout, retries, _as_tuple(labels), _as_tuple(secrets), local_activity
    )

    def mark(marked: Callable[P, R]) -> Callable[P, R]:
        setattr(marked, _MARK, terms)
        return marked

    return mark if function is None else mark(function)


def _as_tuple(values: Sequence[str]) -> tuple[str, ...]:
    """Keep anything but a list as it is: who reads the contract says what is wrong with it."""
    return tuple(values) if isinstance(values, list | tuple) else values  # pyright: ignore[reportReturnType]


def terms_of(value: object) -> ToolTerms | None:
    """Return the terms of a marked function; None for anything else."""
    terms = getattr(value, _MARK, None) if callable(value) else None
    return terms if isinstance(terms, ToolTerms) else None
