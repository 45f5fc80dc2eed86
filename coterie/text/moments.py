"""Format moments of a run for people: in local time, always with the zone."""

from datetime import datetime


def clock(moment: str) -> str:
    """Format an ISO 8601 time as the local time of day, like `20:56:12+02:00` or `18:56:12Z`."""
    return _local(moment).partition(" ")[2]


def day_and_clock(moment: str) -> str:
    """Format an ISO 8601 time as local date and time, like `2026-12-01 20:56:12+02:00`."""
    return _local(moment)


def _local(moment: str) -> str:
    local = datetime.fromisoformat(moment).astimezone().isoformat(" ", "seconds")
    return local.replace("+00:00", "Z")
