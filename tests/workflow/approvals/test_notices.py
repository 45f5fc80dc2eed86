"""People are notified once of each moment of a request, beside the run and never in its way."""

from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.activities.notifications import Webhook
from coterie.runs.histories.history_links import links
from tests.support.engine import engine, plan_of, trail
from tests.support.runs import Handle, asked, decide, failure, scheduled
from tests.support.servers.receiver import receiver
from tests.support.servers.temporal_server import suggesting_after

TEAM = """
orchestration:
  entry_team: review
  notify: ops
  groups: {leads: [cleo, dan]}
  teams:
    review:
      tasks:
        - {name: sign, type: approval, prompt: "Ship?", show: {pages: 3}, approvers: [ann], TERMS}
        - {name: last, type: approval, prompt: "Really?", deadline: 1d, notify: []}
"""
TERMS = "deadline: 5d, remind_every: 2d, escalate: [{after: 3d, to: [leads]}]"


def document(terms: str = TERMS) -> str:
    return TEAM.replace("TERMS", terms)


async def test_each_moment_of_a_request_is_reported_once_and_what_names_no_channel_is_not(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    with receiver() as there:
        async with engine(
            env, tmp_path, [], channels={"ops": Webhook(there.url, "secret")}
        ) as running:
            handle: Handle = await running.start(document())
            await failure(handle)
            run = handle.id
            calls = await scheduled(handle)
        found = [
            ("request", 1),
            ("reminder", 1),
            ("escalation", 1),
            ("reminder", 2),
            ("timeout", 1),
        ]
        assert there.moments() == found
        first, *_, last = (one.message for one in there.deliveries)
        assert first == {
            "id": first["id"],
            "what": "request",
            "number": 1,
            "run": run,
            "plan": "test",
            "text": "review/sign#1 waits for a decision",
            "request": "review/sign#1",
            "prompt": "Ship?",
            "show": {"pages": 3},
            "call": "",
            "asked_because": "",
            "digest": first["digest"],
            "approvers": ["ann"],
            "quorum": 1,
            "since": first["since"],
            "deadline": first["deadline"],
            "on_timeout": "reject",
            "labels": [],
        }
        assert last["approvers"] == ["ann", "cleo", "dan"]
        assert last["text"] == "nobody decided review/sign#1 in time: reject"
        assert len({one.message["id"] for one in there.deliveries}) == 5
    assert [call["type"] for call in calls] == ["notify"] * 5, "one activity each"
    assert calls[0]["id"] == "0001.review.sign.request"
    assert calls[0]["summary"] == "ops: request of review/sign#1"
    assert "secret" not in str(calls)


_EDITED = "deadline: 5d, remind_every: 4d, on_timeout: approve, editable: true"


@pytest.mark.parametrize(
    ("terms", "edited", "outcomes"),
    [
        (_EDITED, None, ["approve", "approve", "approve"]),
        (f"{_EDITED}, quorum: 2, escalate: [{{after: 3d, to: [leads]}}]", 4, ["approve", "fail"]),
        (f"{_EDITED}, schema: {{required: [cover]}}", None, ["fail", "fail", "fail"]),
    ],
    ids=["as shown", "edited", "not as the schema wants"],
)
async def test_a_notice_names_what_the_deadline_will_really_do(
    env: WorkflowEnvironment, tmp_path: Path, terms: str, edited: int | None, outcomes: list[str]
) -> None:
    text = document(terms).replace("approvers: [ann]", "approvers: [ann, ben]")
    with receiver() as there:
        async with engine(env, tmp_path, [], channels={"ops": Webhook(there.url)}) as running:
            handle: Handle = await running.start(text)
            request = await asked(handle)
            if edited is not None:
                edit = {"id": request["id"], "by": "ann", "decision": "approve"}
                await handle.execute_update("decide", {**edit, "payload": {"pages": edited}})
                assert (await asked(handle))["on_timeout"] == "fail"
            failed = await failure(handle)
        outcomes_sent = [one.message["on_timeout"] for one in there.deliveries]
        assert list(dict.fromkeys(outcomes_sent)) == list(dict.fromkeys(outcomes))
        last = there.deliveries[-1].message["text"]
    assert last == f"nobody decided review/sign#1 in time: {outcomes[-1]}"
    assert ("last" if outcomes[-1] == "approve" else "sign") in failed.message


async def test_a_channel_that_cannot_be_reached_holds_up_nothing_and_is_reported_in_the_trail(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    with receiver(500, 500, 500, 500, 500) as there:
        async with engine(env, tmp_path, [], channels={"ops": Webhook(there.url)}) as running:
            handle: Handle = await running.start(document("deadline: 4d, notify: [ops, none]"))
            await decide(handle, (await asked(handle))["id"])
            while (request := await asked(handle))["id"] != "review/last#1":
                pass
            await decide(handle, request["id"])
            result = await handle.result()
            failed = sorted(one.because for one in await trail(handle) if one.kind == "notice")
        assert [one["verdict"] for one in result["decisions"]] == ["approved", "approved"]
        assert len({one.message["id"] for one in there.deliveries}) == 1
        assert failed == [
            "channel 'none' did not deliver the request of review/sign#1: this worker has "
            "no channel 'none'; it has: ops",
            "channel 'ops' did not deliver the request of review/sign#1: the webhook of channel "
            "'ops' answered 500",
        ]


async def test_nothing_is_sent_while_a_run_is_paused(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    before = "        - {name: first, type: wait, signal: go}\n        - {name: sign"
    text = document().replace("        - {name: sign", before)
    with receiver() as there:
        async with engine(env, tmp_path, [], channels={"ops": Webhook(there.url)}) as running:
            handle: Handle = await running.start(text)
            await handle.signal("pause", {"by": "ann"})
            await handle.signal("go")
            await env.sleep(timedelta(days=5))
            assert there.deliveries == []
            await handle.signal("resume", {"by": "ann"})
            await asked(handle)
            await handle.signal("pause", {"by": "ann"})
            await env.sleep(timedelta(days=30))
            assert there.moments() == [("request", 1)]
            await handle.signal("resume", {"by": "ann"})
            await failure(handle)
        assert there.moments()[-1] == ("timeout", 1)


async def test_without_a_channel_no_event_is_written(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(f"{TERMS}, notify: []"))
        await failure(handle)
        assert await scheduled(handle) == []


async def test_notification_in_progress_repeats_with_its_id_after_continue_as_new(
    tmp_path: Path,
) -> None:
    with receiver(503) as there:
        there.headers = {"retry-after": "60"}
        channels = {"ops": Webhook(there.url)}
        async with (
            suggesting_after(20) as env,
            engine(env, tmp_path, [], channels=channels) as running,
        ):
            handle: Handle = await running.start(document("deadline: 1d"))
            await asked(handle)
            for _ in range(6):  # a longer history
                await handle.signal("pause", {"by": "ann"})
                await handle.signal("resume", {"by": "ann"})
                await handle.query("status")
            await decide(handle, "review/sign#1")
            while (request := await asked(handle))["id"] != "review/last#1":
                pass
            await decide(handle, request["id"])
            await handle.result()
            runs = [link.run_id async for link in links(env.client, handle.id)]
        assert len(runs) > 1
        assert 2 <= len(there.deliveries) <= len(runs), "once for each link that began with it"
        assert len({one.headers["webhook-id"] for one in there.deliveries}) == 1


@pytest.mark.parametrize("name", ["opps", "nobody"])
def test_a_channel_that_the_worker_has_not_is_refused_where_it_is_known(name: str) -> None:
    worker = "worker:\n  notify: {ops: {url: 'http://localhost:1/'}}\n"
    with pytest.raises(Exception, match=f"unknown channel '{name}'"):
        plan_of(worker + document(f"deadline: 1d, notify: {name}"))
