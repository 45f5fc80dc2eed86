"""Format moments of a run for people."""

from datetime import datetime


def clock(moment: str) -> str:
    """Format an ISO 8601 time as the local time of day."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S")


def day_and_clock(moment: str) -> str:
    """Format an ISO 8601 time as local date and time."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
