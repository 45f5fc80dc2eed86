"""`requires_approval` with terms: who allows what is sent, who accepts what came of it."""

import re
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json, JsonValue
from tests.support.engine import engine, path_of, trail
from tests.support.runs import Handle, asked, decide, failure, refusal, refused, scheduled

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input.what }} for {{ context.who }}."}}
    rater:
      prompts: {user: "Rate {{ context.who }}."}
      output_schema:
        type: object
        properties:
          score: {type: integer, minimum: 1, maximum: 5}
          why: {type: string}
        required: [score, why]
        additionalProperties: false
    clerk:
      prompts: {}
      execution_plan:
        - name: store
          skill: AssetManager.process_action
          input: {type: create, file_path: "{{ input.file }}", content: "{{ input.text }}"}
          requires_approval: CLERK
        - {name: done, type: return, value: "{{ tasks.store.data }}"}
orchestration:
  entry_team: only
  groups: {leads: [cleo, dan]}
  teams:
    only:
      tasks:
        - TASK
    late:
      tasks: [{name: say, type: set, values: {why: "{{ routing.reason }}"}}]
      routing:
        rules: [{condition: all_success, next_team: null, context_updates: {why: "{{ why }}"}}]
"""
WRITE = "{name: write, agent_type: generic_single_shot, persona_key: writer, input: {what: WHAT}"
RATE = "{name: rate, agent_type: generic_single_shot, persona_key: rater"
STORE = (
    "{name: file_it, agent_type: generic_orchestrating, persona_key: clerk, "
    "input: {file: a.txt, text: one}}"
)
ANSWERS: list[Json] = [
    {"task": "write", "answer": "Dear all"},
    {"task": "rate", "answer": {"score": 3, "why": "fair"}},
]
CONTEXT: Json = {"who": "ann"}


def document(task: str, terms: str = "false", clerk: str = "false") -> str:
    if not task.endswith("}}"):
        task = f"{task}, requires_approval: {terms}}}"
    text = TEAM.replace("TASK", task).replace("CLERK", clerk)
    return text.replace("WHAT", '"{{ context.topic }}"' if "WHAT" in text else "")


async def approve(handle: Handle, id: str, payload: JsonValue = None, by: str = "ann") -> Any:
    given = {"id": id, "decision": "approve", "by": by, "payload": payload}
    return await handle.execute_update("decide", given)


async def test_the_terms_of_an_approval_hold_before_a_call(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    terms = (
        '{prompt: "Write to {{ context.who }}?", show: {cost: "{{ 2 + 3 }}"}, approvers: [ann, '
        "leads], quorum: 2, deadline: 3d, remind_every: 1d, on_timeout: late}"
    )
    async with engine(env, tmp_path, ANSWERS) as running:
        context: Json = {**CONTEXT, "topic": "a letter"}
        handle: Handle = await running.start(document(WRITE, terms), context)
        request = await asked(handle)
        assert (request["prompt"], request["show"]) == ("Write to ann?", {"cost": 5})
        assert request["approvers"] == ["ann", "cleo", "dan"]
        assert (await approve(handle, request["id"], by="dan"))["verdict"] == "counted"
        assert (await handle.query("status"))["model_calls"] == 0
        await approve(handle, request["id"])
        assert (await handle.result())["output"]["write"] == {"text": "Dear all"}
        silent: Handle = await running.start(document(WRITE, terms), context)
        assert (await silent.result())["context"]["why"] == "redirected"
        entries = await trail(silent)
        assert path_of(entries) == ["only", "late"]
        found = [entry.status for entry in entries if entry.kind == "approval"]
        assert found == ["reminded", "reminded", "reminded", "failure"]


async def test_an_approver_may_change_what_is_sent_and_nothing_in_it_is_a_template(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        context: Json = {**CONTEXT, "topic": "a letter"}
        handle: Handle = await running.start(
            document(WRITE, "{at: before, editable: true}"), context
        )
        request = await asked(handle)
        assert request["show"] == {"what": "a letter"}
        error = await refusal(
            handle,
            {"id": request["id"], "decision": "approve", "by": "ann", "payload": {"what": ["no"]}},
        )
        assert error.message.startswith("payload.what is a list, not a text")
        taken = await approve(handle, request["id"], {"what": "{{ context.who }}"})
        assert taken["changes"] == ['what: "a letter" -> "{{ context.who }}" (ann)']
        result = await handle.result()
        [call] = await scheduled(handle)
        assert call["input"]["inputs"]["input"] == {"what": "{{ context.who }}"}
        assert result["decisions"] == [taken]
        (entry,) = [entry for entry in await trail(handle) if entry.kind == "approval"]
        assert entry.because.endswith('changed what: "a letter" -> "{{ context.who }}" (ann)')


async def test_a_changed_answer_meets_the_schema_that_the_agent_declares(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        handle: Handle = await running.start(document(RATE, "{at: after, editable: true}"), CONTEXT)
        request = await asked(handle)
        assert request["show"] == {"score": 3, "why": "fair"}
        for payload, shown in (
            ({"score": 9, "why": "x"}, "payload.score is 9, not at most 5"),
            ({"score": "9", "why": "x"}, "payload.score is a text, not a whole number"),
            ({"score": 4}, "payload lacks the key 'why'"),
            ({"score": 4, "why": "x", "by": "me"}, "payload has the key 'by'; allowed: score, why"),
        ):
            given = {"id": request["id"], "decision": "approve", "by": "ann", "payload": payload}
            error = await refusal(handle, given)
            assert (error.type, error.message) == ("BadPayload", shown)
        await approve(handle, request["id"], {"score": 5, "why": "good"})
        result = await handle.result()
        assert result["output"]["rate"] == {"score": 5, "why": "good"}
        assert result["decisions"][0]["changes"] == [
            "score: 3 -> 5 (ann)",
            'why: "fair" -> "good" (ann)',
        ]


async def test_a_function_is_allowed_with_its_arguments_changed_within_its_contract(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    terms = "{editable: true, approvers: [ann]}"
    async with engine(env, tmp_path, ANSWERS) as running:
        handle: Handle = await running.start(document(STORE, clerk=terms), CONTEXT)
        request = await asked(handle)
        assert request["prompt"] == "May 'AssetManager.process_action' be called by 'store'?"
        shown = request["show"]
        given: Any = {
            "id": request["id"],
            "decision": "approve",
            "by": "ann",
            "payload": {**shown, "type": "dance"},
        }
        assert 'payload.type is "dance", not one of' in await refused(handle, given)
        await approve(handle, request["id"], {**shown, "content": "two"})
        await handle.result()
        assert (tmp_path / "a.txt").read_text() == "two"


async def test_a_function_s_result_is_accepted_or_the_step_fails(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        handle: Handle = await running.start(document(STORE, clerk="after"), CONTEXT)
        request = await asked(handle)
        assert (tmp_path / "a.txt").exists(), "it is asked after the call"
        await decide(handle, request["id"], "reject")
        assert "ann rejected it" in (await failure(handle)).message


TOOLS = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    clerk:
      prompts: {}
      execution_plan:
        - name: store
          tool: write
          arguments: {file_path: a.txt, content: one}
tools:
  write:
    skill: AssetManager.process_action
    fixed: {type: create}
    requires_approval: {approvers: [ann], deadline: 2d, on_timeout: fail, editable: true}
orchestration:
  entry_team: only
  teams:
    only:
      tasks: [{name: run, agent_type: generic_orchestrating, persona_key: clerk}]
"""


