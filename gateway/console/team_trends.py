"""How the latest runs of a team went, over time: their ends, durations and costs.

Pictures are drawn by the server, oldest run first; each has its figures as text. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement

from coterie.dsl.model.budgets import money
from coterie.gateway.console.drawn_figures import CheckedDrawing, checked
from coterie.gateway.console.page_values import took
from coterie.gateway.operations.run_listing import ListedRun

_WIDTH, _HEIGHT = 240, 48
_MAX_BAR = 24.0


@dataclass(frozen=True, slots=True)
class RunTrend:
    """One figure of the latest runs."""

    name: str
    value: str
    """Of all of them."""
    detail: str
    drawing: CheckedDrawing | None
    """None with fewer than two runs, or if all are 0."""


@dataclass(frozen=True, slots=True)
class RunStats:
    """How the latest runs of a team went."""

    ended: int
    since: str
    """When the oldest of them began; ISO 8601."""
    trends: tuple[RunTrend, ...]


def run_stats(runs: Sequence[ListedRun], costs: Mapping[str, float | None]) -> RunStats:
    """Return how runs went.

    Args:
        runs: The latest first.
        costs: `{run: US dollars}`; None, or missing: it is not known.
    """
    ended = [run for run in reversed(runs) if run.ended is not None]
    if not ended:
        return RunStats(0, "", ())
    return RunStats(len(ended), ended[0].began, (_ends(ended), _times(ended), _costs(ended, costs)))


def _ends(runs: Sequence[ListedRun]) -> RunTrend:
    good = sum(run.state == "completed" for run in runs)
    bars = [(1.0, "good" if run.state == "completed" else "bad") for run in runs]
    share = f"{good} of {len(runs)} that ended"
    return RunTrend(
        "Completed", f"{good / len(runs):.0%}", share, _chart(f"How runs ended: {share}", bars)
    )


def _times(runs: Sequence[ListedRun]) -> RunTrend:
    lengths = [_seconds(run) for run in runs]
    mean = took(sum(lengths) / len(lengths))
    detail = f"from {took(min(lengths))} to {took(max(lengths))}"
    bars = [(seconds, _tone(run)) for run, seconds in zip(runs, lengths, strict=True)]
    return RunTrend("Mean duration", mean, detail, _chart(f"Durations {detail}", bars))


def _costs(runs: Sequence[ListedRun], costs: Mapping[str, float | None]) -> RunTrend:
    known = [(run, cost) for run in runs if (cost := costs.get(run.run)) is not None]
    if not known:
        return RunTrend("Mean cost", "-", "no price is known", None)
    amounts = [cost for _, cost in known]
    mean = f"{money(sum(amounts) / len(amounts))} USD"
    detail = f"{money(sum(amounts))} USD in all"
    if len(known) < len(runs):
        detail += f", of {len(known)} runs"
    bars = [(costs.get(run.run) or 0.0, _tone(run)) for run in runs]
    label = f"Costs from {money(min(amounts))} to {money(max(amounts))} USD"
    return RunTrend("Mean cost", mean, detail, _chart(label, bars))


def _tone(run: ListedRun) -> str:
    return "good" if run.state == "completed" else "bad"


def _seconds(run: ListedRun) -> float:
    if run.ended is None:
        return 0.0
    length = datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.began)
    return max(0.0, length.total_seconds())


def _chart(label: str, bars: Sequence[tuple[float, str]]) -> CheckedDrawing | None:
    """Return bars side by side, oldest first; None for a single one, or if all are 0."""
    if len(bars) < 2 or not any(value for value, _ in bars):
        return None
    root = Element("svg", {"class": "trend", "viewBox": f"0 0 {_WIDTH} {_HEIGHT}"})
    root.set("preserveAspectRatio", "none")
    top = max(value for value, _ in bars)
    step = min(_MAX_BAR, _WIDTH / len(bars))
    for number, (value, tone) in enumerate(bars):
        height = max(1.0, (_HEIGHT - 2) * value / top) if value else 0.0
        SubElement(
            root,
            "rect",
            {
                "class": tone,
                "x": f"{number * step:.2f}",
                "y": f"{_HEIGHT - height:.2f}",
                "width": f"{max(step - min(2.0, step / 4), 0.5):.2f}",
                "height": f"{height:.2f}",
            },
        )
    return checked(root, f"{label}; {len(bars)} runs, oldest first")
