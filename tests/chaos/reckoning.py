"""After the siege: what is promised, held against what was written down."""

import json
from collections import Counter
from dataclasses import dataclass, field

from coterie.failures import CommandError
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.history_links import links
from coterie.runs.run_client import Run
from tests.chaos.book import Call, Unknown, calls_of, check_calls, check_ledger, read_log, unknowns
from tests.chaos.siege import UNDISTURBED, Siege


@dataclass
class Report:
    """The result of a siege."""

    runs: int
    wrong: list[str] = field(default_factory=list[str])
    finished: int = 0
    histories: int = 0
    calls: int = 0
    """Calls of the model that histories have."""
    asked: int = 0
    """How often the model was asked for them."""
    attempts: int = 0
    commands: int = 0
    """Attempts to release."""
    unknown: list[Unknown] = field(default_factory=list[Unknown])

    def lines(self) -> list[str]:
        """For people."""
        became = Counter(one.became for one in self.unknown)
        text = ", ".join(f"{count} {what}" for what, count in sorted(became.items()))
        return [
            f"{self.finished} of {self.runs} runs finished, in {self.histories} histories",
            f"{self.calls} model turns, {self.attempts} attempts, {self.asked} calls of the model",
            f"{self.commands} releases started, {len(self.unknown)} with an unknown outcome"
            + (f": {text}" if text else ""),
            *(f"WRONG {line}" for line in self.wrong),
        ]


async def reckon(siege: Siege) -> Report:
    """Read everything that was written down; nothing is killed any more."""
    folder = siege.ground.shop.folder
    report = Report(len(siege.started))
    report.wrong += [f"{id}: wedged: {why}" for id, why in siege.wedged.items()]
    report.wrong += siege.ground.deaths
    report.wrong += check_ledger(list(siege.started), folder / "ledger.txt")
    asked = read_log(folder / "calls.jsonl")
    report.asked = sum(map(len, asked.values()))
    kills = [kill.at for kill in siege.ground.kills]
    usual = _comparable(UNDISTURBED, await siege.started[UNDISTURBED].end())
    for id, run in siege.started.items():
        if id in siege.wedged:
            continue
        end = await run.end()
        report.finished += end.completed
        if _comparable(id, end) != usual:
            report.wrong.append(f"{id}: ended otherwise: {_comparable(id, end)} not {usual}")
        calls: list[Call] = []
        async for history in links(siege.client, id):
            mine = calls_of(history)
            report.wrong += check_calls(id, history.run_id, mine, asked, kills)
            report.histories += 1
            calls += mine
        of_models = [call for call in calls if call.type == "run_agent"]
        report.calls += len(of_models)
        report.attempts += sum(call.attempts for call in of_models)
        report.commands += sum(call.once for call in calls)
        lost = unknowns(id, calls)
        report.unknown += lost
        report.wrong += await _untold_outcomes(run, lost)
        if siege.replies.get(id) != f"{id} heard {id}":
            report.wrong.append(f"{id}: its message got the reply {siege.replies.get(id)!r}")
    for (id, request), times in siege.people.taken.items():
        if times > 1:
            report.wrong.append(f"{id}: {request} was decided {times} times")
    return report


async def _untold_outcomes(run: Run, lost: list[Unknown]) -> list[str]:
    """Whether the run's trail tells each unknown outcome, and that it led somewhere."""
    wrong = [
        f"{one.run}: a release of unknown outcome led to nothing"
        for one in lost
        if one.became == "nothing"
    ]
    if not lost:
        return wrong
    try:
        trail = await run.trail()
    except CommandError as error:
        return [*wrong, f"{run.id}: its trail cannot be read: {error}"]
    reasons = sum(one.status == "caught" and "OutcomeUnknown" in one.because for one in trail)
    if reasons != len(lost):
        wrong.append(f"{run.id}: {len(lost)} unknown outcomes, and its trail tells {reasons}")
    return wrong


def _comparable(id: str, end: RunEnd) -> str:
    """What every run has to come to, but for its name."""
    if end.result is None:
        return incomplete_reason(end)
    shown = end.result.model_dump(mode="json", include={"end", "context", "output", "visits"})
    shown["output"].pop("consent", None)  # who decided, and when
    return json.dumps(shown, sort_keys=True).replace(id, "WHO")
