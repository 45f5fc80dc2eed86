"""Whom the door for MCP clients lets in, and the names under which they act."""

import pytest

from coterie.gateway.doors.mcp_door import ROLES, caller_of
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from tests.support.gateway import person

DESK = Identity(
    subject="desk",
    method="token",
    approver="token desk",
    grants=tuple(Grant(role=role) for role in (*ROLES, Role.APPROVER)),
)


def test_a_caller_has_one_name_at_every_door_and_its_method_beside_it() -> None:
    caller = caller_of(DESK, ["pay"])
    assert (caller.name, caller.approver) == ("desk (token)", "token desk")
    client = DESK.model_copy(update={"method": "client", "approver": "program desk"})
    assert caller_of(client, ["pay"]).name == "desk (client)"


def test_only_an_approver_of_all_teams_has_a_name_to_decide_with() -> None:
    assert caller_of(person("ann", *ROLES), ["pay"]).approver == ""
    grants = (*person("ann", *ROLES).grants, Grant(role=Role.APPROVER, teams="hire"))
    some = person("ann").model_copy(update={"grants": grants})
    assert caller_of(some, ["hire"]).approver == "ann"
    assert caller_of(some, ["hire", "pay"]).approver == ""
    assert caller_of(DESK.model_copy(update={"approver": "x" * 201}), ["pay"]).approver == ""


def test_who_lacks_a_role_for_one_team_is_refused() -> None:
    with pytest.raises(Rejection, match="'pay'"):
        caller_of(person("ann", *ROLES, teams="hire"), ["hire", "pay"])
