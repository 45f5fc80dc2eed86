"""Who may do what is decided by grants alone, and nothing is granted by another role."""

from types import SimpleNamespace
from typing import cast

import pytest
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import OPERATIONS, operation_named
from coterie.gateway.operations.permissions import Allowed, Denied, may
from coterie.gateway.operations.request_decisions import may_decide
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_permissions import trail_name
from coterie.gateway.operations.run_steering import MessageAsked
from coterie.runs.run_client import Run
from coterie.workflows.core.requests import Pending
from tests.support.gateway import person


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_takes_its_roles_and_no_other(operation: object, role: Role) -> None:
    roles = getattr(operation, "roles", ())
    decision = may(person("ann", role), roles, "review")
    assert isinstance(decision, Allowed) == (role in roles)


def test_nobody_may_anything_without_a_grant() -> None:
    for operation in OPERATIONS:
        decision = may(person("ann"), operation.roles, "review")
        assert isinstance(decision, Denied)
        assert decision.is_unseen


def test_a_grant_reaches_the_teams_of_its_pattern_only() -> None:
    ann = person("ann", Role.VIEWER, teams="pay-*")
    assert isinstance(may(ann, (Role.VIEWER,), "pay-out"), Allowed)
    refused = may(ann, (Role.VIEWER,), "hire")
    assert isinstance(refused, Denied)
    assert refused.is_unseen
    assert "'hire'" in refused.because
    assert isinstance(may(ann, (Role.VIEWER,), "Pay-out"), Denied)
    assert isinstance(may(ann, (Role.VIEWER,), None), Allowed)


def test_a_refusal_names_the_roles_that_are_needed_and_held() -> None:
    refused = may(person("ann", Role.VIEWER, Role.STARTER), (Role.OPERATOR,), "pay")
    assert refused == Denied(
        "this needs the role operator for the team 'pay'; ann has: starter, viewer"
    )


def test_who_may_not_decide_has_no_name_of_an_approver_in_a_trail() -> None:
    """A run compares the name with the approvers of a step that somebody skips."""
    assert trail_name(person("ann", Role.OPERATOR), "pay") == "ann (oidc)"
    assert trail_name(person("ann", Role.OPERATOR, Role.APPROVER), "pay") == "ann"
    elsewhere = Identity(
        subject="7",
        method="token",
        approver="ann",
        grants=(Grant(role=Role.APPROVER, teams="hire"),),
    )
    assert trail_name(elsewhere, "pay") == "7 (token)"


@pytest.mark.parametrize(
    ("name", "approvers", "approved_by", "expected"),
    [
        ("ann", (), (), True),
        ("ann", ("ann", "ben"), (), True),
        ("cleo", ("ann", "ben"), (), False),
        ("ann", ("ann", "ben"), ("ann",), False),
        ("", (), (), False),
    ],
)
def test_a_request_is_yours_if_your_verified_name_may_decide_it(
    name: str, approvers: tuple[str, ...], approved_by: tuple[str, ...], expected: bool
) -> None:
    request = Pending(
        id="pay/sign#1", prompt="Pay?", since="", approvers=approvers, approved_by=approved_by
    )
    assert may_decide(person(name, Role.APPROVER), request) is expected


class OpenSession(RunAccess):
    """Finds one open run of the team `talk`, and nothing else."""

    def __init__(self) -> None:
        """Need no project."""

    async def existing(self, id: str) -> FoundRun:
        """Return the run."""
        open_run = SimpleNamespace(status=WorkflowExecutionStatus.RUNNING)
        nothing = SimpleNamespace()
        return FoundRun(
            cast("Run", nothing), "talk", cast("WorkflowExecutionDescription", open_run)
        )


async def test_a_message_that_steers_needs_the_role_of_who_steers() -> None:
    asked = MessageAsked(run="r", message="In red.", while_busy="steer")
    with pytest.raises(Rejection, match="this needs the role operator for the team 'talk'"):
        await operation_named("message").handler(OpenSession(), asked, person("ann", Role.STARTER))
