"""A run is held, amended and let go on from the command line, while another process serves it."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from tests.support.cli import asks
from tests.support.project import Project, project, until

TEAM = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: first
  on_cancel: tidy
  cancel_timeout: 50s
  teams:
    tidy: {tasks: [{name: slowly, type: wait, duration: 40s}]}
    first:
      tasks: [{name: sign, type: approval, prompt: "Go on?", deadline: 1h}]
      routing: {rules: [{condition: all_success, next_team: second}], default: null}
    second:
      tasks: [{name: say, type: set, values: {said: "{{ context.word }}"}}]
"""


OFFER = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: first
  groups: {leads: [ben, cleo]}
  teams:
    first:
      tasks:
        - {name: sign, type: approval, prompt: "Send?", show: {amount: 100}, deadline: 1h,
           approvers: [ann, leads], quorum: 2, editable: true}
      routing:
        rules:
          - condition: all_success
            next_team: last
            context_updates: {amount: "{{ tasks.sign.data.payload.amount }}"}
        default: null
    last:
      tasks: [{name: say, type: set, values: {done: true}}]
    instead:
      tasks: [{name: say, type: set, values: {instead: true}}]
"""


CALLING = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    lead: {prompts: {user: Ask.}, tools: [find]}
    finder: {description: Finds., prompts: {user: "Find {{ input.query }}."}}
tools: {find: {agent: finder, description: Finds.}}
orchestration:
  entry_team: work
  teams: {work: {tasks: [{name: act, persona_key: lead}]}}
"""
ANSWERS = """
answers:
  - {task: act, turn: 1, tool_calls: [{tool: find, arguments: {query: it}}]}
  - {task: find, answer: Never., seconds: 3000}
  - {task: act, turn: 2, contains: [Rome, "Use the atlas."], answer: Looked up.}
  - {task: act, turn: 2, contains: "and gave its result.]\\nRome", answer: Done.}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with a server and a worker."""
    with project(tmp_path_factory.mktemp("control") / "shop") as made:
        (made.folder / "offer.yml").write_text(OFFER)
        (made.folder / "team.yml").write_text(TEAM)
        (made.folder / "calling.yml").write_text(CALLING)
        (made.folder / "answers.yml").write_text(ANSWERS)
        made.configure(llm_config={"providers": {"scripted": {"answers": "answers.yml"}}})
        (made.folder / "undated.yml").write_text(TEAM.replace(", deadline: 1h", ""))
        assert made.coterie("server").returncode == 0
        made.begin("worker")
        yield made


async def test_two_people_approve_a_changed_offer_and_the_run_is_sent_elsewhere(
    shop: Project,
) -> None:
    assert shop.coterie("start", "offer.yml", "--id", "offer").returncode == 0
    await asks(shop, "offer", "first/sign#1")
    wrong = shop.coterie("approve", "offer", "--by", "ann", "--payload", '{"amount": "much"}')
    assert wrong.returncode == 1
    assert "payload.amount is a text, not a number" in wrong.stderr
    first = shop.coterie("approve", "offer", "--by", "ann", "--payload", '{"amount": 90}')
    assert "the approval of ann counts; more people must approve" in first.stdout
    output = shop.coterie("pending", "offer").stdout
    assert "approved by 1 of 2: ann" in output
    assert "amount: 90" in output
    whole = shop.coterie("show", "offer").stdout
    assert "may decide   ann, ben, cleo; 2 must approve" in whole
    assert "changed      amount: 100 -> 90 (ann)" in whole
    nowhere = shop.coterie("redirect", "offer", "nowhere")
    assert nowhere.returncode == 1
    assert "the plan has no team 'nowhere'" in nowhere.stderr
    sent = shop.coterie("redirect", "offer", "instead", "--by", "ann", "--why", "no time")
    assert "offer: instead comes next" in sent.stdout
    stale = shop.coterie("approve", "offer", "--by", "cleo", "--digest", "0" * 12)
    assert "has changed: its digest is" in stale.stderr
    blind = shop.coterie("approve", "offer", "--by", "cleo")
    assert (blind.returncode, blind.stdout) == (1, "")
    assert "has changed since it opened" in blind.stderr
    assert "amount: 90" in blind.stderr, "it shows what it would decide"
    [request] = json.loads(shop.coterie("pending", "offer", "--json").stdout)
    seen = shop.coterie("approve", "offer", "--by", "cleo", "--digest", request["digest"])
    assert seen.returncode == 0, seen.stderr
    decided = shop.coterie("show", "offer", "first/sign#1").stdout
    assert "first/sign#1 approved by ann, cleo" in decided
    result = shop.coterie("result", "offer", "--json").stdout
    assert '"instead": true' in result
    assert '"by": "ann, cleo"' in result


