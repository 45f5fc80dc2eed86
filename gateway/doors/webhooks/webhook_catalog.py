"""The webhooks of teams: of their deployed versions, else of the project's files."""

from dataclasses import dataclass

from coterie.dsl.model.sections.webhook_trigger import WebhookSection
from coterie.gateway.operations.named_teams import NamedTeam, NamedTeams


@dataclass(frozen=True, slots=True)
class TeamWebhook:
    """A webhook of a team."""

    trigger: str
    section: WebhookSection
    named: NamedTeam

    @property
    def team(self) -> str:
        """The name of the team."""
        return self.named.name

    @property
    def path(self) -> str:
        """`TEAM/TRIGGER`."""
        return f"{self.team}/{self.trigger}"


async def find_webhook(teams: NamedTeams, team: str, trigger: str) -> TeamWebhook | None:
    """Return a webhook; None if there is none.

    Raises:
        InvalidDocument: The document of the team has problems.
        CommandError: It cannot be compiled here, or the server does not answer.
    """
    named = await teams.find(team)
    found = None if named is None else named.compiled.triggers.get(trigger)
    section = None if found is None else found.webhook
    return None if section is None or named is None else TeamWebhook(trigger, section, named)
