"""What the registry of deployed versions takes, keeps and refuses."""

import pytest

from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.workflows.core.registry_messages import (
    MAX_CHANGE_WHY,
    MAX_CONTENTS,
    MAX_PACKED,
    MAX_STATE,
    MAX_TEAMS,
    MAX_VERSIONS,
    DeployInput,
    RegistryChange,
    RegistryState,
    SwitchInput,
    TeamRecord,
    VersionRecord,
)
from coterie.workflows.team_registry import deploy_problem, deployed, switch_problem, switched

AT = "2026-11-29T09:00:00+00:00"


def asked(number: int, *, team: str = "review", expected: int = 0, size: int = 1) -> DeployInput:
    digest = f"{number:064x}"
    return DeployInput(
        team=team, expected=expected, digest=digest, content="x" * size, by=f"person {number}"
    )


def after(*numbers: int) -> RegistryState:
    """The registry after deployments of these contents, one after the other."""
    state = RegistryState()
    for number in numbers:
        record = state.teams.get("review")
        given = asked(number, expected=0 if record is None else record.current)
        assert deploy_problem(state, given) is None
        state = deployed(state, given, AT)
    return state


def test_a_deployment_is_the_next_number_and_the_current_version() -> None:
    record = after(7, 8).teams["review"]
    assert (record.current, record.latest) == (2, 2)
    assert [version.deployed.by for version in record.versions] == ["person 7", "person 8"]


def test_a_deployment_that_expects_another_version_is_refused_and_told_who_came_first() -> None:
    state = after(1, 2)
    problem = deploy_problem(state, asked(3, expected=1))
    assert problem == f"person 2 made review@2 the current version at {AT}, after review@1"
    assert deploy_problem(state, asked(3, expected=0)) is not None
    assert deploy_problem(RegistryState(), asked(3, expected=1)) is not None


def test_a_switch_goes_to_a_kept_version_and_the_next_deployment_gets_a_new_number() -> None:
    state = after(1, 2)
    back = SwitchInput(team="review", expected=2, to=1, by="ann")
    assert switch_problem(state, back) is None
    state = switched(state, back, AT)
    assert state.teams["review"].current == 1
    assert switch_problem(state, back) is not None, "it is not the one that it expects any more"
    state = deployed(state, asked(3, expected=1), AT)
    assert state.teams["review"].current == 3


@pytest.mark.parametrize(
    ("team", "to", "told"),
    [("review", 9, "no version review@9"), ("other", 1, "'other' has never been deployed")],
)
def test_a_switch_to_what_does_not_exist_is_refused(team: str, to: int, told: str) -> None:
    problem = switch_problem(after(1), SwitchInput(team=team, expected=1, to=to, by="ann"))
    assert problem is not None
    assert told in problem


def test_a_removed_team_has_no_current_version_and_keeps_the_others() -> None:
    state = switched(after(1), SwitchInput(team="review", expected=1, to=0, by="ann"), AT)
    assert state.teams["review"].current == 0
    assert state.teams["review"].version(1) is not None
    problem = deploy_problem(state, asked(2, expected=1))
    assert problem == "review@1 is not the current version any more: there is none"
    assert deploy_problem(state, asked(2, expected=0)) is None


def test_the_oldest_version_and_its_content_go_first() -> None:
    state = after(*range(1, MAX_VERSIONS + 3))
    numbers = [version.number for version in state.teams["review"].versions]
    assert numbers == list(range(3, MAX_VERSIONS + 3))
    assert len(state.contents) == MAX_VERSIONS
    assert f"{1:064x}" not in state.contents


def test_equal_contents_are_kept_once() -> None:
    assert len(after(1, 2, 1).contents) == 2


def test_the_registry_is_bounded() -> None:
    state = RegistryState()
    for number in range(MAX_CONTENTS // MAX_PACKED):
        given = asked(number, team=f"t{number}", size=MAX_PACKED)
        assert deploy_problem(state, given) is None
        state = deployed(state, given, AT)
    assert "more than" in str(deploy_problem(state, asked(99, team="one more", size=MAX_PACKED)))
    record = after(1).teams["review"]
    full = RegistryState(teams={f"t{number}": record for number in range(MAX_TEAMS)})
    assert "teams already" in str(deploy_problem(full, asked(1, team="one more")))
    assert deploy_problem(full, asked(1, team="t1", expected=1)) is None


def test_a_full_registry_fits_into_an_event_and_still_goes_back() -> None:
    """Text of two bytes a character, and the longest names and reasons."""
    why, by = "\u0436" * MAX_CHANGE_WHY, "\u0436" * MAX_BY_LENGTH
    change = RegistryChange(at=AT, by=by, why=why)
    versions = tuple(
        VersionRecord(number=number + 1, digest=f"{number:064x}", deployed=change)
        for number in range(MAX_VERSIONS)
    )
    record = TeamRecord(current=MAX_VERSIONS, latest=MAX_VERSIONS, since=change, versions=versions)
    state, problem = RegistryState(teams={f"t{number}": record for number in range(50)}), None
    while problem is None:
        given = asked(1, team=f"more{len(state.teams)}")
        given = given.model_copy(update={"why": why, "by": by})
        problem = deploy_problem(state, given)
        state = state if problem else deployed(state, given, AT)
    assert "give shorter reasons" in problem
    for team, record in state.teams.items():
        if record.current > 1:
            back = SwitchInput(team=team, expected=record.current, to=1, by=by, why=why)
            assert switch_problem(state, back) is None
            state = switched(state, back, AT)
    assert MAX_STATE * 0.9 < len(state.model_dump_json().encode()) < MAX_STATE


def test_a_registry_that_is_too_large_takes_what_lets_it_shrink() -> None:
    state = after(1)
    record = state.teams["review"]
    since = record.since.model_copy(update={"why": "x" * (MAX_STATE + 1)})
    full = RegistryState(teams={"review": record.model_copy(update={"since": since})})
    assert "give shorter reasons" in str(deploy_problem(full, asked(2, team="other")))
    assert deploy_problem(full, asked(2, expected=1)) is None


def test_a_long_reason_is_refused() -> None:
    for why, allowed in (("x" * MAX_CHANGE_WHY, True), ("x" * (MAX_CHANGE_WHY + 1), False)):
        given = asked(1).model_copy(update={"why": why})
        assert (deploy_problem(RegistryState(), given) is None) is allowed
        back = SwitchInput(team="review", expected=1, to=0, by="ann", why=why)
        assert (switch_problem(after(1), back) is None) is allowed
