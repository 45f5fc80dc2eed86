"""Hook points: a run asks its hooks, notes what they decide, and learns what follows.

`dsl.hooks` decides. An expression costs nothing in the history; the tool function of a hook is one
call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pydantic import JsonValue

from coterie.activities.contracts import AgentResponse
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.condition_evaluation import inspect
from coterie.dsl.hooks.hook_reads import hooks_at, reads_check
from coterie.dsl.hooks.hook_rulings import (
    HookRuling,
    applies,
    modified,
    retried_too_often,
    ruling_of,
    undecided,
)
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.hooks import CHECK, RUN_POINTS, Hook, HookPoint
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall, StoppedByHook
from coterie.dsl.values import Json
from coterie.workflows.agents.function_calls import FunctionCall, make_call
from coterie.workflows.approvals.egress_approval import LabelledCall, end_call, refused_egress
from coterie.workflows.core.causes.agent_causes import HookDecided
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_control, note_step

HOOK_FAILED = "HookFailed"
HOOK_REJECTED = "HookRejected"


@dataclass(slots=True)
class HookVerdict:
    """The combined result of the hooks at one point."""

    facts: Json
    """Of the point, with what hooks changed."""
    changed_by: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    """What hooks tell the model."""
    writes: Json = field(default_factory=dict[str, JsonValue])
    """What hooks write to the context."""
    ruling: HookRuling | None = None
    """What ended the consultation: to retry, to fail, to reject."""

    @property
    def retries(self) -> bool:
        """Whether the call is made again."""
        return self.ruling is not None and self.ruling.decision == "retry"

    @property
    def stop(self) -> HookRuling | None:
        """The ruling that fails or rejects."""
        return None if self.ruling is None or self.retries else self.ruling

    @property
    def reason(self) -> str:
        """Why, for people and the model."""
        ruling = self.ruling
        return "" if ruling is None else reason_of(ruling)


def reason_of(ruling: HookRuling) -> str:
    """Return what a hook decided, in words."""
    about = f": {ruling.message}" if ruling.message else ""
    return f"the hook {ruling.hook!r} decided to {ruling.decision}{about}"


def stopped_outcome(ruling: HookRuling) -> Outcome:
    """Return the failure of what a hook stopped."""
    return Outcome.failed(stopped_type(ruling), reason_of(ruling))


def stopped_type(ruling: HookRuling) -> str:
    """Return the type of failure of what a hook stopped."""
    return HOOK_REJECTED if ruling.decision == "reject" else HOOK_FAILED


def stopped_by(ruling: HookRuling) -> StoppedByHook:
    """Return the end of an agent that a hook stopped."""
    return StoppedByHook("stopped_by_hook", stopped_type(ruling), reason_of(ruling))


async def ask_hooks(
    hooks: Sequence[Hook],
    point: HookPoint,
    facts: Json,
    location: Location,
    scope: Scope,
    *,
    tool: str = "",
    retries: dict[str, int] | None = None,
    guards_only: bool = False,
) -> HookVerdict:
    """Ask the hooks of a point in written order, until one ends the consultation.

    Args:
        hooks: of the agent or the run.
        point: where the run is.
        facts: the names that their templates read besides the context.
        location: of the turn, call or run.
        scope: the run.
        tool: the name of the tool, at a call.
        retries: `{hook: retries so far}` at this location; counted here.
        guards_only: whether hooks may only fail or reject: a person has decided the rest.
    """
    verdict = HookVerdict(dict(facts))
    for hook in hooks_at(hooks, point, tool):
        ruling = await _ruling(hook, verdict.facts, location, scope)
        if ruling is None or (guards_only and ruling.decision in ("modify", "continue", "retry")):
            continue
        if ruling.decision == "modify":
            ruling = _modify(hook, ruling, verdict)
        if ruling.decision == "retry":
            ruling = _retry(hook, ruling, {} if retries is None else retries)
        _note(hook, ruling, verdict.facts, tool, location, scope)
        if ruling.decision == "continue":
            return verdict
        if ruling.decision != "modify":
            verdict.ruling = ruling
            return verdict
    return verdict


async def _ruling(hook: Hook, own: Json, location: Location, scope: Scope) -> HookRuling | None:
    """Return what a hook decides; None if its condition does not hold."""
    facts = _facts(own, location, scope)
    late = reads_check(hook)
    if not late:
        ruling = applies(hook, facts)
        if ruling is not True:
            return ruling or None
    if hook.skill is not None:
        outcome = await _call_hook_function(hook, facts, location, scope)
        if not outcome.success:
            message = "" if outcome.error is None else outcome.error.message
            return undecided(hook, f"{hook.skill}: {message}")
        facts = facts._replace(variables={**facts.variables, CHECK: outcome.data})
    if late:
        ruling = applies(hook, facts)
        if ruling is not True:
            return ruling or None
    return ruling_of(hook, facts)


def _facts(own: Json, location: Location, scope: Scope) -> Facts:
    here = location.facts(scope)
    return Facts(
        here.context,
        run=here.run,
        variables=own,
        budget=here.budget,
        work=here.work,
        settings=here.settings,
    )


async def _call_hook_function(
    hook: Hook, facts: Facts, location: Location, scope: Scope
) -> Outcome:
    """Call the tool function of a hook."""
    at = location.at(hook.label)
    try:
        function_input = fill(hook.input, facts.names())
    except TemplateFailed as error:
        return Outcome.failed("TemplateFailed", str(error))
    function = hook.skill or ""
    labelled = LabelledCall.of_function(function, hook.terms)
    if refused := await refused_egress(labelled, function_input, at, scope):
        return refused
    count = partial(scope.state.executed, at.step)
    # no boundary: what the hook looks at is not recorded yet
    call = FunctionCall(function, function_input, hook.terms)
    result = await make_call(call, at, scope, count, boundary=False)
    end_call(labelled, at, scope)
    skips = scope.state.skips
    if location.step in skips:
        raise Skipped(skips.pop(location.step).value)
    return result.outcome


def _modify(hook: Hook, ruling: HookRuling, verdict: HookVerdict) -> HookRuling:
    facts = modified(hook, ruling, verdict.facts)
    if isinstance(facts, HookRuling):
        return facts
    verdict.facts = facts
    verdict.changed_by.append(hook.label)
    if isinstance(ruling.value, str) and hook.on in ("before_turn", "before_model_call"):
        verdict.notes.append(ruling.value)
    if isinstance(ruling.value, dict) and hook.on == "before_run":
        verdict.writes |= ruling.value
    return ruling


def _retry(hook: Hook, ruling: HookRuling, retries: dict[str, int]) -> HookRuling:
    retry_count = retries.get(hook.label, 0)
    if retry_count >= hook.retries:
        return retried_too_often(hook, ruling)
    retries[hook.label] = retry_count + 1
    return ruling


def _note(
    hook: Hook, ruling: HookRuling, own: Json, tool: str, location: Location, scope: Scope
) -> None:
    """Note in the trail which hook decided what, and why."""
    condition = None
    if hook.when is not None and not reads_check(hook):
        condition = inspect(hook.when, _facts(own, location, scope))
    cause = HookDecided(
        "hook_decided", ruling.hook, hook.on, ruling.decision, tool, condition, ruling.message
    )
    if hook.on in RUN_POINTS:
        note_control(scope.state, scope.now(), cause)
    else:
        note_step(scope, location, "hook", cause)


UNASKED: Final = HookVerdict({})
"""Of an agent without hooks, which most are; nobody changes it."""


def hooks_of(plan: Plan, persona: str | None) -> tuple[Hook, ...]:
    """Return the hooks of an agent: the plan's, then the persona's own."""
    own = plan.personas.get(persona or "")
    return plan.hooks if own is None or not own.hooks else (*plan.hooks, *own.hooks)


@dataclass(eq=False, slots=True)
class TurnHooks:
    """The hooks around the turns of one agent, and around the calls of its models."""

    hooks: Sequence[Hook]
    retries: dict[str, int]
    """`{hook: retries so far}` of the agent."""
    _persona: Persona | None
    """Of the agent; None for a legacy agent."""
    _key: str
    _task: str
    _location: Location
    """Of the agent."""
    _scope: Scope

    async def begin(self, turn: int, inputs: Json, model: str) -> HookVerdict:
        """Ask before a turn, and before its first call of a model."""
        if not self.hooks:
            return UNASKED
        begun = await self._ask("before_turn", self._facts(turn))
        if begun.stop is not None:
            return begun
        asking = await self.before_call(turn, inputs, model)
        asking.notes = begun.notes + asking.notes
        return asking

    async def before_call(self, turn: int, inputs: Json, model: str) -> HookVerdict:
        """Ask before a call of a model, by its `provider/model`."""
        if not self.hooks:
            return UNASKED
        facts: Json = {**self._facts(turn), "model": model, "inputs": inputs}
        return await self._ask("before_model_call", facts)

    async def after_call(
        self, turn: int, response: AgentResponse, model: str
    ) -> tuple[HookVerdict, AgentResponse]:
        """Ask after a call of a model that has an answer; return it as hooks changed it."""
        if not response.success or not self.hooks:
            return UNASKED, response
        calls = response.tool_calls
        facts: Json = {
            **self._facts(turn),
            "model": model,
            "answer": None if calls else response.data,
            "calls": [{"tool": call.tool, "arguments": call.arguments} for call in calls],
        }
        verdict = await self._ask("after_model_call", facts)
        answer = verdict.facts["answer"]
        if not verdict.changed_by or calls:
            return verdict, response
        problem = _problem(answer, self._persona and self._persona.output_schema)
        if problem:
            hook = verdict.changed_by[-1]
            verdict.ruling = HookRuling(
                hook, "fail", f"its `value` is not a valid answer: {problem}"
            )
        return verdict, response.model_copy(update={"data": answer})

    async def after_turn(
        self, turn: int, answer: JsonValue, calls: Sequence[OpenCall] = ()
    ) -> HookVerdict:
        """Ask after a turn and its calls."""
        if not self.hooks:
            return UNASKED
        call_records: list[JsonValue] = [
            {
                "tool": call.tool,
                "arguments": call.arguments,
                "failed": call.result is None or call.result.failed,
            }
            for call in calls
        ]
        facts: Json = {
            **self._facts(turn),
            "answer": None if call_records else answer,
            "calls": call_records,
        }
        return await self._ask("after_turn", facts)

    def _facts(self, turn: int) -> Json:
        """Return the facts about whose turn it is."""
        return {"agent": self._key, "task": self._task, "turn": turn}

    async def _ask(self, point: HookPoint, facts: Json) -> HookVerdict:
        location, scope = self._location, self._scope
        return await ask_hooks(self.hooks, point, facts, location, scope, retries=self.retries)


def _problem(answer: JsonValue, schema: Json | None) -> str | None:
    """Return why a value cannot be the agent's answer, if it cannot."""
    if schema is None:
        return None
    try:
        return "; ".join(mismatches(answer, schema, "answer"))
    except UnusableSchema as error:
        return str(error)
