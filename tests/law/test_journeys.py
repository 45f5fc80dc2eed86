"""The journeys of a newcomer through the code do not grow unseen (decision 0026)."""

import asyncio

import pytest

from bench.journeys import COMPILER, Journey, journeys

CEILINGS = {
    "YAML -> Plan": (192, 84),
    "YAML -> Plan, in the compiler": (30, 10),
    "start -> interpreter": (88, 36),
    "decision -> outcome": (24, 9),
}
"""`{journey: (most stays, most returns)}`: what it measures, and room for one or two changes.

The list of `python -m bench.journeys` shows which function a new stay is for. Move the function to
where its reader is, or raise the ceiling if a reader needs to go there.
"""


@pytest.fixture(scope="module")
def measured() -> dict[str, Journey]:
    found = {one.name: one for one in asyncio.run(journeys())}
    compiling = found["YAML -> Plan"].within(*COMPILER)
    return {**found, "YAML -> Plan, in the compiler": compiling}


def test_every_journey_has_a_ceiling(measured: dict[str, Journey]) -> None:
    assert {*measured} == {*CEILINGS}


@pytest.mark.parametrize("name", CEILINGS)
def test_a_journey_stays_below_its_ceiling(name: str, measured: dict[str, Journey]) -> None:
    most_stays, most_returns = CEILINGS[name]
    assert measured[name].stays <= most_stays
    assert measured[name].returns <= most_returns


@pytest.mark.parametrize("name", CEILINGS)
def test_a_ceiling_is_close_to_what_it_holds(name: str, measured: dict[str, Journey]) -> None:
    most_stays, most_returns = CEILINGS[name]
    assert most_stays - measured[name].stays <= 10
    assert most_returns - measured[name].returns <= 6


def test_the_journey_of_a_decision_reaches_the_step_that_asked(
    measured: dict[str, Journey],
) -> None:
    entered = measured["decision -> outcome"].entered
    assert entered[0] == "workflows/handlers/message_handlers.py"
    for file in ("handlers/message_kinds", "approvals/approval_wait", "steps/approval"):
        assert f"workflows/{file}.py" in entered
