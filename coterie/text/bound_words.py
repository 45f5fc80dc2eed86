"""Format bounds: a number or a duration, or a template with its maximum."""

from collections.abc import Callable

from coterie.dsl.model.template_bound import TemplateBound, TemplateDuration
from coterie.text.durations import duration
from coterie.text.problems import counted

ValueWords = Callable[[object], str]


def counted_bound(
    bound: int | TemplateBound | str, word: str, words: ValueWords, plural: str | None = None
) -> str:
    """Format a bound with its noun: `3 rounds`, `"{{ n }}" rounds, never more than 6`."""
    many = plural or f"{word}s"
    match bound:
        case TemplateBound(value=text, maximum=maximum):
            return f"{words(text)} {many}, never more than {maximum:,}"
        case str():
            return f"{words(bound)} {many}"
        case number:
            return counted(number, word, plural)


def number_bound(bound: int | TemplateBound | str, words: ValueWords) -> str:
    """Format a bound without a noun: `3`, `"{{ n }}" (never more than 6)`."""
    match bound:
        case TemplateBound(value=text, maximum=maximum):
            return f"{words(text)} (never more than {maximum:,})"
        case str():
            return words(bound)
        case number:
            return str(number)


def duration_bound(bound: float | TemplateDuration | str, words: ValueWords) -> str:
    """Format a duration: `5 min`, `"{{ n }}" (never more than 5 min)`."""
    match bound:
        case TemplateDuration(value=text, maximum=maximum):
            return f"{words(text)} (never more than {duration(maximum)})"
        case str():
            return words(bound)
        case seconds:
            return duration(seconds)
