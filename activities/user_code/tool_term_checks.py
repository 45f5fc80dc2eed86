"""Check what an author says of a tool's calls: `@tool`, a ToolSchema, a BaseTool."""

from collections.abc import Sequence
from typing import cast, get_args

from coterie.activities.user_code.python_tools import ToolTerms
from coterie.dsl.errors import listed
from coterie.dsl.model.capabilities import Effect, Label
from coterie.dsl.model.template_bound import MAX_RETRIES
from coterie.dsl.values import MAX_DURATION


def terms_problem(terms: ToolTerms) -> str | None:
    """Return what is wrong with the terms and what to write, after the name of the tool; or None.

    They come from a program, so every value may have any type.
    """
    return (
        _description_problem(terms.description)
        or _choice_problem("effect", [terms.effect], get_args(Effect))
        or _timeout_problem(terms.timeout)
        or _retries_problem(terms.retries)
        or _list_problem("labels", terms.labels, "['private']")
        or _choice_problem("labels", terms.labels, get_args(Label))
        or _list_problem("secrets", terms.secrets, "['WEATHER_KEY']")
    )


def _description_problem(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return None
    return f"has description={value!r}; give a text"


def _timeout_problem(value: object) -> str | None:
    """Refuse NaN too: it is above nothing."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_DURATION:
        return None
    return f"has a timeout of {value!r}; give seconds above 0, at most {MAX_DURATION:.0f}"


def _retries_problem(value: object) -> str | None:
    if type(value) is int and 0 <= value <= MAX_RETRIES:
        return None
    return f"has {value!r} as the number of its retries; give 0 to {MAX_RETRIES}"


def _list_problem(key: str, value: object, example: str) -> str | None:
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = cast("Sequence[object]", value)
        if all(isinstance(item, str) for item in items):
            return None
    return f"has {key}={value!r}; give a list of texts, like {example}"


def _choice_problem(key: str, values: Sequence[object], allowed: tuple[str, ...]) -> str | None:
    wrong = next((value for value in values if value not in allowed), None)
    return None if wrong is None else f"has {wrong!r} in `{key}`; allowed: {listed(allowed)}"
