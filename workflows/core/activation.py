"""What is still to reach a run in the activation that it is in.

The workflow runner hands an activation on in parts, and says here what follows; the run waits with
its end, which would lose signals.
"""

from contextvars import ContextVar

SIGNALS_FOLLOW: ContextVar[bool] = ContextVar("SIGNALS_FOLLOW", default=False)
"""Signals of this activation are still to come. It holds for the thread of the activation: read it
in a wait's condition, since a task keeps the value of the activation that created it."""