def test_a_person_tells_an_agent_at_work_something_and_its_next_turn_reads_it(
    shop: Project,
) -> None:
    assert shop.coterie("start", "calling.yml", "--id", "told").returncode == 0
    until(lambda: "find@1.1" in shop.coterie("status", "told", "--json").stdout, "the call")
    elsewhere = shop.coterie("say", "told", "Stop.", "--step", "work/find")
    assert elsewhere.returncode == 1
    assert "no agent 'work/find' is at work; at work: work/act" in elsewhere.stderr
    unknown = shop.coterie("say", "nobody", "Stop.")
    assert "there is no run 'nobody' on this server" in unknown.stderr
    long = shop.coterie("say", "told", "x" * 10_001)
    assert "at most 10,000 are allowed" in long.stderr
    told = shop.coterie("say", "told", "Use the atlas.", "--by", "ann")
    assert told.stdout == "told: work/act reads it at its next turn\n", told.stderr
    assert shop.coterie("skip", "told", "find@1.1", "--value", '"Rome"').returncode == 0
    result = json.loads(shop.coterie("result", "told", "--json").stdout)
    assert result["output"] == {"act": {"text": "Looked up."}}
    ended = shop.coterie("say", "told", "Thanks.")
    assert "has already ended" in ended.stderr
    why = shop.coterie("why", "told").stdout
    assert "ann tells work/act: Use the atlas." in why
    assert "turn 2 reads what ann said: Use the atlas." in why
    assert "turn 2 reads what ann said" in shop.coterie("why", "told", "work/act").stdout
    assert "people say" in shop.coterie("show", "told", "work/act").stdout


def test_a_call_of_an_agent_is_skipped_with_the_result_that_the_model_gets(shop: Project) -> None:
    call = "work/act/find@1.1"
    assert shop.coterie("start", "calling.yml", "--id", "calling").returncode == 0
    until(lambda: call in shop.coterie("status", "calling", "--json").stdout, "the call")
    asked = ("skip", "calling", "find@1.1", "--value", '"Rome"', "--by", "ann", "--why", "slow")
    done = shop.coterie(*asked)
    assert done.returncode == 0, done.stderr
    result = json.loads(shop.coterie("result", "calling", "--json").stdout)
    assert result["output"] == {"act": {"text": "Done."}}
    [decision] = result["decisions"]
    assert (decision["by"], decision["payload"]) == ("ann", "Rome")
    why = shop.coterie("why", "calling").stdout
    assert f"skip of {call} requested by ann: slow" in why
    assert "work#1/act/find@1.1: skipped" in why
    assert "because a person skipped it, and gave its result" in why
    assert "skipped" in shop.coterie("why", "calling", "find@1.1").stdout
    shown = shop.coterie("show", "calling", "find@1.1").stdout
    assert f"{call}: model turn" in shown
    assert "Find it." in shown
    unknown = shop.coterie("show", "calling", "find@3.1")
    assert "`coterie why calling find@3.1` says what became of it" in unknown.stderr


async def test_pause_amend_and_resume(shop: Project) -> None:
    started = shop.coterie("start", "team.yml", "--id", "held", "--set", "word=old")
    assert started.returncode == 0, started.stderr
    await asks(shop, "held", "first/sign#1")
    assert shop.coterie("pause", "held", "--by", "ann", "--why", "lunch").returncode == 0
    assert shop.coterie("approve", "held", "--by", "ben").returncode == 0
    until(lambda: "paused" in shop.coterie("status", "held", "--json").stdout, "the pause")
    wrong = shop.coterie("amend", "held", "--set", "word.deeper=1")
    assert wrong.returncode == 1
    assert "cannot be set" in wrong.stderr
    done = shop.coterie("amend", "held", "--set", "word=new", "--by", "ann")
    assert done.returncode == 0, done.stderr
    assert shop.coterie("resume", "held", "--by", "ann").returncode == 0
    result = shop.coterie("result", "held", "--json")
    assert '"said": "new"' in result.stdout
    for late in (("amend", "--set", "word=late"), ("redirect", "second"), ("pause",)):
        output = shop.coterie(late[0], "held", *late[1:])
        assert (output.returncode, output.stdout) == (1, "")
        assert "run 'held' has already ended; see `coterie result held`" in output.stderr

    started = shop.coterie("start", "team.yml", "--id", "left", "--set", "word=old")
    assert started.returncode == 0, started.stderr
    await asks(shop, "left", "first/sign#1")
    shop.temporal("workflow", "cancel", "-w", "left")
    until(lambda: "stopping" in shop.coterie("status", "left", "--json").stdout, "the end")
    output = shop.coterie("pause", "left")
    assert (output.returncode, output.stdout) == (1, "")
    assert "run 'left' is being cancelled; its cleanup cannot be paused" in output.stderr


async def test_a_run_that_begins_with_a_request_is_decided_at_once_after_its_worker_came_back(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is in its history by which a worker would find it where it was."""
    monkeypatch.setitem(shop.environment, "COTERIE_TASK_QUEUE", "returning")
    worker = shop.begin("worker")
    begun = shop.coterie("start", "undated.yml", "--id", "awaited", "--set", "word=hi")
    assert begun.returncode == 0, begun.stderr
    await asks(shop, "awaited", "first/sign#1")
    worker.terminate()
    worker.wait()
    ready = "serving the task queue 'returning'"
    before = shop.log("worker").count(ready)
    shop.begin("worker")
    await asyncio.to_thread(until, lambda: shop.log("worker").count(ready) > before, "the worker")
    approved = shop.coterie("approve", "awaited", "first/sign#1", "--by", "ann")
    assert approved.returncode == 0, approved.stderr
    assert "said: hi" in shop.coterie("result", "awaited").stdout
