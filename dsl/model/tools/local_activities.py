"""Which tools may run as local activities of Temporal.

A local activity runs inside a workflow task: it writes one event instead of three, and needs no
workflow task of its own. Nothing of it is recorded before that task ends, so a crash repeats it,
and messages to the run wait for it. So it is for short reads only.
"""

from coterie.dsl.model.capabilities import Effect, FunctionContract

MAX_LOCAL_SECONDS = 2.0
"""Longest time limit of a local activity, in seconds."""


def is_local(asked: bool | None, contract: FunctionContract) -> bool:
    """Return whether calls of a tool shall be local activities; a contract says so by default."""
    return contract.local_activity if asked is None else asked


def local_reasons(effect: Effect, timeout: float, retries: int, *, asks: bool) -> tuple[str, ...]:
    """Return why calls cannot be local activities; empty if they can.

    Args:
        effect: Of a call.
        timeout: Seconds for one attempt.
        retries: Additional attempts.
        asks: Whether its calls ask a person, or need an approval.
    """
    reasons: list[str] = []
    if effect != "read":
        reasons.append(f"its effect is {effect!r}")
    if timeout > MAX_LOCAL_SECONDS:
        reasons.append(f"its timeout is {timeout:g} s")
    if retries:
        reasons.append(f"it has `retries: {retries}`")
    if asks:
        reasons.append("its calls ask a person")
    return tuple(reasons)
