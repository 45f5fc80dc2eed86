"""Forms of the console over a real server: edit, decide and act on many, without script."""

import json

import httpx2

from coterie.gateway.identity.identity import Role
from tests.support.gateway import (
    ALL,
    begun,
    client_of,
    described,
    finished,
    person,
    waiting,
)
from tests.unit.gateway.console.pages import read_html

BILL = {"vendor": "Acme", "lines": [{"what": "rope", "price": 3}]}


def fields_of(answer: httpx2.Response, form: str) -> dict[str, str]:
    """What a browser would send of the first form that an XPath finds."""
    found = read_html(answer.text).xpath(form)
    assert found, answer.text
    sent = found[0].form_values()  # a browser leaves out the line break after `<textarea>`
    return {name: str(value).removeprefix("\n") for name, value in sent}


async def test_a_request_is_edited_by_the_form_of_its_schema(app: object) -> None:
    run = await begun(app, "bill", bill=BILL)
    asked = (await waiting(app, run))["request"]
    here = f"//form[@action='/decide'][.//input[@name='pick' and contains(@value, '{run}')]]"
    async with client_of(app, ALL) as http:
        sent = fields_of(await http.get("/inbox"), here)
        assert sent["field:lines/0/price"] == "3"
        sent["comment"] = "typed for minutes"
        more = await http.post("/decide", data={**sent, "add": "lines"})
        assert more.status_code == 200
        sent = fields_of(more, here) | {"decision": "approve"}
        assert sent["items:lines"] == "2"
        assert sent["comment"] == "typed for minutes"
        wrong = await http.post("/decide", data={**sent, "field:lines/0/price": "-1"})
        assert wrong.status_code == 422
        assert "price is -1, not at least 0." in wrong.text
        assert "what needs a value." in wrong.text
        assert fields_of(wrong, here)["comment"] == "typed for minutes"
        assert (await waiting(app, run))["request"]["digest"] == asked["digest"], "it is decided"
        changed = {**sent, "field:lines/1/what": "hook", "field:urgent": "true"}
        done = await http.post("/decide", data=changed)
        assert done.headers["location"] == "/inbox?done=approve", done.text
        late = await http.post("/decide", data=changed)
        assert (late.status_code, "typed for minutes" in late.text) == (409, True)
    end = await described(app, run, "completed")
    lines = [{"what": "rope", "price": 3}, {"what": "hook"}]
    [decision] = end["result"]["decisions"]
    assert decision["payload"] == {"vendor": "Acme", "lines": lines, "urgent": True}


async def test_a_form_that_nobody_touched_changes_nothing(app: object) -> None:
    run = await begun(app, "bill", bill=BILL)
    await waiting(app, run)
    here = f"//form[@action='/decide'][.//input[@name='pick' and contains(@value, '{run}')]]"
    async with client_of(app, ALL) as http:
        sent = fields_of(await http.get("/inbox"), here)
        done = await http.post("/decide", data={**sent, "decision": "approve"})
        assert done.status_code == 303, done.text
    end = await described(app, run, "completed")
    assert end["result"]["decisions"][0]["changes"] == []


async def test_requests_are_decided_together_after_a_preview(app: object) -> None:
    runs = [await begun(app, "bill", bill=BILL, note=f"n{number}") for number in range(2)]
    picks = [
        json.dumps({"run": run, "request": request["id"], "digest": digest})
        for run, digest in zip(runs, ("", "0" * 64), strict=True)
        for request in [(await waiting(app, run))["request"]]
        for digest in [digest or request["digest"]]
    ]
    asked = {"action": "decide", "decision": "reject", "pick": picks, "why": "not today"}
    async with client_of(app, person("ben", Role.APPROVER, Role.VIEWER)) as http:
        preview = await http.post("/bulk/preview", data=asked)
        assert "Reject 1 request?" in preview.text
        assert "it waits no more, or has changed since you saw it" in preview.text
        assert (await waiting(app, runs[0]))["request"], "a preview decides nothing"
        started = await http.post("/bulk", data=fields_of(preview, "//form[@action='/bulk']"))
        address = started.headers["location"]
        outcomes = await finished(app, address.removeprefix("/bulk/"))
        assert outcomes[runs[0]]["because"] == "rejected"
        page = await http.get(address)
        assert "1 of 1: 1 done" in page.text
        assert "not today" in page.text
    async with client_of(app, ALL) as http:
        await http.post(f"/v1/runs/{runs[1]}/cancel")


