"""After the siege of runs with tools: what is promised, held against what was written down."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.history_links import links
from tests.chaos.book import Call, calls_of, check_calls, read_log
from tests.chaos.tool_runs.planned_runs import ONCE, Plan, PlannedCall, Play, calls_in
from tests.chaos.tool_runs.tool_siege import ToolSiege

_SLACK = 0.05
"""Seconds between the clock of a line in the journal and that of an event."""
_VERIFIES = "was_done"
_EFFECTS = frozenset({"pay", "send", "fire", "store", "label"})
_TASK_BEGUN = "InputRequired"
"""The failure of a call that goes on as a task; the next call asks for it."""


@dataclass
class ToolReport:
    """The result of a siege."""

    runs: int
    wrong: list[str] = field(default_factory=list[str])
    finished: int = 0
    turns: int = 0
    asked: int = 0
    compactions: int = 0
    """Model turns that summed a conversation up."""
    calls: int = 0
    """Calls of tools that histories have."""
    tasks: int = 0
    """Of these, the ones whose server continued them as tasks."""
    attempts: int = 0
    unknown: int = 0
    """Calls that must not happen twice, and of which no answer came."""
    repeated: int = 0
    """Of these, the ones that had not happened."""
    people: int = 0
    """Decisions of people about them."""
    restarts: int = 0
    """MCP servers that were started."""
    results: dict[str, str] = field(default_factory=dict[str, str])
    """What each run came to, without its name."""

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"{self.finished} of {self.runs} runs finished",
            f"{self.turns} model turns, {self.asked} calls of the model; {self.compactions} turns "
            "summed a conversation up",
            f"{self.calls} calls of tools, {self.attempts} attempts, {self.tasks} of them tasks of "
            f"their server; {self.restarts} MCP servers",
            f"{self.unknown} `once` calls with an unknown outcome: {self.repeated} had not "
            f"happened and were made again; a person was asked {self.people} times",
            *(f"WRONG {line}" for line in self.wrong),
        ]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run has left behind."""

    run: str
    calls: Sequence[Call]
    journal: Mapping[tuple[str, str], Sequence[float]]
    """`{(tool, id): when a call of it began}`."""
    ledger: Counter[str]
    """`{"tool id": how often it took effect}`."""


async def reckon(siege: ToolSiege) -> ToolReport:
    """Read everything that was written down; nothing is killed any more."""
    folder = siege.ground.shop.folder
    report = ToolReport(len(siege.started), restarts=len(siege.ground.mcp_servers()))
    report.wrong += [f"{id}: wedged: {why}" for id, why in siege.wedged.items()]
    report.wrong += siege.ground.deaths
    asked, kills = read_log(folder / "calls.jsonl"), [kill.at for kill in siege.ground.kills]
    report.asked = sum(map(len, asked.values()))
    report.people = siege.people.taken.total()
    journal, ledger = read_journal(folder / "journal.txt"), read_ledger(folder / "ledger.txt")
    for id, run in siege.started.items():
        if id in siege.wedged:
            continue
        end = await run.end()
        report.finished += end.completed
        report.results[id] = comparable(id, end)
        calls: list[Call] = []
        async for history in links(siege.client, id):
            part = calls_of(history)
            first: Any = history.events[0]
            run_id = first.workflow_execution_started_event_attributes.original_execution_run_id
            report.wrong += check_calls(id, run_id, part, asked, kills)
            calls += part
        calls = with_tasks(calls)
        seen = Seen(id, calls, journal, ledger)
        report.wrong += check_tools(siege.plan.play(id), seen)
        _count(report, calls)
    report.wrong += check_results(siege.plan, report.results)
    strange = set(ledger) - {
        f"{call.tool} {call.id(id)}"
        for id in siege.started
        for call in calls_in(siege.plan.play(id))
    }
    report.wrong += [f"the ledger has {line!r}" for line in sorted(strange)]
    for (id, request), times in siege.people.taken.items():
        if times > 1:
            report.wrong.append(f"{id}: {request} was decided {times} times")
    return report


def check_results(plan: Plan, results: Mapping[str, str]) -> list[str]:
    """Every run comes to what the undisturbed run of its play came to, if there is one."""
    return [
        f"{run}: ended otherwise: {results[run]} not {results[plan.twin(run)]}"
        for run in plan.runs
        if run in results and results[run] != results.get(plan.twin(run), results[run])
    ]


def _count(report: ToolReport, calls: Sequence[Call]) -> None:
    tools = [call for call in calls if call.type == "call_function"]
    report.turns += len(calls) - len(tools)
    report.compactions += sum(".compact" in call.id for call in calls)
    report.tasks += sum(tool_of(call)[0] == "fire" for call in tools)
    report.calls += len(tools)
    report.attempts += sum(call.attempts for call in tools)
    lost = [call for call in tools if call.failure is not None and tool_of(call)[0] in ONCE]
    report.unknown += len(lost)
    made = Counter(tool_of(call) for call in tools if tool_of(call)[0] in ONCE)
    report.repeated += sum(count - 1 for count in made.values())


