"""Say how a value violates a contract."""

from pydantic import ValidationError


def validation_problems(error: ValidationError) -> str:
    """List the errors of a value with their places; never the value itself, which may be huge."""
    found: list[str] = []
    for detail in error.errors():
        what = detail["msg"]
        place = ".".join(str(part) for part in detail["loc"])
        found.append(f"{place}: {what}" if place else what)
    shown = "; ".join(found[:5])
    return shown if len(found) <= 5 else f"{shown}; and {len(found) - 5} more"
