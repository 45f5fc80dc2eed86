"""Keys that Coterie adds to JSON Schemas of tool functions and tools."""

from typing import Final

ALSO: Final = "x-also"
"""Further names of a property."""

KIND: Final = "x-kind"
"""What the text of a field holds, if it is not prose: `code`, `command`, `path` or `url`."""
