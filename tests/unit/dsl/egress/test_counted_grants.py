"""Which grants of a tool count within calls of agents and teams."""

from hypothesis import given
from hypothesis import strategies as st

from coterie.dsl.egress.counted_grants import WithheldGrant, allowed_grants, counted_grants
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from tests.support.tool_agents import function_tool, persona, tool_plan

GRANTS: st.SearchStrategy[tuple[KeptLabel, ...]] = st.sampled_from(
    [(), ("private",), ("untrusted",), ("private", "untrusted")]
)
AROUND = st.lists(GRANTS, max_size=4)


def plan(around: list[tuple[KeptLabel, ...]], *, narrow: bool = True) -> Plan:
    tools: dict[str, Json] = {
        f"t{number}": {"agent": "actor", "grants": [*grants]}
        for number, grants in enumerate(around)
    }
    tools["send"] = function_tool("Mail.send", labels=["egress"])
    return tool_plan(tools, {"actor": persona("send")}, narrow_grants=narrow)


@given(GRANTS, AROUND)
def test_a_grant_counts_if_every_tool_around_the_call_grants_it_too(
    grants: tuple[KeptLabel, ...], around: list[tuple[KeptLabel, ...]]
) -> None:
    names = [f"t{number}" for number in range(len(around))]
    found = counted_grants(grants, names, plan(around))
    assert found.counted == tuple(one for one in grants if all(one in tool for tool in around))
    assert found.within == (tuple(names) if found.counted else ())
    assert {one.label for one in found.withheld} == {*grants} - {*found.counted}
    for one in found.withheld:
        assert one.by == tuple(
            name for name, tool in zip(names, around, strict=True) if one.label not in tool
        )


@given(GRANTS, AROUND, GRANTS)
def test_another_tool_around_a_call_never_widens_what_counts(
    grants: tuple[KeptLabel, ...],
    around: list[tuple[KeptLabel, ...]],
    outer: tuple[KeptLabel, ...],
) -> None:
    of = plan([*around, outer])
    names = [f"t{number}" for number in range(len(around))]
    wider = counted_grants(grants, [f"t{len(around)}", *names], of)
    assert {*wider.counted} <= {*counted_grants(grants, names, of).counted}


@given(GRANTS, AROUND)
def test_calls_with_the_same_allowed_grants_count_the_same(
    grants: tuple[KeptLabel, ...], around: list[tuple[KeptLabel, ...]]
) -> None:
    of, names = plan(around), [f"t{number}" for number in range(len(around))]
    allowed = allowed_grants(names, of)
    assert {*counted_grants(grants, names, of).counted} == {*grants} & allowed


@given(GRANTS, AROUND)
def test_in_a_plan_of_an_earlier_version_every_grant_counts(
    grants: tuple[KeptLabel, ...], around: list[tuple[KeptLabel, ...]]
) -> None:
    names = [f"t{number}" for number in range(len(around))]
    found = counted_grants(grants, names, plan(around, narrow=False))
    assert (found.counted, found.within, found.withheld) == (grants, (), ())


def test_a_tool_that_an_amended_plan_no_longer_has_grants_nothing() -> None:
    found = counted_grants(("private",), ["gone"], plan([]))
    assert found.withheld == (WithheldGrant("private", ("gone",)),)
