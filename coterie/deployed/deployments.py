"""Deploy versions of teams: what would change, and the change itself."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import NamedTuple

from coterie.deployed.proposals import Proposal
from coterie.deployed.registry import Registry, version_named
from coterie.deployed.registry_changes import change_registry
from coterie.deployed.team_content import TeamContent, packed
from coterie.dsl.redaction import redacted
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.server.message_senders import current_sender
from coterie.text.problems import counted
from coterie.workflows.core.registry_messages import (
    DeployInput,
    RegistryState,
    SwitchInput,
    TeamRecord,
)


class VersionChange(NamedTuple):
    """What a deployment does to the versions of one team."""

    proposal: Proposal
    before: int
    """The current version; 0: none."""
    old: TeamContent | None
    """Its content; None if there is none."""

    @property
    def team(self) -> str:
        """The team."""
        return self.proposal.team

    @property
    def is_new(self) -> bool:
        """Whether it makes a version."""
        return self.old is None or self.old.digest != self.proposal.content.digest

    def lines(self) -> Iterator[str]:
        """Yield the difference between the texts, as a unified diff; of a new team, its files."""
        if self.old is None:
            for file in self.proposal.content.files:
                yield f"+ {file.file}, {counted(len(file.text.splitlines()), 'line')}"
            return
        before = _texts(self.old)
        after = _texts(self.proposal.content)
        for file in sorted({*before, *after}):
            old, new = before.get(file, ""), after.get(file, "")
            compared = unified_diff(
                old.splitlines(),
                new.splitlines(),
                file if file in before else "/dev/null",
                file if file in after else "/dev/null",
                lineterm="",
            )
            yield from map(redacted, compared)


def _texts(content: TeamContent) -> dict[str, str]:
    return {file.file: file.text for file in content.files}


def version_change(state: RegistryState, proposal: Proposal) -> VersionChange:
    """Compare a document with the registry."""
    record = state.teams.get(proposal.team)
    before = 0 if record is None else record.current
    try:
        version = version_named(state, proposal.team)
    except CommandError:  # damaged: it is deployed again
        version = None
    return VersionChange(proposal, before, None if version is None else version.content)


async def deploy_version(registry: Registry, change: VersionChange, why: str) -> TeamRecord:
    """Make the document the current version of its team.

    Raises:
        ChangeRefused: Another deployment came first.
        CommandError: It is too large, or the server does not take it.
    """
    content = change.proposal.content
    asked = DeployInput(
        team=change.team,
        expected=change.before,
        digest=content.digest,
        content=packed(content),
        by=sender_name(),
        why=why,
    )
    return await change_registry(registry, asked)


async def switch_version(
    registry: Registry, team: str, record: TeamRecord, to: int, why: str
) -> TeamRecord:
    """Make an earlier version of a team the current one, or none (0).

    Raises:
        ChangeRefused: Another change came first.
        CommandError: The server does not take it.
    """
    asked = SwitchInput(team=team, expected=record.current, to=to, by=sender_name(), why=why)
    return await change_registry(registry, asked)


def version_before(record: TeamRecord) -> int | None:
    """Return the latest kept version before the current one; None if there is none."""
    earlier = [one.number for one in record.versions if one.number < record.current]
    return max(earlier, default=None)


def sender_name() -> str:
    """Return who deploys, as the registry shows it."""
    sender = current_sender()
    return shortened_text(sender.name or sender.subject, MAX_BY_LENGTH)
