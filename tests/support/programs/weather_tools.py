"""A module with tools, as a user's package has it: children of a worker import it quickly."""

from coterie import ToolError, tool


@tool(effect="read")
def forecast(city: str) -> str:
    """Tell tomorrow's weather in a city."""
    if city == "Atlantis":
        raise ToolError("Atlantis has no weather")
    return f"{city}: sunny"


def unmarked(city: str) -> str:
    """Look like a tool without being one."""
    return city
