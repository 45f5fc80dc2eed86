"""One call of a skill, for whoever needs one: a skill step, a tool step, an aggregation."""

from pydantic import JsonValue

from activities.contracts import CallOptions, SkillRequest
from dsl.outcomes import Outcome
from dsl.steps import SkillTerms
from workflows.place import Place
from workflows.scope import Call, CallFailed, Scope

_UNKNOWN = SkillTerms(effect="once", timeout=60.0, retries=0)
"""What a plan without terms gets: the most careful ones."""


async def call_skill(
    skill: str,
    given: JsonValue,
    terms: SkillTerms | None,
    place: Place,
    scope: Scope,
    seconds: float | None = None,
) -> Outcome:
    """Call the skill as its contract says; its key names the call for ever."""
    state = scope.state
    path = f"{place.team}/{place.path}"
    count = state.executed(path)
    terms = terms or _UNKNOWN
    state.calls += 1
    state.skill_calls += 1
    request = SkillRequest(skill=skill, input=given, key=f"{scope.run_id}/{path}#{count}")
    call = Call(
        id=f"{state.calls:04}.{place.team}.{place.name}",
        summary=f"{path}: {skill}",
        options=CallOptions(
            timeout=seconds or terms.timeout, retries=terms.retries, effect=terms.effect
        ),
    )
    try:
        result = await scope.call_skill(request, call)
    except CallFailed as error:
        return Outcome.failed(error.type, error.message)
    return Outcome.succeeded(result.data)
