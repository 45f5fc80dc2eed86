"""The front door. Importing it ensures that Coterie's packages are its own.

What code of other packages may import from here is stable: `tool`, `ToolContext` and `ToolError`.
"""

from coterie.own_packages import install

install()

from activities.user_code.tool_functions import (  # noqa: E402  after `install`
    ToolContext,
    ToolError,
    tool,
)

__all__ = ["ToolContext", "ToolError", "tool"]