async def test_a_tool_has_terms_and_what_it_fixes_stays(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(TOOLS)
        request = await asked(handle)
        assert request["approvers"] == ["ann"]
        show = request["show"]
        given = {"id": request["id"], "decision": "approve", "by": "ann"}
        error = await refusal(handle, {**given, "payload": {**show, "type": "delete"}})
        assert error.message == 'payload.type is "delete", not "create"'
        changed = {**show, "content": "two"}
        await handle.execute_update("decide", {**given, "payload": changed})
        await handle.result()
        assert (tmp_path / "a.txt").read_text() == "two"
        silent: Handle = await running.start(TOOLS)
        assert (await failure(silent)).message.count("nobody decided in time") == 1


FORM = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - name: form
          type: approval
          prompt: "How much?"
          show: {amount: null}
          editable: true
          schema:
            type: object
            properties: {amount: {type: number, minimum: 0}}
            required: [amount]
          deadline: 2d
          on_timeout: approve
"""


async def test_a_schema_makes_an_approval_a_form_that_nobody_and_no_silence_leaves_empty(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(FORM)
        request = await asked(handle)
        assert request["payload_schema"]["required"] == ["amount"]
        error = await refusal(handle, {"id": request["id"], "decision": "approve", "by": "ann"})
        assert error.message == (
            "the shown value.amount is null, not a number; approve it with a changed `payload`"
        )
        await approve(handle, request["id"], {"amount": 12.5})
        assert (await handle.result())["output"]["form"]["payload"] == {"amount": 12.5}
        silent: Handle = await running.start(FORM)
        assert "nobody decided in time" in (await failure(silent)).message


AGAIN = """
orchestration:
  entry_team: again
  max_recursion_depth: 4
  no_progress:
    ask: {prompt: "Go on with it?", approvers: [ann], deadline: 2d, remind_every: 1d, ON}
  teams:
    again:
      tasks: [{name: rest, type: set, values: {a: 1}}]
      routing: {default: again}
"""


async def test_the_question_of_a_limit_has_terms_too(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(AGAIN.replace("ON", "on_timeout: reject"))
        request = await asked(handle)
        assert (request["id"], request["prompt"]) == ("again/no_progress#1", "Go on with it?")
        assert "'eve' may not decide" in await refused(
            handle, {"id": request["id"], "decision": "approve", "by": "eve"}
        )
        await approve(handle, request["id"])
        error = await failure(handle)
        assert re.match("Non-progressing loop", error.message)
        assert [one.status for one in await trail(handle) if one.kind == "approval"] == [
            "approved",
            "reminded",
            "reminded",
            "rejected",
        ]


@pytest.mark.parametrize("remember", ["true", "false"])
async def test_a_limit_that_remembers_asks_once(
    env: WorkflowEnvironment, tmp_path: Path, remember: str
) -> None:
    text = AGAIN.replace("ON", f"on_timeout: approve, remember: {remember}")
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(text)
        await approve(handle, (await asked(handle))["id"])
        error = await failure(handle)
        assert "Max recursion depth" in error.message
        [detail] = error.details
        how = ["update", "remembered"] if remember == "true" else ["update", "deadline"]
        assert [one["how"] for one in detail["decisions"]] == [*how, how[-1]]


LARGE = "{at: AT, approvers: [ann], deadline: 2d, when: WHEN}"


@pytest.mark.parametrize(
    ("at", "when", "asks"),
    [
        ("after", '"{{ data.text | length > 90 }}"', False),
        ("after", '"{{ data.text | length > 3 }}"', True),
        ("after", '"{{ data.missing > 3 }}"', True),
        ("before", "\"{{ context.who == 'bob' }}\"", False),
        ("before", "{context_field: who, operator: eq, value: ann}", True),
    ],
)
async def test_a_person_is_asked_only_if_the_condition_holds_or_cannot_be_evaluated(
    env: WorkflowEnvironment, tmp_path: Path, at: str, when: str, *, asks: bool
) -> None:
    terms = LARGE.replace("AT", at).replace("WHEN", when)
    async with engine(env, tmp_path, ANSWERS) as running:
        context: Json = {**CONTEXT, "topic": "a letter"}
        handle: Handle = await running.start(document(WRITE, terms), context)
        if asks:
            await approve(handle, (await asked(handle))["id"])
        result = await handle.result()
        assert result["output"]["write"] == {"text": "Dear all"}
        assert len(result.get("decisions", ())) == int(asks)


@pytest.mark.parametrize(("limit", "asks"), [(2, True), (30, False)])
async def test_the_condition_of_a_tool_sees_its_arguments(
    env: WorkflowEnvironment, tmp_path: Path, limit: int, *, asks: bool
) -> None:
    when = f'{{when: "{{{{ arguments.content | length > {limit} }}}}", approvers'
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(TOOLS.replace("{approvers", when))
        if asks:
            given = {"id": (await asked(handle))["id"], "decision": "approve", "by": "ann"}
            await handle.execute_update("decide", given)
        result = await handle.result()
        assert len(result.get("decisions", ())) == int(asks)
        assert (tmp_path / "a.txt").read_text() == "one"
