"""Whether the current activation still has undelivered signals.

The workflow runner hands over an activation in parts, and notes here whether more follow. The run
must not end before the signals arrive, or they would be lost.
"""

from contextvars import ContextVar

SIGNALS_FOLLOW: ContextVar[bool] = ContextVar("SIGNALS_FOLLOW", default=False)
"""Whether signals of this activation are still to come. It is valid for the thread of the
activation: read it in a wait's condition, since a task keeps the value of the activation that
created it.
"""

MESSAGES_FOLLOW: ContextVar[bool] = ContextVar("MESSAGES_FOLLOW", default=False)
"""Messages of a session are still to come in this activation; read it like `SIGNALS_FOLLOW`."""
