"""What a client of the MCP door may do, and the names under which it acts."""

import pytest

from coterie.gateway.doors.mcp_authoring_tools import AuthoringBench, AuthoringTools
from coterie.gateway.doors.mcp_door import caller_of
from coterie.gateway.doors.mcp_run_tools import RUN_TOOLS, RunTools
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.run_access import RunAccess
from coterie.mcp_server.tool_sets import CallerRole
from tests.support.gateway import person

STARTS: tuple[Role, ...] = (Role.STARTER, Role.VIEWER, Role.OPERATOR)
DESK = Identity(
    subject="desk",
    method="token",
    approver="token desk",
    grants=tuple(Grant(role=role) for role in (*STARTS, Role.APPROVER)),
)


async def no_access() -> RunAccess:
    raise AssertionError


def test_a_caller_has_one_name_at_every_door_and_its_method_beside_it() -> None:
    caller = caller_of(DESK, ["pay"])
    assert (caller.name, caller.approver) == ("desk (token)", "token desk")
    client = DESK.model_copy(update={"method": "client", "approver": "program desk"})
    assert caller_of(client, ["pay"]).name == "desk (client)"


def test_only_an_approver_of_all_teams_has_a_name_to_decide_with() -> None:
    assert caller_of(person("ann", *STARTS), ["pay"]).approver == ""
    grants = (*person("ann", *STARTS).grants, Grant(role=Role.APPROVER, teams="hire"))
    some = person("ann").model_copy(update={"grants": grants})
    assert caller_of(some, ["hire"]).approver == "ann"
    assert caller_of(some, ["hire", "pay"]).approver == ""
    assert caller_of(DESK.model_copy(update={"approver": "x" * 201}), ["pay"]).approver == ""


@pytest.mark.parametrize(
    ("roles", "team", "reason"),
    [
        (["viewer"], "hire", None),
        (["operator", "viewer"], "hire", None),
        (["starter"], "hire", "needs the role starter for the team 'hire'"),
        (["viewer"], "pay", ""),
    ],
)
def test_a_role_counts_for_its_teams_and_others_stay_hidden(
    roles: list[CallerRole], team: str, reason: str | None
) -> None:
    lacks = caller_of(person("ann", Role.VIEWER, teams="hire"), ["hire"]).permits(roles, team)
    assert (reason or "") in (lacks or "")
    assert (lacks is None, lacks == "") == (reason is None, reason == "")


@pytest.mark.parametrize("role", list(Role))
def test_each_tool_that_explains_runs_is_offered_to_the_roles_of_its_operation(role: Role) -> None:
    offered = {tool.name for tool in RunTools(no_access, person("ann", role)).listing()}
    allowed = {tool for tool, name in RUN_TOOLS.items() if role in operation_named(name).roles}
    assert offered == allowed
    assert all(operation_named(name).method == "GET" for name in RUN_TOOLS.values())


def test_tests_are_offered_to_who_may_run_them() -> None:
    bench = AuthoringBench.__new__(AuthoringBench)  # the listing needs no project
    everything = {tool.name for tool in AuthoringTools(bench).listing()}
    fewer = {tool.name for tool in AuthoringTools(bench, runs_tests=False).listing()}
    assert everything - fewer == {"test"}
