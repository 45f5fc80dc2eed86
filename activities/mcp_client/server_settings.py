"""What a worker needs to reach an MCP server, with the values of its secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coterie.activities.mcp_client.sign_ins import SignInStore
from coterie.dsl.model.sections.mcp_document import McpServerSection


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server of the worker's configuration."""

    name: str
    section: McpServerSection
    folder: Path
    """Where its command runs."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What every command sees."""
    values: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """`{environment variable that the section names: its value}`; without those that are not set.
    """

    sign_ins: SignInStore | None = None
    """What keeps the sign-in of a person."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The environment variables that it needs and the worker does not have."""
        return tuple(name for name in self.section.secrets if name not in self.values)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of its requests."""
        section = self.section
        headers = {header: self.values[name] for header, name in section.headers.items()}
        if section.token_env is not None:
            headers["Authorization"] = f"Bearer {self.values[section.token_env]}"
        return headers
