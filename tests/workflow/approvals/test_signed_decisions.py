"""A worker with `decisions: {signed: required}` takes a decision from whom its root vouches for."""

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.failures import CommandError
from coterie.inspection.verified_decisions import verify_history
from coterie.mcp_server.client_questions import FormReply, McpClient, question_key
from coterie.mcp_server.team_tools import TeamTools
from coterie.signing.signers import Signer, issue
from coterie.storage.histories import whole
from coterie.workflows.core.messages import DecideInput, ForkInput, TeamInput
from tests.support.engine import HEAD, plan_of
from tests.support.runs import asked
from tests.support.team_tests import failures_text, results, written
from tests.workflow.approvals.signed_fleet import HOUR, ROOT, SignedFleet, person, signed
from tests.workflow.approvals.test_red_team import answer
from tests.workflow.test_raw_plans import DOCUMENT, replayed

ID = "only/sign#1"
APPROVE = DecideInput(id=ID, decision="approve", by="mallory", comment="fine")
TWO_TEAMS = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks: [{name: sign, type: approval, prompt: "Pay?"}]
      routing: {default: after}
    after:
      tasks: [{name: sign, type: approval, prompt: "Pay more?"}]
"""


@pytest.fixture
def fleet(env: WorkflowEnvironment, tmp_path: Path) -> SignedFleet:
    return SignedFleet(env, tmp_path)


async def test_an_answer_of_an_mcp_client_without_a_key_is_refused_with_the_way_to_sign(
    fleet: SignedFleet,
) -> None:
    tools = TeamTools(cast("Any", None), {}, 1.0)
    document = DOCUMENT.replace('"Go on?"', '"Go on?", via: mcp')
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(document)))
        await asked(handle)
        run = fleet.run(handle)
        replies = {
            question_key(one): FormReply(action="accept", content={}) for one in await run.pending()
        }
        with pytest.raises(CommandError, match="no signature; sign it: `coterie approve`"):
            await tools.decide(run, replies, McpClient(name="desk", answers=True))
        assert (await run.status()).waiting_for == (ID,)


@pytest.mark.parametrize("start", ["a plan", "a marked plan", "a document"])
async def test_a_run_takes_a_signed_decision_and_no_other(fleet: SignedFleet, start: str) -> None:
    given = {
        "a plan": TeamInput(plan=plan_of(DOCUMENT)),
        "a marked plan": TeamInput(plan=plan_of(DOCUMENT), marked=True),
        "a document": TeamInput(document=HEAD + DOCUMENT),
    }
    async with fleet.worker():
        handle = await fleet.start(given[start])
        await asked(handle)
        assert await answer(handle, "decide", APPROVE) == "SignatureRequired"
        ann = person("ann", now=await fleet.now())
        said = await signed(fleet, handle, ann, APPROVE.model_copy(update={"by": "unknown"}))
        await handle.execute_update("decide", said.model_copy(update={"by": "mallory"}))
        view = await fleet.run(handle).request(ID)
        assert view.decision is not None
        assert (view.decision.by, len(view.decision.proofs)) == ("ann", 1)
        assert (await handle.result())["end"] == "completed"
    await replayed(handle, {})


async def test_a_gateway_signs_for_whom_it_has_verified_and_a_new_key_works_while_a_run_waits(
    fleet: SignedFleet, env: WorkflowEnvironment
) -> None:
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(TWO_TEAMS)))
        await asked(handle)
        await env.sleep(timedelta(days=30))
        now = await fleet.now()
        desk = issue(ROOT, "gateway", "desk", life=HOUR, now=now)
        ben = Signer(desk, subject="ben", method="oidc https://id.example")
        assert await answer(handle, "decide", await signed(fleet, handle, ben, APPROVE)) == (
            "accepted"
        )
        await handle.terminate()
    history = await whole(await handle.fetch_history(), env.client.data_converter)
    (act,) = (await verify_history(history, [ROOT.public])).acts
    assert act.people[0].startswith("ben by oidc https://id.example at ")


async def test_a_fork_keeps_the_proofs_of_its_origin_and_asks_anew_under_its_own_id(
    fleet: SignedFleet, env: WorkflowEnvironment
) -> None:
    async with fleet.worker():
        origin = await fleet.start(TeamInput(plan=plan_of(TWO_TEAMS)))
        await asked(origin)
        ann = person("ann", now=await fleet.now())
        await origin.execute_update("decide", await signed(fleet, origin, ann, APPROVE))
        later = DecideInput(id="after/sign#1", decision="approve")
        assert (await asked(origin))["id"] == later.id
        for_origin = await signed(fleet, origin, ann, later)
        fork = await fleet.start(TeamInput(fork=ForkInput(run=origin.id, at="after#1")))
        await asked(fork)
        assert await answer(fork, "decide", for_origin) == "other_run"
        await fork.execute_update("decide", await signed(fleet, fork, ann, later))
        await origin.terminate()
        assert (await fork.result())["end"] == "completed"
    history = await whole(await fork.fetch_history(), env.client.data_converter)
    found = await verify_history(history, [ROOT.public])
    assert found.is_proved
    assert [act.what for act in found.acts] == [f"approved {ID}", f"approved {later.id}"]
    assert origin.id in found.acts[0].note
    assert origin.first_execution_run_id in found.acts[0].note


async def test_team_tests_sign_under_a_root_that_no_worker_accepts(
    skipping_client: Client, tmp_path: Path
) -> None:
    demand = f"worker: {{decisions: {{signed: required, root: '{ROOT.public}'}}}}\n"
    (tmp_path / "coterie.yml").write_text(demand)
    cases = """
cases:
  - name: signed by days
    decisions:
      - {approval: "only/sign", decision: approve, by: ann, after: 3d}
      - {approval: "after/sign", decision: approve, by: ben}
    expect: {end: completed}
"""
    found = await results(skipping_client, written(tmp_path, HEAD + TWO_TEAMS, cases))
    assert failures_text(found) == ""
    (tmp_path / "coterie.yml").write_text(demand.replace(ROOT.public, TEST_ROOT))
    with pytest.raises(InvalidDocument, match="E103"):
        written(tmp_path, HEAD + TWO_TEAMS, cases)
