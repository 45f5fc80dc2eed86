"""Messages between a worker and a process of its pool: one line each."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.processes.child_reply import Reply
from coterie.dsl.values import Frozen

SEPARATOR = b" "
"""Between the name of the work, its seconds of CPU, and its input, which is JSON."""


class WorkDone(Frozen):
    """The result of the function."""

    kind: Literal["done"] = "done"
    result: JsonValue


class OutOfMemory(Frozen):
    """The function needed more memory than it may have."""

    kind: Literal["memory"] = "memory"


class MissingModule(Frozen):
    """The function needs a module that is not installed."""

    kind: Literal["missing"] = "missing"
    name: str


class WorkRaised(Frozen):
    """The function raised, which is a bug."""

    kind: Literal["raised"] = "raised"
    reason: str


WorkOutcome = Annotated[
    WorkDone | OutOfMemory | MissingModule | WorkRaised, Field(discriminator="kind")
]
WORK_REPLY: TypeAdapter[Reply[WorkOutcome]] = TypeAdapter(Reply[WorkOutcome])