async def test_runs_are_cancelled_together_by_choice_or_by_the_filter(app: object) -> None:
    runs = [await begun(app, "bill", bill=BILL, note=f"Needle {n}") for n in range(3)]
    for run in runs:
        await waiting(app, run)
    async with client_of(app, ALL) as http:
        listed = await http.get("/runs", params={"team": "bill", "contains": "needle"})
        assert "runs that match the rest" in listed.text
        chosen = read_html(listed.text).xpath("//input[@name='chosen']/@value")
        rows: dict[str, str] = {json.loads(value)["run"]: str(value) for value in chosen}
        assert set(rows) == set(runs)
        asked = {"action": "cancel", "scope": "chosen", "chosen": rows[runs[0]], "why": "enough"}
        preview = await http.post("/bulk/preview", data=asked)
        started = await http.post("/bulk", data=fields_of(preview, "//form[@action='/bulk']"))
        await finished(app, started.headers["location"].removeprefix("/bulk/"))
        await described(app, runs[0], "cancelled")
        every = {"action": "cancel", "scope": "filter", "team": "bill", "contains": "needle"}
        preview = await http.post("/bulk/preview", data=every)
        assert "Cancel 2 runs?" in preview.text
        items: list[str] = read_html(preview.text).xpath("//input[@name='item']/@value")
        started = await http.post("/bulk", data={"action": "cancel", "item": items})
        outcomes = await finished(app, started.headers["location"].removeprefix("/bulk/"))
        assert set(outcomes) == set(runs[1:])
    async with client_of(app, person("eve", *Role, teams="chore")) as http:
        preview = await http.post("/bulk/preview", data=every)
        assert "Nothing to do" in preview.text
        refused = await http.post("/bulk", data={"action": "cancel", "item": rows[runs[0]]})
        assert refused.status_code in (409, 422)


async def test_a_run_starts_from_a_file_and_a_form_keeps_what_a_file_had(app: object) -> None:
    team = {"team": "bill"}
    context = b"bill: {vendor: Acme, lines: []}\nnote: from a file\n"
    async with client_of(app, ALL) as http:
        files = {"file:": ("start.yml", context)}
        started = await http.post("/start", data={**team, "field:note": ""}, files=files)
        assert started.status_code == 303, started.text
        run = started.headers["location"].removeprefix("/runs/").partition("?")[0]
        state = await http.get(f"/v1/runs/{run}/state", params={"path": "context"})
        assert state.json()["value"]["note"] == "from a file"
        await http.post(f"/v1/runs/{run}/cancel")
        text = {"file:note": ("note.txt", "größer\r\nzwei".encode())}
        kept = await http.post("/start", data={**team, "field:bill": "{"}, files=text)
        assert kept.status_code == 422
        assert fields_of(kept, "//form[@action='/start']")["field:note"] == "größer\nzwei"
        binary = {"file:note": ("x.bin", b"\xff\xfe\x00")}
        refused = await http.post("/start", data={**team, "field:bill": "{}"}, files=binary)
        assert "note got a file that is not UTF-8 text." in refused.text
        wrong = await http.post("/start", data={**team, "field:bill": "3", "field:note": "mine"})
        assert wrong.status_code == 422
        assert fields_of(wrong, "//form[@action='/start']")["field:note"] == "mine"


