"""What an identity may do: grants by group and subject, and the name that decides requests."""

from collections.abc import Collection, Mapping

from coterie.dsl.model.sections.access_document import AccessSection, OidcSection
from coterie.dsl.values import JsonValue
from coterie.gateway.identity.identity import Grant, Identity, Role

EVERYBODY = "*"
"""The group of everybody who signs in at the provider."""

_MAX_NAMED = 5
"""Administrators whom a page names."""

ALL_ROLES = tuple(Grant(role=role) for role in Role)
"""What the local user may do."""


def grants_of(
    access: AccessSection, groups: Collection[str], subjects: Collection[str], *, person: bool
) -> tuple[Grant, ...]:
    """Return what `access` grants, each role and pattern once.

    Args:
        access: The section of `coterie.yml`.
        groups: Of the identity.
        subjects: The names by which grants may call it.
        person: Whether it signed in at the provider: then it belongs to everybody.
    """
    member_of = {*groups, EVERYBODY} if person else set(groups) - {EVERYBODY}
    granted = (
        Grant(role=Role(role), teams=pattern)
        for section in access.grants
        if member_of & set(section.groups) or set(subjects) & set(section.subjects)
        for role in section.roles
        for pattern in section.teams
    )
    return tuple(dict.fromkeys(granted))


def named_groups(access: AccessSection, groups: Collection[str]) -> tuple[str, ...]:
    """Return the groups that a grant names: the others would only make the session larger."""
    named = {group for section in access.grants for group in section.groups} - {EVERYBODY}
    return tuple(sorted(named & set(groups)))


def administrators(access: AccessSection) -> str:
    """Return whom people ask for a role, in words; empty if no grant gives the role `admin`."""
    sections = [section for section in access.grants if Role.ADMIN in section.roles]
    people = dict.fromkeys(subject for section in sections for subject in section.subjects)
    groups = dict.fromkeys(group for section in sections for group in section.groups)
    named = [*people, *(f"the group {group}" for group in groups if group != EVERYBODY)]
    return " or ".join(named[:_MAX_NAMED])


def groups_in(claims: Mapping[str, JsonValue], claim: str) -> tuple[str, ...]:
    """Return the groups that a claim lists; a single text is one group."""
    match claims.get(claim):
        case str(group):
            return (group,)
        case list(groups):
            return tuple(group for group in groups if isinstance(group, str))
        case _:
            return ()


def approver_of(claims: Mapping[str, JsonValue], oidc: OidcSection) -> str:
    """Return the name with which a person decides; empty if the claim is missing.

    `email` is what documents and people write, but it counts only if the provider has verified it:
    otherwise, anybody who registers there with the address of another decides in their name. `sub`
    is always the provider's own.
    """
    if oidc.approver_claim is not None:
        return _text(claims, oidc.approver_claim)
    if claims.get("email_verified") is True and (email := _text(claims, "email")):
        return email
    return _text(claims, "sub")


def display_name(claims: Mapping[str, JsonValue]) -> str:
    """Return what people call a person; empty if the provider does not say."""
    names = (_text(claims, claim) for claim in ("name", "preferred_username", "email"))
    return next((name for name in names if name), "")


def is_program(claims: Mapping[str, JsonValue]) -> bool:
    """Return whether an access token was given to a program, not to an app of a person.

    With both, one person would count twice in a quorum.
    """
    subject = claims.get("sub")
    clients = [_text(claims, claim) for claim in ("client_id", "azp", "appid")]
    names = {name for client in clients if client for name in (client, f"{client}@clients")}
    return subject in names or claims.get("idtyp") == "app"


def scopes_in(claims: Mapping[str, JsonValue]) -> frozenset[str]:
    """Return the scopes of an access token: `scope`, or `scp` as some providers call it."""
    for claim in ("scope", "scp"):
        match claims.get(claim):
            case str(text):
                return frozenset(text.split())
            case list(scopes):
                return frozenset(scope for scope in scopes if isinstance(scope, str))
            case _:
                pass
    return frozenset()


def identity_of_access_token(
    claims: Mapping[str, JsonValue],
    access: AccessSection,
    oidc: OidcSection,
    *,
    for_resource: bool,
) -> Identity:
    """Return whom an access token stands for, whose claims are verified.

    A person has what a sign-in of theirs has, but decides nothing: the claims of an access token
    seldom have the verified email, and one person with two names would count twice in a quorum.

    Args:
        claims: Of the token.
        access: The section of `coterie.yml`.
        oidc: Its provider.
        for_resource: Whether a person's token counts as their sign-in, as at an address to which
            apps of people come.
    """
    subject = _text(claims, "sub")
    clients = (_text(claims, claim) for claim in ("client_id", "azp", "appid"))
    client = next((name for name in clients if name), "")
    program = is_program(claims)
    names = {subject, client if program else approver_of(claims, oidc)} - {""}
    groups = groups_in(claims, oidc.groups_claim)
    grants = grants_of(access, groups, names, person=for_resource and not program)
    if oidc.scope_prefix is not None:
        scopes = scopes_in(claims)
        grants = tuple(grant for grant in grants if f"{oidc.scope_prefix}{grant.role}" in scopes)
    ends = claims["exp"]
    assert isinstance(ends, int | float)
    return Identity(
        subject=subject,
        method="client",
        name=f"program {client or subject}" if program else display_name(claims),
        approver=f"program {subject}" if program else "",
        groups=named_groups(access, groups),
        grants=grants,
        expires=float(ends),
    )


def _text(claims: Mapping[str, JsonValue], claim: str) -> str:
    value = claims.get(claim)
    return value.strip() if isinstance(value, str) else ""
