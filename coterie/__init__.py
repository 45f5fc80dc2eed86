"""The front door.

What code of other packages may import from here is stable. `import coterie` loads only the standard
library; the names of agents, models and teams load more when they are first used.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from coterie.checkout import find_rooms

if sys.platform == "win32":
    sys.exit("Coterie runs on Linux and macOS; on Windows, install and run it in WSL 2.")
find_rooms()

from coterie.activities.user_code.provider_errors import ProviderError  # noqa: E402
from coterie.activities.user_code.python_tools import ToolContext, ToolError, tool  # noqa: E402

if TYPE_CHECKING:
    from coterie.activities.contracts import TokenUsage
    from coterie.activities.providers.message_model import (
        ImagePart,
        ModelMessage,
        TextPart,
        ToolCallPart,
        ToolResultPart,
    )
    from coterie.activities.providers.provider import (
        Completion,
        ModelProvider,
        ModelRequest,
        ProviderSettings,
    )
    from coterie.activities.user_code.agent_functions import AgentFailure, AgentFunction, AgentTurn
    from coterie.agents.team_program import FinishedRun, InvalidTeam, Team, TeamRunError
    from coterie.dsl.tool_loop.exchange import OfferedTool

_AGENT = "coterie.activities.user_code.agent_functions"
_MESSAGES = "coterie.activities.providers.message_model"
_PROVIDER = "coterie.activities.providers.provider"
_TEAM = "coterie.agents.team_program"
_LOADED_LATER = {
    "AgentFailure": _AGENT,
    "AgentFunction": _AGENT,
    "AgentTurn": _AGENT,
    "Completion": _PROVIDER,
    "FinishedRun": _TEAM,
    "ImagePart": _MESSAGES,
    "InvalidTeam": _TEAM,
    "ModelMessage": _MESSAGES,
    "ModelProvider": _PROVIDER,
    "ModelRequest": _PROVIDER,
    "OfferedTool": "coterie.dsl.tool_loop.exchange",
    "ProviderSettings": _PROVIDER,
    "Team": _TEAM,
    "TeamRunError": _TEAM,
    "TextPart": _MESSAGES,
    "TokenUsage": "coterie.activities.contracts",
    "ToolCallPart": _MESSAGES,
    "ToolResultPart": _MESSAGES,
}
"""`{name: its module}`: pydantic, asyncio and Temporal's SDK are behind them."""

__all__ = [
    "AgentFailure",
    "AgentFunction",
    "AgentTurn",
    "Completion",
    "FinishedRun",
    "ImagePart",
    "InvalidTeam",
    "ModelMessage",
    "ModelProvider",
    "ModelRequest",
    "OfferedTool",
    "ProviderError",
    "ProviderSettings",
    "Team",
    "TeamRunError",
    "TextPart",
    "TokenUsage",
    "ToolCallPart",
    "ToolContext",
    "ToolError",
    "ToolResultPart",
    "tool",
]


def __getattr__(name: str) -> object:
    """Load a name when it is first used."""
    module = _LOADED_LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    return getattr(import_module(module), name)
