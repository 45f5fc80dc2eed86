"""Who pressed a button or wrote in Slack: a verified identity, if the settings map the person."""

from coterie.dsl.model.sections.access_document import AccessSection
from coterie.gateway.identity.access_rules import grants_of
from coterie.gateway.identity.identity import Identity


def slack_identity(access: AccessSection, workspace: str, user: str) -> Identity | None:
    """Return the identity of a person in Slack; None if the settings name no one.

    Slack's signature proves which of its users it is; only the settings say who that is here.
    """
    subject = f"{workspace}/{user}"
    name = None if access.slack is None else access.slack.users.get(subject)
    if name is None:
        return None
    grants = grants_of(access, (), (name, subject), person=False)
    return Identity(subject=subject, method="slack", name=name, approver=name, grants=grants)
