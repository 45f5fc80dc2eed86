"""What a tool asks a person in the middle of its call, and the person's answer.

A server may also continue a call as a task. Then the call is made again until the task has ended.
"""

from pydantic import Field

from coterie.dsl.values import Frozen, Json


class AskedForm(Frozen):
    """One question, and the form of its answer."""

    message: str
    form: Json
    """JSON Schema of an object."""


class ServerTask(Frozen):
    """A call that its server continues as a task."""

    id: str
    """By which the server knows it."""
    poll_seconds: float = 2.0
    """How often to ask for it."""
    silent: int = 0
    """How many calls in a row got no answer about it."""
    unwanted: bool = False
    """Nobody waits for it any more: the call only ends it."""


class AskedInput(Frozen):
    """The questions of a call; it continues once all have an answer."""

    questions: dict[str, AskedForm] = Field(default_factory=dict[str, AskedForm])
    """By a key of the server, or one made of the question."""
    state: str | None = None
    """What the server wants back with the answers."""
    is_plain: bool = False
    """There is no tool behind the question: the caller itself asks."""
    task: ServerTask | None = None
    """The task that asks; without questions, it only continues."""
    within_call: bool = False
    """The server asked while the call was open and keeps nothing of it. The call is made again, and
    each question in it gets its answer."""
    sign_in: str | None = None
    """The MCP server at which a person must sign in before the call is made: the question is ours,
    and its answer is not for the server."""

    @property
    def continues(self) -> bool:
        """Whether nobody has to answer: the server works on its task."""
        return self.task is not None and not self.questions


class GivenInput(Frozen):
    """A person's answers, for the call that is made again."""

    asked: AskedInput
    answers: dict[str, Json] = Field(default_factory=dict[str, Json])
    """By the key of the question."""
    by: str = ""
    """Who gave the last answers."""
