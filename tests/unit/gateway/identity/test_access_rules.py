"""Who may do what: tables of `access`, and of what providers claim of people and programs."""

from typing import get_args

import pytest

from coterie.dsl.model.sections.access_document import (
    AccessSection,
    GrantSection,
    OidcSection,
    RoleName,
)
from coterie.dsl.values import Json
from coterie.gateway.identity.access_rules import (
    approver_of,
    grants_of,
    groups_in,
    is_program,
    named_groups,
)
from coterie.gateway.identity.identity import Role

OIDC = OidcSection(issuer="https://login.example.com", client_id="coterie")
ACCESS = AccessSection(
    grants=(
        GrantSection(roles=("viewer",), groups=("*",)),
        GrantSection(roles=("approver", "operator"), groups=("leads",), teams=("pay_*", "ship")),
        GrantSection(roles=("starter",), subjects=("ann@example.com", "bot")),
    )
)


def test_roles_of_documents_are_those_of_identities() -> None:
    assert get_args(RoleName) == tuple(Role)


@pytest.mark.parametrize(
    ("groups", "subjects", "person", "granted"),
    [
        ((), ("ben",), True, {"viewer *"}),
        ((), ("ben",), False, set[str]()),
        (("*",), ("ben",), False, set[str]()),
        (("Leads",), ("ben",), False, set[str]()),
        (("leads", "x"), ("ben",), True, {"viewer *"} | {
            f"{role} {team}" for role in ("approver", "operator") for team in ("pay_*", "ship")
        }),
        ((), ("7", "ann@example.com"), True, {"viewer *", "starter *"}),
        ((), ("bot",), False, {"starter *"}),
    ],
)  # fmt: skip
def test_access_grants_roles_by_group_and_subject(
    groups: tuple[str, ...], subjects: tuple[str, ...], person: bool, granted: set[str]
) -> None:
    found = grants_of(ACCESS, groups, subjects, person=person)
    assert {f"{grant.role} {grant.teams}" for grant in found} == granted


@pytest.mark.parametrize(
    ("claims", "configured", "approver"),
    [
        ({"sub": "7", "email": "a@x.org", "email_verified": True}, None, "a@x.org"),
        ({"sub": "7", "email": "a@x.org", "email_verified": False}, None, "7"),
        ({"sub": "7", "email": "a@x.org", "email_verified": "true"}, None, "7"),
        ({"sub": "7", "email": "a@x.org"}, None, "7"),
        ({"sub": "7", "email": " ", "email_verified": True}, None, "7"),
        ({"sub": "7", "upn": "ann"}, "upn", "ann"),
        ({"sub": "7", "email": "a@x.org", "email_verified": True}, "upn", ""),
        ({"sub": "7", "upn": ["ann"]}, "upn", ""),
    ],
)
def test_the_name_of_an_approver_is_one_that_the_provider_vouches_for(
    claims: Json, configured: str | None, approver: str
) -> None:
    assert approver_of(claims, OIDC.model_copy(update={"approver_claim": configured})) == approver


@pytest.mark.parametrize(
    ("claims", "program"),
    [
        ({"sub": "bot", "client_id": "bot"}, True),
        ({"sub": "bot@clients", "azp": "bot"}, True),
        ({"sub": "f81d", "appid": "bot", "idtyp": "app"}, True),
        ({"sub": "ann", "client_id": "bot"}, False),
        ({"client_id": "bot"}, False),
        ({"sub": "", "client_id": ""}, False),
    ],
)
def test_an_access_token_of_a_person_is_not_a_program(claims: Json, program: bool) -> None:
    assert is_program(claims) is program


def test_groups_are_texts_and_only_named_ones_are_read_or_make() -> None:
    assert groups_in({"groups": ["leads", 7, "staff"]}, "groups") == ("leads", "staff")
    assert groups_in({"groups": "leads"}, "groups") == ("leads",)
    assert groups_in({"_claim_names": {"groups": "src1"}}, "groups") == ()
    assert named_groups(ACCESS, ("staff", "leads", "*")) == ("leads",)
