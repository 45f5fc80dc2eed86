"""Rejections: whether a person approved, and the failure of a step that nobody approved."""

from typing import TypeGuard

from pydantic import JsonValue

from dsl.model.outcomes import Outcome
from workflows.core.requests import Decision


def is_approved(decision: Decision | None) -> TypeGuard[Decision]:
    """Return whether the request was approved: not rejected, and not left without a decision."""
    return decision is not None and decision.verdict == "approved"


def rejected(decision: Decision | None, data: JsonValue = None) -> Outcome:
    """Return the failure of a step that was not approved.

    Args:
        decision: the rejection; None if nobody decided in time.
        data: what other steps may read of the decision.
    """
    if decision is None:
        return Outcome.failed("NotDecided", "nobody decided in time")
    reason = decision.comment or "no reason given"
    return Outcome.failed("Rejected", f"{decision.by} rejected it: {reason}", data)
