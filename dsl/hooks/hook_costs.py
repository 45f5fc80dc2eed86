"""What hooks can cost at most: the calls of their functions, and what they let happen again."""

from collections.abc import Sequence

from coterie.dsl.hooks.hook_reads import hooks_at
from coterie.dsl.model.hooks import Hook, HookPoint
from coterie.dsl.templates.template import is_template

TURN_POINTS: tuple[HookPoint, ...] = (
    "before_turn",
    "after_turn",
    "before_model_call",
    "after_model_call",
)
"""The points of a model turn, besides its calls."""


def maximum_retries(hooks: Sequence[Hook], point: HookPoint, tool: str = "") -> int:
    """Return how often hooks can ask for a retry at one place."""
    return sum(
        hook.retries
        for hook in hooks_at(hooks, point, tool)
        if hook.decide == "retry" or is_template(hook.decide)
    )


def function_calls(hooks: Sequence[Hook], *points: HookPoint, tool: str = "") -> int:
    """Return how many tool functions hooks call when a run is once at each of the points."""
    return sum(hook.skill is not None for point in points for hook in hooks_at(hooks, point, tool))
