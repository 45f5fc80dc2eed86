"""Pages of the console: what waits, runs, teams, problems. Every text stays text."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import Markup

from coterie.documents.catalog import Catalog
from coterie.dsl.values import Json
from coterie.gateway.console.bulk_page import (
    ChosenRequest,
    ListedChoice,
    preview_of_filter,
    preview_of_requests,
    preview_of_runs,
    progress_page,
)
from coterie.gateway.console.forms.run_actions import run_actions
from coterie.gateway.console.inbox_page import ProblemPage, inbox_page
from coterie.gateway.console.page_templates import SERVED_POLICY, PageFrame, render
from coterie.gateway.console.runs_page import runs_page
from coterie.gateway.console.team_actions import TeamActions
from coterie.gateway.console.team_page import team_page
from coterie.gateway.console.team_trends import run_stats
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations.bulk_actions import BulkPreview, BulkProgress, PreviewedRun
from coterie.gateway.operations.request_decisions import WaitingRequest, WaitingRequests
from coterie.gateway.operations.run_listing import ListAsked, ListedRun, RunListing
from coterie.gateway.operations.team_catalog import ListedTeam, TeamListing
from coterie.settings import load
from coterie.workflows.core.bulk_messages import BulkOutcome
from coterie.workflows.core.requests import Pending
from tests.unit.gateway.console.hostile_texts import harmless, hostile
from tests.unit.gateway.console.pages import Tree, page_of, read_html, text_in, with_texts

WAITING = Pending(
    id="sign/pay#1",
    prompt="Pay it?",
    show={"amount": 3},
    digest="d" * 64,
    asked_because="context.amount is 3",
    approvers=("ann",),
    quorum=2,
    approved_by=("ben",),
    editable=True,
    since="2026-01-02T03:04:05+00:00",
    deadline="2026-01-03T03:04:05+00:00",
    on_timeout="reject",
)
RUN = ListedRun(
    run="run/1 ü",
    run_id="i1",
    team="pay",
    state="waiting",
    began="2026-01-02T03:04:05+00:00",
    ended="2026-01-02T03:05:05+00:00",
    waiting_for=("sign/pay#1",),
)
ALL = Identity(subject="ann", method="oidc", grants=tuple(Grant(role=role) for role in Role))
CLASSES = {
    *(".mine[].form[].kind", ".mine[].form[].blank", ".mine[].form[].rule"),
    *(".runs[].cost", ".runs[].chosen", ".query"),
    *(".rows[].tone", ".left[].tone", ".tone"),
    ".runs[].tone",
    ".states[].url",
    ".mine[].card.diff[].kind",
    ".code",
    ".retry",
}


def served(title: str = "a page") -> PageFrame:
    return PageFrame("served", title, SERVED_POLICY, Markup(), viewer="Ann", is_whole=False)


def shown(template: str, page: object, actions: object = None) -> Tree:
    return read_html(render(template, served(), page, actions))


ONE = WaitingRequest(
    run="r1", run_id="i1", team="pay", request=WAITING, is_served=True, is_yours=True
)
CHOSEN = [
    ChosenRequest("r1", WAITING.id, ONE),
    ChosenRequest("r2", "sign/pay#1", None),
]
PROGRESS = BulkProgress(
    bulk="bulk-retry-1",
    action="retry",
    by="ann",
    why="again",
    total=4,
    is_finished=False,
    outcomes=(
        BulkOutcome(run="r1", team="pay", effect="done", new_run="r1-2"),
        BulkOutcome(run="r2", team="pay", effect="skipped", because="it has ended since"),
    ),
)


def waiting(*, yours: bool = True) -> WaitingRequests:
    one = ONE.model_copy(update={"run": "r1", "request": WAITING, "is_yours": yours})
    return WaitingRequests(requests=(one, one.model_copy(update={"run": "r2"})))


def test_a_request_can_be_decided_without_script_and_names_what_was_shown() -> None:
    tree = shown("inbox.html", inbox_page(waiting()))
    forms = tree.xpath("//form[@action='/decide']")
    assert len(forms) == 2
    [many] = tree.xpath("//form[@id='many' and @action='/bulk/preview']")
    assert many.xpath(".//input[@name='action']/@value") == ["decide"]
    assert len(tree.xpath("//input[@form='many' and @type='checkbox']")) == 2
    [pick] = forms[0].xpath("./input[@name='pick']/@value")
    assert "d" * 64 in pick
    assert not tree.xpath("//form[@method='get' and .//button[@name='decision']]")
    text = text_in(tree)
    assert "1 of 2 people (ben)" in text
    assert "context.amount is 3" in text


def test_who_may_not_decide_sees_a_request_without_a_form() -> None:
    tree = shown("inbox.html", inbox_page(waiting(yours=False)))
    assert not tree.xpath("//form[@action='/decide']")
    assert "Nothing waits for you" in text_in(tree)


def test_a_filter_of_runs_is_an_address_that_can_be_shared() -> None:
    asked = ListAsked(team="pay", state="waiting")
    page = runs_page(RunListing(runs=(RUN,), more=True), asked)
    chosen = [link for link in page.states if link.is_chosen]
    assert [(link.name, link.url) for link in chosen] == [
        ("waiting", "/runs?team=pay&state=waiting")
    ]
    assert page.more == "/runs?state=waiting&team=pay&limit=200"
    assert page.runs[0].url == "/runs/run%2F1%20%C3%BC"


def test_a_failed_task_is_tried_again_or_skipped_and_never_approved() -> None:
    failed = WAITING.model_copy(
        update={"id": "sign/pay/failed#1", "choices": ("retry", "skip"), "editable": False}
    )
    one = ONE.model_copy(update={"run": "r1", "request": failed, "is_yours": True})
    tree = shown("inbox.html", inbox_page(WaitingRequests(requests=(one,)), ALL))
    assert tree.xpath("//form[@action='/decide']//button/text()") == ["Let it fail"]
    [task] = tree.xpath("//form[@action='/steer']/input[@name='field:task']/@value")
    assert task == "sign/pay"
    skip = tree.xpath("//form[@action='/steer' and @method='get']/input/@value")
    assert skip == ["r1", "skip", "sign/pay"]
    viewer = Identity(subject="v", method="oidc")
    other = shown("inbox.html", inbox_page(WaitingRequests(requests=(one,)), viewer))
    assert not other.xpath("//form[@action='/steer']")


def test_a_budget_that_is_used_up_is_extended_by_a_number() -> None:
    schema: Json = {"properties": {"extend_by": {"type": "number", "minimum": 0}}}
    budget = WAITING.model_copy(
        update={"id": "a/budget/run.tokens#1", "show": {"extend_by": 5}, "payload_schema": schema}
    )
    one = ONE.model_copy(update={"run": "r1", "request": budget, "is_yours": True})
    tree = shown("inbox.html", inbox_page(WaitingRequests(requests=(one,))))
    assert tree.xpath("//details[@open]//input[@name='field:extend_by']/@value") == ["5"]
    assert tree.xpath("//form[@action='/decide']//button/text()") == ["Extend", "Stop the run"]


def test_a_request_that_a_list_shortens_says_so_and_leads_to_the_whole() -> None:
    cut = WAITING.model_copy(update={"cut": True})
    one = ONE.model_copy(update={"run": "r 1", "request": cut, "is_yours": True})
    tree = shown("inbox.html", inbox_page(WaitingRequests(requests=(one,))))
    assert "a part of it is left out here" in text_in(tree)
    assert tree.xpath("//a[@href='/inbox?run=r%201']")
    assert not tree.xpath("//*[starts-with(@name, 'field:')]"), "nobody edits a part of a value"


def test_a_preview_of_many_runs_names_what_is_left_alone_and_why() -> None:
    chosen = [
        ListedChoice("open", "i1", True, "pay", "running"),
        ListedChoice("ended", "i2", False, "pay", "failed"),
    ]
    page = preview_of_runs("cancel", chosen, "enough")
    assert [row.run for row in page.rows] == ["open"]
    assert [(row.run, row.note) for row in page.left] == [("ended", "it has ended")]
    tree = shown("bulk_preview.html", page)
    [item] = tree.xpath("//form[@action='/bulk']//input[@name='item']/@value")
    assert json.loads(item) == {
        "run": "open",
        "run_id": "i1",
        "is_open": True,
        "request": None,
        "digest": None,
    }
    assert tree.xpath("//input[@name='why']/@value") == ["enough"]
    assert [row.run for row in preview_of_runs("retry", chosen, "").rows] == ["open", "ended"]


def test_a_preview_of_a_filter_says_how_far_it_looked() -> None:
    one = PreviewedRun(run="r", run_id="i", is_open=True, team="pay", state="running")
    preview = BulkPreview(action="cancel", runs=(one,), withheld=2, read=200)
    text = text_in(shown("bulk_preview.html", preview_of_filter(preview, "")))
    assert "2 runs of other teams are left alone." in text
    assert "only the latest 200 runs were read for this filter." in text


def test_a_request_that_has_changed_is_not_decided_with_the_others() -> None:
    page = preview_of_requests("approve", CHOSEN, "")
    assert [row.run for row in page.rows] == ["r1"]
    assert json.loads(page.rows[0].item)["digest"] == WAITING.digest
    assert [row.note for row in page.left] == ["it waits no more, or has changed since you saw it"]


def test_a_filter_that_no_list_answers_says_what_it_read() -> None:
    listing = RunListing(runs=(RUN,), more=True, read=200)
    page = runs_page(listing, ListAsked(cost_over=0.5, contains="acme"), ALL)
    text = text_in(shown("runs.html", page))
    assert "the latest 200 runs that match the rest; older ones were not read" in text
    assert page.query == "cost_over=0.5&contains=acme"
    assert dict(page.fields) == {"cost_over": "0.5", "contains": "acme"}


@pytest.mark.parametrize(
    ("template", "page", "words"),
    [
        ("inbox.html", inbox_page(WaitingRequests(requests=())), "Nothing to decide"),
        (
            "inbox.html",
            inbox_page(WaitingRequests(requests=(), silent=("r",))),
            "no worker serves them",
        ),
        ("runs.html", runs_page(RunListing(runs=(), more=False), ListAsked()), "No runs yet"),
        (
            "runs.html",
            runs_page(RunListing(runs=(), more=False), ListAsked(team="x")),
            "No run matches",
        ),
        ("teams.html", TeamListing(teams=()), "No teams here"),
    ],
)
def test_an_empty_page_says_what_to_do(template: str, page: object, words: str) -> None:
    assert words in text_in(shown(template, page))


async def test_steering_is_offered_to_those_who_may() -> None:
    page = await page_of("begun_branches")
    viewer = Identity(subject="v", method="oidc", grants=(Grant(role=Role.VIEWER),))
    assert run_actions(page, "pay", viewer).forms == ()
    actions = run_actions(page, "pay", ALL)
    tree = shown("run.html", page, actions)
    [run] = set(tree.xpath("//form[@action='/steer']/input[@name='run']/@value"))
    assert run == page.run
    offered = tree.xpath("//form[@action='/steer']/input[@name='action']/@value")
    assert {"pause", "amend", "redirect", "skip", "fork", "cancel"} <= set(offered)


async def test_a_served_page_leads_to_the_rest_of_a_long_list() -> None:
    page = await page_of("tool_agent")
    tree = shown("run.html", replace(page, agents=page.agents[:1] * 250))
    assert len(tree.xpath("//details[contains(@class,'talk')]")) == 200
    assert tree.xpath("//a[@href='?all=1']/text()") == ["50 more conversations"]


def test_no_text_of_a_list_or_a_form_becomes_more(tmp_path: Path) -> None:
    paths: set[str] = set()
    change = hostile(paths)
    pages: list[tuple[str, object]] = [
        ("inbox.html", with_texts(inbox_page(waiting()), change)),
        (
            "runs.html",
            with_texts(runs_page(RunListing(runs=(RUN,), more=True), ListAsked()), change),
        ),
        ("teams.html", TeamListing(teams=(ListedTeam(team="{{7*7}}", file="f", is_own=True),))),
        ("bulk_preview.html", with_texts(preview_of_requests("approve", CHOSEN, "why"), change)),
        ("bulk.html", with_texts(progress_page(PROGRESS), change)),
        (
            "problem.html",
            with_texts(
                ProblemPage("t", "m", "f", "c", "/r", "/s", "/a", (("name", "value"),)), change
            ),
        ),
    ]
    text = "".join(harmless(shown(template, page)) for template, page in pages)
    in_forms = "".join(
        str(value)
        for t, page in pages
        for value in shown(t, page).xpath("//@value | //@href | //@action | //@name")
    )
    found = set(re.findall("⟦(.*?)⟧", text + in_forms))
    assert sorted(paths - found - CLASSES) == []


def test_the_page_of_a_shipped_team_shows_what_is_proved_of_it(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    located = Catalog(settings).named("development")
    assert located is not None
    page = team_page(settings, located)
    actions = TeamActions(True, page.form, "", (), run_stats([RUN, RUN], {}), ())
    tree = shown("team.html", page, actions)
    text = text_in(tree)
    assert "at most" in text
    assert page.plan.values
    assert tree.xpath("//form[@action='/start']//textarea | //form[@action='/start']//input")
    silent = replace(actions, runs=None)
    assert "Temporal does not answer" in text_in(shown("team.html", page, silent))
    hostile_page = with_texts(page, hostile(set()))
    harmless(shown("team.html", hostile_page, with_texts(actions, hostile(set()))))