def read_journal(file: Path) -> dict[tuple[str, str], list[float]]:
    """`{(tool, id): when a call of it began}`."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line in file.read_text().splitlines() if file.exists() else []:
        at, tool, id = line.split()
        found[tool, id].append(float(at))
    return dict(found)


def read_ledger(file: Path) -> Counter[str]:
    """`{"tool id": how often it took effect}`."""
    return Counter(file.read_text().splitlines() if file.exists() else [])


def with_tasks(calls: Sequence[Call]) -> list[Call]:
    """Return the calls, each with what the later ones learnt that asked for its task."""
    found: list[Call] = []
    begun: dict[tuple[str, str], Call] = {}
    for call in calls:
        if call.type != "call_function":
            found.append(call)
            continue
        key = tool_of(call)
        first = begun.pop(key, None)
        if first is not None:
            first.completed, first.ended, first.failure = call.completed, call.ended, call.failure
            call = first
        else:
            found.append(call)
        if call.failure == _TASK_BEGUN:
            begun[key] = call
    return found


def tool_of(call: Call) -> tuple[str, str]:
    """The tool of a call, and the id that its arguments name."""
    request = json.loads(call.input)
    name = str(request["skill"]).replace("/", ":").rpartition(":")[2]
    return name, str(request["input"]["id"])


def check_tools(play: Play, seen: Seen) -> list[str]:
    """What a run's calls of tools did that they must not.

    Args:
        play: what the model was to do.
        seen: what was done.
    """
    made: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in seen.calls:
        if call.type == "call_function":
            made[tool_of(call)].append(call)
    wrong: list[str] = []
    for planned in calls_in(play):
        if planned.tool == "helper":
            key = ("look", planned.id(seen.run))  # it looks, and it is an agent itself
            wrong += _check_repetition(key, made.get(key, ()), seen)
            continue
        key = (planned.tool, planned.id(seen.run))
        of_it = made.get(key, ())
        wrong += _check_repetition(key, of_it, seen)
        wrong += _check_effect(planned, of_it, made.get((_VERIFIES, key[1]), ()), seen)
    for key, calls in made.items():
        if key[0] == _VERIFIES:
            wrong += _check_attempts(key, calls, seen)
    return wrong


def _check_attempts(key: tuple[str, str], calls: Sequence[Call], seen: Seen) -> list[str]:
    """No attempt begins after the call has a result, or without one of Temporal."""
    begun = seen.journal.get(key, ())
    where = f"{seen.run}: {' '.join(key)}"
    attempts = sum(call.attempts for call in calls)
    wrong: list[str] = []
    if len(begun) > attempts:
        wrong.append(f"{where} was called {len(begun)} times in {attempts} attempts")
    for at in begun:
        if not any(
            call.scheduled - _SLACK <= at and (call.ended is None or at <= call.ended + _SLACK)
            for call in calls
        ):
            wrong.append(f"{where} was called at {at:.2f}, when no call of it was open")
    return wrong


def _check_repetition(key: tuple[str, str], calls: Sequence[Call], seen: Seen) -> list[str]:
    wrong = _check_attempts(key, calls, seen)
    where = f"{seen.run}: {' '.join(key)}"
    for call in calls[:-1]:
        if call.completed is not None:
            wrong.append(f"{where} ({call.id}) has a result, and was called again")
    if key[0] not in ONCE and (len(calls) != 1 or calls[0].completed is None):
        ends = [call.failure or "a result" for call in calls]
        wrong.append(f"{where} has {len(calls)} calls ({', '.join(ends)}), not one result")
    return wrong


def _check_effect(
    planned: PlannedCall, calls: Sequence[Call], verified: Sequence[Call], seen: Seen
) -> list[str]:
    """An effect happened; if it must not happen twice, once, and nothing was repeated blindly."""
    id = planned.id(seen.run)
    where, happened = f"{seen.run}: {planned.tool} {id}", seen.ledger[f"{planned.tool} {id}"]
    if planned.tool not in _EFFECTS:
        return []
    if planned.tool not in ONCE:
        return [] if happened else [f"{where} never happened"]
    wrong: list[str] = []
    if happened != 1:
        wrong.append(f"{where} happened {happened} times")
    for number, call in enumerate(calls):
        if call.attempts > 1:
            wrong.append(f"{where} ({call.id}) was attempted {call.attempts} times")
        if call.completed is not None:
            continue
        following = calls[number + 1].scheduled if number + 1 < len(calls) else float("inf")
        ended = call.ended or call.scheduled
        if call.failure in ("timed out", "OutcomeUnknown", "WorkerShutdown") and not any(
            ended <= one.scheduled < following and one.completed is not None for one in verified
        ):
            wrong.append(f"{where} ({call.id}) had an unknown outcome that nobody verified")
    return wrong


def comparable(id: str, end: RunEnd) -> str:
    """What every run of a play comes to, but for its name."""
    if end.result is None:
        return incomplete_reason(end)
    shown = end.result.model_dump(mode="json", include={"end", "context", "output"})
    return json.dumps(shown, sort_keys=True).replace(id, "WHO")
