"""Nobody learns from an answer that something exists that they may not see."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from coterie.documents.catalog import Catalog
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations import bulk_actions, run_search
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import unknown_team
from coterie.runs.call_errors import UnknownRun
from coterie.runs.run_list import RunRow
from coterie.settings import load
from coterie.workflows.core.bulk_messages import BulkOutcome, BulkReport
from tests.support.gateway import person

PAID = BulkOutcome(run="a", team="pay", effect="done")


class NoServer(RunAccess):
    """Reaches nothing."""

    def __init__(self) -> None:
        """Need no project."""

    @property
    def client(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """No client."""


async def progress(identity: Identity) -> bulk_actions.BulkProgress:
    asked = bulk_actions.BulkProgressAsked(bulk="b")
    answer = await operation_named("bulk_progress").handler(NoServer(), asked, identity)
    return cast("bulk_actions.BulkProgress", answer)


@pytest.mark.parametrize("outcomes", [(), (PAID,)], ids=["none yet", "of another team"])
async def test_a_bulk_action_is_unknown_to_who_sees_none_of_its_runs(
    outcomes: tuple[BulkOutcome, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def report(*_: object) -> BulkReport:
        return BulkReport(
            action="retry",
            by="ann (oidc)",
            why="secret",
            total=1,
            teams=("pay",),
            outcomes=outcomes,
        )

    monkeypatch.setattr(bulk_actions, "bulk_progress", report)
    with pytest.raises(Rejection) as error:
        await progress(person("eve", *Role, teams="chore"))
    assert (error.value.status, error.value.code) == (404, "unknown_run")
    report_of_ben = await progress(person("ben", Role.VIEWER, teams="pay"))
    assert (report_of_ben.why, report_of_ben.outcomes) == ("secret", outcomes)


async def test_the_id_of_a_run_is_no_other_answer_than_an_unknown_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def report(*_: object) -> BulkReport:
        raise UnknownRun("there is no bulk action 'b' on this server", "b")

    monkeypatch.setattr(bulk_actions, "bulk_progress", report)
    with pytest.raises(Rejection, match="there is no run 'b' for you") as error:
        await progress(person("eve", *Role))
    assert error.value.status == 404


async def test_a_preview_counts_no_runs_of_a_team_that_who_asks_does_not_see(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def rows(*_: object) -> AsyncIterator[RunRow]:
        for team in ("pay_in", "secret", "secret", "chore"):
            yield RunRow(f"a/{team}", team, "running", datetime.now(UTC), run_id="x")

    monkeypatch.setattr(run_search, "run_rows", rows)
    eve = person("eve", Role.OPERATOR, teams="pay_*")
    chores = Grant(role=Role.VIEWER, teams="chore")
    eve = eve.model_copy(update={"grants": (*eve.grants, chores)})
    asked = bulk_actions.BulkPreviewAsked(action="cancel")
    answer = await operation_named("preview_bulk").handler(NoServer(), asked, eve)
    preview = cast("bulk_actions.BulkPreview", answer)
    assert ([one.team for one in preview.runs], preview.withheld) == (["pay_in"], 1)


def test_an_unknown_team_names_only_the_teams_that_who_asks_sees(tmp_path: Path) -> None:
    teams = tmp_path / "config" / "teams"
    teams.mkdir(parents=True)
    for name in ("payroll", "hire"):
        (teams / f"{name}.yml").write_text("{}")
    names = Catalog(load({}, tmp_path)).names()
    ann = person("ann", Role.STARTER, teams="hir*")
    assert unknown_team(names, "payrol", ann).fix == "The teams are: hire."
    assert "hire" in unknown_team(names, "hir", ann).fix
    assert "payroll" in unknown_team(names, "payrol", person("ann", Role.VIEWER)).fix
    assert unknown_team(names, "payrol", person("ann")).fix == ""
