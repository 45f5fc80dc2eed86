"""A loop: its body over a list, or while or until a condition holds."""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Set
from functools import partial
from itertools import takewhile

from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.branch_writes import joined
from coterie.dsl.evaluate.condition_evaluation import holds
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import LoopStep
from coterie.dsl.model.template_bound import number_of
from coterie.dsl.sizes import check_size, json_size
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json
from coterie.workflows.context_drafts import failed_write, take_draft, write
from coterie.workflows.core.location import Interpreter, Location
from coterie.workflows.core.progress.progress_kinds import ConcurrentLoopProgress, LoopProgress
from coterie.workflows.core.scope import Job, Scope

MAX_RESULTS = 1_000_000
"""Maximum bytes of JSON of a loop's results; the earliest are dropped."""

_ITEMS_A_STEP = 400
"""Items of a list that weigh as much as one step."""

_LOOK_EVERY = 50
"""Results between two weighings; weighing each time would take time in proportion to all
results.
"""


async def execute(
    step: LoopStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the body round by round; `results` holds the data of each round's last step."""
    if step.is_concurrent:
        return await _concurrent(step, location, scope, interpreter)
    progress = _open(step, location, scope)
    if isinstance(progress, Outcome):
        return progress
    inside = _watching_calls(step, location)
    failure: Outcome | None = None
    completed: bool | None = None
    while failure is None and _goes_on(step, progress, location, scope):
        outcome = await interpreter.run_steps(step.body, inside, part=f"round {progress.round}")
        _keep(progress, outcome.data)
        progress.round += 1
        if outcome.status == "failure":
            failure = outcome
        elif _break_holds(step, location, scope):
            completed = False
            break
        elif _until_holds(step, location, scope):
            completed = True
            break
    if completed is None:
        completed = failure is None and _ended_by_itself(step, progress, location, scope)
    _close(location, scope)
    if step.loop_variable is not None:
        location.frame(scope).variables.pop(step.loop_variable, None)
    data: Json = {
        "rounds": progress.round,
        "results": progress.results,
        "completed": completed,
    }
    if progress.dropped:
        data["dropped"] = progress.dropped
    return _end_outcome(data, failure)


def _open(step: LoopStep, location: Location, scope: Scope) -> LoopProgress | Outcome:
    """Return how far the loop is; the failure if it has no list to iterate on."""
    loops, key = scope.state.progress.loops, location.key
    progress = loops.get(key)
    if progress is None:
        items = None
        if step.iterate_on is not None:
            items = _items(step, step.iterate_on, location, scope)
            if isinstance(items, Outcome):
                return items
        progress = loops[key] = LoopProgress(items)
    return progress


def _maximum_rounds(step: LoopStep) -> int | None:
    return None if step.max_iterations is None else number_of(step.max_iterations)


def _end_outcome(data: Json, failure: Outcome | None) -> Outcome:
    return Outcome.succeeded(data) if failure is None else Outcome("failure", data, failure.error)


def _close(location: Location, scope: Scope) -> None:
    """Forget how far the loop is, and which calls its steps have repeated."""
    progress, key = scope.state.progress, location.key
    progress.loops.pop(key, None)
    progress.concurrent_loops.pop(key, None)
    progress.repeated_calls.pop(key, None)


def _items(
    step: LoopStep, iterate_on: JsonValue, location: Location, scope: Scope
) -> list[JsonValue] | Outcome:
    """Return the list that the loop iterates on, or the failure when it is not a list."""
    items = fill(iterate_on, location.facts(scope).names())
    if not isinstance(items, list):
        kind = type(items).__name__
        return Outcome.failed("NotAList", f"iterate_on of {step.name!r} gives a {kind}")
    check_size(items, f"the list that {step.name!r} goes over")
    scope.weigh(len(items) // _ITEMS_A_STEP)
    return items


def _keep(progress: LoopProgress, result: JsonValue) -> None:
    """Keep a round's result; drop the earliest if there are more than a run can carry along."""
    results = progress.results
    results.append(result)
    if len(results) % _LOOK_EVERY and json_size(result) < MAX_RESULTS // _LOOK_EVERY:
        return
    sizes = [json_size(round_result) for round_result in results]
    total, early = sum(sizes), 0
    while total > MAX_RESULTS and early < len(results) - 1:
        total -= sizes[early]
        early += 1
    del results[:early]
    progress.dropped += early


async def _concurrent(
    step: LoopStep, location: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run rounds concurrently, each with its own variables; results keep the list's order."""
    loops, key = scope.state.progress.concurrent_loops, location.key
    progress = loops.get(key)
    if progress is None:
        loop_items = _items(step, step.iterate_on, location, scope)
        if isinstance(loop_items, Outcome):
            return loop_items
        most = _maximum_rounds(step)
        bound = most if most is not None and most < len(loop_items) else None
        progress = loops[key] = ConcurrentLoopProgress(loop_items, bound=bound)
    inside = _watching_calls(step, location)
    items = progress.items[: progress.rounds]
    outcomes = progress.ended
    failed = any(outcome.status == "failure" for outcome in outcomes.values())

    async def run_round(name: str, item: JsonValue) -> None:
        round_location = inside.at(name)
        inner = round_location.branched(name, scope)
        if step.loop_variable is not None:
            inner.frame(scope).variables[step.loop_variable] = item
        nonlocal failed
        outcomes[name] = outcome = await interpreter.run_steps(step.body, inner, part="round")
        failed = failed or outcome.status == "failure"
        draft = take_draft(inner.frame_key, scope)
        if draft and outcome.status != "failure":
            progress.writes[name] = draft
        scope.state.forget(round_location.key)  # only the outcome of a concurrent round stays

    def enough(finished: Set[str]) -> bool:
        return failed or len(outcomes) == len(items)

    rounds = _Rounds(items, outcomes, run_round)
    begun = takewhile(partial(_has_begun, inside=inside, scope=scope), rounds)
    await scope.together(
        rounds, enough=enough, at_once=number_of(step.concurrency), begun=frozenset(begun)
    )
    return _joined_rounds(step, progress, len(items), location, scope)


def _has_begun(name: str, inside: Location, scope: Scope) -> bool:
    """Return whether a round is in progress: it began before the run continued as new."""
    return inside.at(name).key.frame_of(name) in scope.state.frames


def _joined_rounds(
    step: LoopStep, progress: ConcurrentLoopProgress, rounds: int, location: Location, scope: Scope
) -> Outcome:
    """Join what the rounds have written, and return their results in the list's order."""
    outcomes, names = progress.ended, [str(number) for number in range(rounds)]
    results: list[JsonValue] = [outcomes[name].data if name in outcomes else None for name in names]
    scope.state.forget_steps(location.key, {name for name in names if name not in outcomes})
    round_writes = {name: progress.writes[name] for name in names if name in progress.writes}
    _close(location, scope)
    failures = (outcomes[name] for name in names if name in outcomes)
    failure = next((outcome for outcome in failures if outcome.status == "failure"), None)
    data: Json = {
        "rounds": len(outcomes),
        "results": results,
        "completed": failure is None and len(outcomes) == len(progress.items),
    }
    refused = failed_write(
        lambda: write(location, joined(round_writes, {}, _each_its_own), scope, repr(step.name)),
        data,
    )
    return _end_outcome(data, failure or refused)


def _each_its_own(path: str) -> str:
    return (
        "use `append`, `extend` or `increment`, or a key for each round, like "
        f"`{path}.{{{{ item.id }}}}`"
    )


class _Rounds(Mapping[str, Job]):
    """The rounds that have not ended, by number; a job is made when its round starts."""

    def __init__(
        self,
        items: list[JsonValue],
        ended: Mapping[str, Outcome],
        one: Callable[[str, JsonValue], Coroutine[None, None, None]],
    ) -> None:
        self._items = items
        self._ended = frozenset(ended)
        self._one = one

    def __getitem__(self, name: str) -> Job:
        return partial(self._one, name, self._items[int(name)])

    def __iter__(self) -> Iterator[str]:
        names = map(str, range(len(self._items)))
        return (name for name in names if name not in self._ended)

    def __len__(self) -> int:
        return len(self._items) - len(self._ended)


def _watching_calls(step: LoopStep, location: Location) -> Location:
    """Return the location of the body, with the loop that watches for repeated calls there."""
    match step.repeated_calls:
        case None:
            return location
        case "stop":
            return location._replace(loop=location.key)
        case "allow":
            return location._replace(loop=None)


def _goes_on(step: LoopStep, progress: LoopProgress, location: Location, scope: Scope) -> bool:
    maximum = _maximum_rounds(step)
    if maximum is not None and progress.round >= maximum:
        return False
    if progress.items is not None and progress.round >= len(progress.items):
        return False
    if step.loop_variable is not None:  # `while` may read it
        location.frame(scope).variables[step.loop_variable] = _item(progress)
    return step.while_ is None or holds(step.while_, location.facts(scope))


def _item(progress: LoopProgress) -> JsonValue:
    return progress.round if progress.items is None else progress.items[progress.round]


def _break_holds(step: LoopStep, location: Location, scope: Scope) -> bool:
    return step.break_when is not None and holds(step.break_when, location.facts(scope))


def _until_holds(step: LoopStep, location: Location, scope: Scope) -> bool:
    return step.until is not None and holds(step.until, location.facts(scope))


def _ended_by_itself(
    step: LoopStep, progress: LoopProgress, location: Location, scope: Scope
) -> bool:
    """Return whether a loop without `break_when` or `until` that held came to its own end.

    Its list is over, or its `while` no longer holds, also when its bound would end it just then.
    """
    if progress.items is not None and progress.round >= len(progress.items):
        return step.until is None
    if step.while_ is None:
        return False
    try:
        return not holds(step.while_, location.facts(scope))
    except TemplateFailed:
        return False  # without the bound, the loop would have failed here
