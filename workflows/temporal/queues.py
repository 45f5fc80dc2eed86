"""Queues: the task queue and the fairness key of a model call.

Calls share the run's own queue, which starts them without a detour. A provider with a rate limit
has its own queue, where the server enforces the limit over all workers. Plans cannot name queues: a
worker that gets such a call refuses it and names the queue. So the name is in the run's history,
and nobody who starts a run can invent one.
"""

from datetime import timedelta
from hashlib import sha256

from coterie.activities.contracts import OwnQueue
from coterie.dsl.paths import get, parse
from coterie.dsl.values import Json

MAX_WAIT = timedelta(minutes=15)
"""Maximum wait in such a queue. Then the call comes back to the run's own queue, whose worker sends
it there again, or makes it if the limit was lifted and no worker serves that queue any more.
"""

_MAX_KEY_LENGTH = 64


class Elsewhere(Exception):
    """A call that was not made: its provider is called through this queue."""

    def __init__(self, queue: OwnQueue) -> None:
        self.queue = queue
        super().__init__(queue.name)


class NotTaken(Exception):
    """A call that no worker took in time."""


def fairness_key(queue: OwnQueue, run_id: str, context: Json) -> str:
    """Return the fairness key of a call: the value at the path, or else the run."""
    key = run_id
    if queue.fair_by != "run":
        found = get(context, parse(queue.fair_by))
        if isinstance(found, str | int) and not isinstance(found, bool):
            key = f"{queue.fair_by}={found}"
    if len(key.encode()) <= _MAX_KEY_LENGTH:
        return key
    return sha256(key.encode(), usedforsecurity=False).hexdigest()