async def test_a_context_is_amended_by_its_fields_and_a_task_skipped_with_a_value(
    app: object,
) -> None:
    run = await begun(app, "bill", bill=BILL)
    await waiting(app, run)
    here = "//form[@action='/steer' and @method='post']"
    async with client_of(app, ALL) as http:
        asked = {"run": run, "action": "amend"}
        sent = fields_of(await http.get("/steer", params=asked), here)
        assert sent["field:note"] == ""
        nothing = await http.post("/steer", data=sent)
        assert (nothing.status_code, "Nothing is changed." in nothing.text) == (422, True)
        wrong = await http.post(
            "/steer", data={**sent, "field:bill/lines": "{", "why": "my reason"}
        )
        assert "lines is not JSON." in wrong.text
        assert fields_of(wrong, here)["why"] == "my reason"
        done = await http.post("/steer", data={**sent, "field:note": "changed"})
        assert done.headers["location"].endswith("?done=amend"), done.text
        choose = await http.get("/steer", params={"run": run, "action": "skip"})
        assert "sign/pay" in choose.text
        skip = await http.get("/steer", params={"run": run, "action": "skip", "task": "sign/pay"})
        assert "field:comment" in fields_of(skip, here)
        refused = await http.post(
            "/steer", data={**fields_of(skip, here), "field:comment": '"no value for a request"'}
        )
        assert refused.status_code == 422, refused.text
        skipped = await http.post("/steer", data=fields_of(skip, here))
        assert skipped.status_code == 303, skipped.text
        end = await described(app, run, "completed")
        assert end["result"]["context"]["note"] == "changed"
    async with client_of(app, person("vera", Role.VIEWER)) as http:
        assert (await http.get("/steer", params=asked)).status_code == 403


async def test_an_agent_at_work_is_told_something_by_a_form_of_the_page(app: object) -> None:
    run = await begun(app, "clerk")
    request = (await waiting(app, run))["request"]
    here = "//form[@action='/steer'][.//input[@name='action' and @value='say']]"
    async with client_of(app, ALL) as http:
        sent = fields_of(await http.get(f"/runs/{run}"), here)
        assert set(sent) == {"run", "action", "field:text", "field:step"}
        unknown = await http.post(
            "/steer", data={**sent, "field:text": "Hurry up.", "field:step": "shop/pay"}
        )
        assert unknown.status_code == 409, unknown.text
        assert "at work: shop/order" in unknown.text
        for text in ("Use PostgreSQL.", "Hurry up."):
            done = await http.post("/steer", data={**sent, "field:text": text})
            assert done.headers["location"].endswith("?done=say"), done.text
        decision = {"request": request["id"], "digest": request["digest"], "decision": "approve"}
        assert (await http.post(f"/v1/runs/{run}/decisions", json=decision)).status_code == 200
        end = await described(app, run, "completed")
        assert end["result"]["output"] == {"order": {"text": "PostgreSQL, soon."}}
        page = (await http.get(f"/runs/{run}")).text
        assert "turn 2 reads what" in page
    async with client_of(app, person("vera", Role.VIEWER)) as http:
        assert not read_html((await http.get(f"/runs/{run}")).text).xpath(here)


async def test_who_operates_runs_and_may_not_see_them_reads_nothing_by_a_form_or_a_filter(
    app: object,
) -> None:
    run = await begun(app, "bill", bill=BILL, note="a secret of the run")
    await waiting(app, run)
    async with client_of(app, person("otto", Role.OPERATOR)) as http:
        form = await http.get("/steer", params={"run": run, "action": "amend"})
        assert form.status_code == 200
        assert "secret" not in form.text
        assert list(fields_of(form, "//form[@method='post' and @action='/steer']"))[-2] == "field:"
        asked = {"action": "cancel", "team": "bill", "contains": "a secret"}
        preview = await http.get("/v1/bulk", params=asked)
        assert preview.json()["runs"] == []
        asked.pop("contains")
        assert run in (await http.get("/v1/bulk", params=asked)).text
    async with client_of(app, ALL) as http:
        await http.post(f"/v1/runs/{run}/cancel")


async def test_a_failed_run_is_retried_with_a_change_of_its_context(app: object) -> None:
    run = await begun(app, "failing", topic="tides")
    await described(app, run, "failed")
    async with client_of(app, ALL) as http:
        form = await http.get("/steer", params={"run": run, "action": "retry"})
        sent = fields_of(form, "//form[@method='post' and @action='/steer']")
        [name] = [name for name in sent if name.startswith("field:")]
        sent[name] = "moons" if name == "field:topic" else '{"topic": "moons"}'
        retried = await http.post("/steer", data=sent)
        assert retried.headers["location"].endswith("?done=retry"), retried.text
        new = retried.headers["location"].removeprefix("/runs/").partition("?")[0]
        assert new != run
        end = await described(app, new, "failed")
        assert end["result"]["context"]["topic"] == "moons"
