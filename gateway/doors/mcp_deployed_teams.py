"""Deployed versions as tools of MCP clients: what is deployed now, instead of what a file says."""

import asyncio
import logging

from temporalio.service import RPCError

from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.gateway.operations.run_access import RunAccess
from coterie.mcp_server.served_teams import ServedTeam, deployed_team, served_teams

_log = logging.getLogger("coterie")


class DeployedTools:
    """Keeps the tools of teams as they are deployed. It looks at the registry once a second."""

    def __init__(self, access: RunAccess, tools: dict[str, ServedTeam]) -> None:
        """Take the runs, and the tools of the project's files by their names."""
        self._access = access
        self._tools = tools
        self._versions: dict[str, str] = {}
        """`{team: the version that its tool starts}`."""
        self._taking = asyncio.Lock()

    async def take(self) -> None:
        """Change the tools of the teams whose deployed version has changed."""
        async with self._taking:
            own = {team.name: team for team in await self._access.teams.own()}
            versions = {name: team.version for name, team in own.items() if team.version}
            for name in {*versions, *self._versions}:
                if versions.get(name) == self._versions.get(name):
                    continue
                try:
                    await self._change(name, in_files=name in own)
                except (InvalidDocument, CommandError, RPCError) as error:
                    _log.error("MCP clients have no tool for the team %r: %s", name, error)
                self._versions.pop(name, None)
                if name in versions:
                    self._versions[name] = versions[name]

    async def _change(self, name: str, *, in_files: bool) -> None:
        for tool in [tool for tool, team in self._tools.items() if team.name == name]:
            del self._tools[tool]
        version = await self._access.teams.deployed(name)
        settings = self._access.settings
        if version is not None:
            made = await asyncio.to_thread(deployed_team, settings, version)
            if made.tool in self._tools:
                raise CommandError(f"another team has the tool {made.tool!r}; rename one")
            self._tools[made.tool] = made
        elif in_files:
            found = await asyncio.to_thread(served_teams, settings, [name], None, None)
            self._tools.update(found)
