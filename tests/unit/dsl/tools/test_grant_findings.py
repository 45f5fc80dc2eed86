"""Grants without effect are found before a run, with the place where one is missing."""

from textwrap import indent

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from tests.unit.dsl.analysis.documents import CAPABILITIES

HEAD = """\
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    lead: { prompts: { user: Lead. }, tools: [read, web, LEAD] }
    middle: { description: Works., prompts: { user: Work. }, tools: [helper] }
    writer: { description: Writes., prompts: { user: Write. }, tools: [log] }
tools:
  read: { skill: Files.read, labels: [private] }
  web: { skill: Files.read, labels: [untrusted] }
  log: { skill: Files.read, labels: [egress], grants: [private] }
"""
TEAMS = """\
orchestration:
  entry_team: a
  teams:
    a: { tasks: [{ name: work, persona_key: lead }] }
"""


def document(tools: str, lead: str, teams: str = TEAMS) -> Compiled:
    text = HEAD.replace("LEAD", lead) + indent(tools, "  ") + teams
    return compile_sources([SourceText("t.yml", text)], CAPABILITIES, name="test")


def found(tools: str, lead: str, teams: str = TEAMS) -> list[Problem]:
    return [
        one
        for one in analysed(document(tools, lead, teams)).findings
        if one.code in ("W521", "W526")
    ]


HELPER = "helper: { agent: writer }\n"
GRANTING = "helper: { agent: writer, grants: [private] }\n"


def test_a_grant_that_never_counts_is_reported_with_the_tool_that_lacks_it() -> None:
    leak, never = found(HELPER, "helper")
    assert (leak.code, leak.path) == ("W521", "llm_config.personas.writer.tools[0]")
    assert leak.fix == (
        "add `requires_approval: before` to 'log', an `approval` step before it, or "
        "`grants: [private]` to 'helper' (t.yml:12:3): the grant of 'log' does not count within it"
    )
    assert (never.code, never.path) == ("W526", "tools.log.grants")
    assert (never.file, never.line, never.column) == ("t.yml", 11, 47)
    assert never.message == (
        "`grants` of 'log' never counts: each call of it is within a tool that does not grant "
        "`private`, such as 'helper'"
    )
    assert never.fix == (
        "add `grants: [private]` to 'helper' (t.yml:12:3), or remove `grants` from 'log'"
    )


def test_the_fix_silences_both_warnings() -> None:
    assert found(GRANTING, "helper") == []


def test_each_tool_on_the_way_that_lacks_the_grant_is_named() -> None:
    never = found(f"{HELPER}outer: {{ agent: middle }}\n", "outer")[-1]
    assert never.fix == (
        "add `grants: [private]` to 'outer' (t.yml:13:3) and `grants: [private]` to 'helper' "
        "(t.yml:12:3), or remove `grants` from 'log'"
    )


def test_of_several_labels_the_one_that_the_fewest_tools_lack_is_named() -> None:
    head = HEAD.replace("grants: [private]", "grants: [private, untrusted]").replace(
        "LEAD", "outer"
    )
    tools = f"{HELPER}outer: {{ agent: middle, grants: [untrusted] }}\n"
    text = head + indent(tools, "  ") + TEAMS
    done = compile_sources([SourceText("t.yml", text)], CAPABILITIES, name="test")
    never = analysed(done).findings[-1]
    assert (never.code, never.fix) == (
        "W526",
        "add `grants: [untrusted]` to 'helper' (t.yml:12:3), or remove `grants` from 'log'",
    )


def test_a_subagent_that_lacks_the_grant_is_shown_where_it_is_named() -> None:
    head = HEAD.replace("tools: [read, web, LEAD]", "tools: [read, web], subagents: [writer]")
    text = head.replace("tools: [helper]", "tools: [read]") + TEAMS
    done = compile_sources([SourceText("t.yml", text)], CAPABILITIES, name="test")
    never = analysed(done).findings[-1]
    assert (never.code, never.fix) == (
        "W526",
        "add the tool `writer: { agent: writer, grants: [private] }` for the subagent "
        "(t.yml:5:71), or remove `grants` from 'log'",
    )


@pytest.mark.parametrize(
    ("tools", "lead"),
    [
        (HELPER, "helper, log"),
        (f"{HELPER}trusted: {{ agent: writer, grants: [private] }}\n", "helper, trusted"),
    ],
)
def test_a_grant_that_counts_on_one_way_is_not_reported_as_such(tools: str, lead: str) -> None:
    assert [one.code for one in found(tools, lead)] == ["W521"]


def test_a_grant_counts_in_a_team_to_which_a_route_leads() -> None:
    teams = TEAMS + "    b: { tasks: [{ name: note, tool: log }] }\n"
    routed = teams.replace("lead }] }", "lead }], routing: { default: b } }")
    assert [one.code for one in found(HELPER, "helper", routed)] == ["W521"]


def test_a_grant_counts_in_no_team_that_is_only_a_tool_without_it() -> None:
    teams = (
        TEAMS + "    b: { tasks: [{ name: go, team: c }] }\n"
        "    c: { tasks: [{ name: note, tool: log }] }\n"
    )
    courier = "courier: { team: b, description: Sends. }\n"
    never, leak = found(courier, "courier", teams)
    assert (never.code, leak.code) == ("W526", "W521")
    assert "'courier' (t.yml:12:3)" in never.fix
    trusted = courier.replace("Sends. }", "Sends., grants: [private] }")
    assert found(trusted, "courier", teams) == []


@pytest.mark.parametrize(
    ("grants", "unused"),
    [("[private]", None), ("[private, untrusted]", "untrusted"), ("[untrusted]", "untrusted")],
)
def test_a_grant_that_nothing_within_has_is_reported(grants: str, unused: str | None) -> None:
    problems = found(f"helper: {{ agent: writer, grants: {grants} }}\n", "helper, log")
    shown = [(one.path, one.message) for one in problems if one.code == "W526"]
    if unused is None:
        assert shown == []
    else:
        assert shown == [
            (
                "tools.helper.grants",
                f"`grants: [{unused}]` of 'helper' has no effect: no call within it has such a "
                "grant",
            )
        ]


def test_a_grant_of_an_agent_that_sends_needs_no_use_within_it() -> None:
    helper = "helper: { agent: writer, labels: [egress], grants: [private, untrusted] }\n"
    assert found(helper, "helper") == []


@pytest.mark.parametrize(("helper", "asks"), [(HELPER, True), (GRANTING, False)])
def test_the_worst_case_counts_a_question_only_where_a_run_may_ask(helper: str, asks: bool) -> None:
    done = document(helper, "helper, log")
    figures = worst_case(done, analysed(done), Terms({}, 0)).total
    assert (figures.approvals > 0) is asks


def test_a_grant_of_a_tool_that_neither_sends_nor_calls_others_stays_refused() -> None:
    with pytest.raises(InvalidDocument) as refused:
        document(f"{GRANTING}look: {{ skill: Files.read, grants: [private] }}\n", "helper, look")
    assert [(one.code, one.path) for one in refused.value.problems] == [
        ("E107", "tools.look.grants")
    ]
