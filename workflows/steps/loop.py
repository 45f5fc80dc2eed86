"""A loop: its body over a list, or while or until a condition holds."""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Set
from functools import partial

from pydantic import JsonValue

from dsl.evaluate.condition_evaluation import holds
from dsl.model.outcomes import Outcome
from dsl.model.steps import LoopStep
from dsl.sizes import check_size, json_size
from dsl.templates.template import fill
from dsl.values import Json
from workflows.core.location import Interpreter, Location
from workflows.core.memory import StepProgress
from workflows.core.scope import Job, Scope
from workflows.skipped_steps import skip_within

MAX_RESULTS = 1_000_000
"""Bytes of JSON that the results of a loop may have: of a longer one, the latest are kept."""

_ITEMS_A_STEP = 400
"""Of a list that a loop takes down: so many take as long as a step."""

_LOOK_EVERY = 50
"""Results; to weigh them each time would take time in proportion to all of them."""


async def execute(
    step: LoopStep, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Run the body round by round; `results` holds the data of each round's last step."""
    block = place.block(scope, "loop")
    frame = place.frame(scope)
    refused = _begun(step, block, place, scope)
    if refused is not None:
        place.close_block(scope, "loop")
        return refused
    inside = _noticing(step, place)
    if step.concurrency > 1 and block.items is not None:
        return await _at_once(step, block, inside, scope, interpreter)
    failure: Outcome | None = None
    while failure is None and _goes_on(step, block, place, scope):
        outcome = await interpreter.run_steps(step.body, inside, part=f"round {block.next}")
        _keep(block, outcome.data)
        block.next += 1
        if outcome.status == "failure":
            failure = outcome
        elif _breaks(step, place, scope):
            break
    if block.next == 0:
        skip_within(step, place, scope)
    place.close_block(scope, "loop")
    if step.loop_variable is not None:
        frame.variables.pop(step.loop_variable, None)
    data: Json = {"rounds": block.next, "results": block.results}
    if block.dropped:
        data["dropped"] = block.dropped
    if failure is not None and failure.error is not None:
        return Outcome("failure", data, failure.error)
    return Outcome.succeeded(data)


def _begun(step: LoopStep, block: StepProgress, place: Location, scope: Scope) -> Outcome | None:
    """Take down what the loop goes over, once; the failure when that is no list."""
    if step.iterate_on is None or block.items is not None:
        return None
    items = fill(step.iterate_on, place.facts(scope).names())
    if not isinstance(items, list):
        kind = type(items).__name__
        return Outcome.failed("NotAList", f"iterate_on of {step.name!r} gives a {kind}")
    check_size(items, f"the list that {step.name!r} goes over")
    scope.weigh(len(items) // _ITEMS_A_STEP)
    block.items = items
    return None


def _keep(block: StepProgress, result: JsonValue) -> None:
    """Keep a round's result; the earliest go when there are more than a run can carry along."""
    results = block.results
    results.append(result)
    if len(results) % _LOOK_EVERY and json_size(result) < MAX_RESULTS // _LOOK_EVERY:
        return
    sizes = [json_size(one) for one in results]
    total, early = sum(sizes), 0
    while total > MAX_RESULTS and early < len(results) - 1:
        total -= sizes[early]
        early += 1
    del results[:early]
    block.dropped += early


async def _at_once(
    step: LoopStep, block: StepProgress, place: Location, scope: Scope, interpreter: Interpreter
) -> Outcome:
    """Several rounds at once, each with variables of its own; results stand in the list's order."""
    items = (block.items or [])[: step.max_iterations]
    outcomes: dict[str, Outcome] = {} if block.ended is None else block.ended
    block.ended = outcomes
    failed = any(outcome.status == "failure" for outcome in outcomes.values())

    async def one(name: str, item: JsonValue) -> None:
        inner = place.at(name).branched(name, scope)
        if step.loop_variable is not None:
            inner.frame(scope).variables[step.loop_variable] = item
        nonlocal failed
        outcomes[name] = outcome = await interpreter.run_steps(step.body, inner, part="round")
        failed = failed or outcome.status == "failure"
        _forget(name, place, scope)

    def enough(finished: Set[str]) -> bool:
        return failed or len(outcomes) == len(items)

    rounds = _Rounds(items, outcomes, one)
    await scope.together(rounds, enough=enough, at_once=step.concurrency)
    names = [str(number) for number in range(len(items))]
    results: list[JsonValue] = [outcomes[name].data if name in outcomes else None for name in names]
    if len(outcomes) < len(names):
        scope.state.forget_inside(place.key, {name for name in names if name not in outcomes})
    place.close_block(scope, "loop")
    data: JsonValue = {"rounds": len(outcomes), "results": results}
    failures = (outcomes[name] for name in names if name in outcomes)
    failure = next((outcome for outcome in failures if outcome.status == "failure"), None)
    if failure is not None and failure.error is not None:
        return Outcome("failure", data, failure.error)
    return Outcome.succeeded(data)


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


def _noticing(step: LoopStep, place: Location) -> Location:
    """The place of the body: whether calls that repeat are noticed, here or by a loop around."""
    match step.repeated_calls:
        case None:
            return place
        case "stop":
            return place._replace(loop=place.block_key("loop"))
        case "allow":
            return place._replace(loop=None)


def _forget(name: str, place: Location, scope: Scope) -> None:
    """What a round that ran beside others leaves: nothing but its outcome."""
    scope.state.forget(place.at(name).key)


def _goes_on(step: LoopStep, block: StepProgress, place: Location, scope: Scope) -> bool:
    if step.max_iterations is not None and block.next >= step.max_iterations:
        return False
    if block.items is not None and block.next >= len(block.items):
        return False
    if step.loop_variable is not None:  # which `while` may ask about
        place.frame(scope).variables[step.loop_variable] = _item(block)
    return step.while_ is None or holds(step.while_, place.facts(scope))


def _item(block: StepProgress) -> JsonValue:
    return block.next if block.items is None else block.items[block.next]


def _breaks(step: LoopStep, place: Location, scope: Scope) -> bool:
    asked = [asked for asked in (step.break_when, step.until) if asked is not None]
    return bool(asked) and any(holds(one, place.facts(scope)) for one in asked)
