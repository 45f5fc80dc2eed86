"""The page of replayed runs: which of them this code would decide differently, and how. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from coterie.gateway.console.page_templates import offline_frame, render
from coterie.replay.replay_report import ReplayedRun
from coterie.runs.progress import Tone
from coterie.text.problems import counted
from coterie.version import own_version

_ORDER = {"differs": 0, "failed": 1, "same": 2}
_WORDS = {"differs": "differs", "failed": "cannot be replayed", "same": "the same"}
_TONES: dict[str, Tone] = {"differs": "bad", "failed": "waiting", "same": "good"}


@dataclass(frozen=True, slots=True)
class UpgradeRow:
    """One replayed run."""

    run: str
    team: str
    verdict: str
    tone: Tone
    size: str
    sentence: str
    differences: tuple[str, ...]
    more: str
    """What this code stores besides; empty if nothing."""
    plan: str
    """`current`, `older`; empty if it is not known."""
    at: str


@dataclass(frozen=True, slots=True)
class UpgradeFigure:
    """How many runs have one result."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class UpgradePage:
    """What an upgrade would change."""

    version: str
    team: str
    """Empty: all teams."""
    headline: str
    advice: str
    """What to do now."""
    tone: Tone
    rows: tuple[UpgradeRow, ...]
    """Those that need a look first."""
    figures: tuple[UpgradeFigure, ...]
    left: int
    """Runs whose replay has not finished."""
    wider: str
    """The address with more runs; empty if all are shown."""
    has_plans: bool
    """Whether it knows of any run if its plan is the current one."""


def upgrade_page(
    runs: Sequence[ReplayedRun],
    *,
    team: str = "",
    left: int = 0,
    has_more: bool = False,
    limit: int = 0,
    version: str | None = None,
) -> UpgradePage:
    """Return the page of replayed runs.

    Args:
        runs: The results, in any order.
        team: Whose open runs; empty: of all.
        left: Runs whose replay has not finished.
        has_more: Whether further runs are open.
        limit: How many were asked for.
        version: Of the code that replayed them. Default: this one.
    """
    counts = {verdict: sum(run.verdict == verdict for run in runs) for verdict in _ORDER}
    headline, advice, tone = _summary(counts, len(runs), left)
    wider = {"team": team, "limit": min(100, 2 * limit)}
    return UpgradePage(
        version=version or own_version(),
        team=team,
        headline=headline,
        advice=advice,
        tone=tone,
        rows=tuple(map(_row, sorted(runs, key=lambda run: _ORDER[run.verdict]))),
        figures=tuple(UpgradeFigure(_WORDS[name], counts[name]) for name in ("same", *_BAD)),
        left=left,
        wider=f"/upgrade?{urlencode({k: v for k, v in wider.items() if v})}"
        if has_more and limit < 100
        else "",
        has_plans=any(run.has_current_plan is not None for run in runs),
    )


_BAD = ("differs", "failed")


def _summary(counts: dict[str, int], total: int, left: int) -> tuple[str, str, Tone]:
    if counts["differs"]:
        one = counts["differs"] == 1
        return (
            f"{counted(counts['differs'], 'run')} would be decided differently.",
            f"Keep a worker of the version that runs {'it' if one else 'them'} until "
            f"{'it has' if one else 'they have'} ended.",
            "bad",
        )
    if counts["failed"]:
        return (
            f"{counted(counts['failed'], 'run')} could not be replayed.",
            "Look at each reason before you upgrade.",
            "waiting",
        )
    if left:
        return "So far, nothing would be decided differently.", "", "working"
    if not total:
        return "No run is open.", "", "good"
    return (
        "Nothing would be decided differently.",
        "A worker of this version can take the runs over.",
        "good",
    )


def _row(run: ReplayedRun) -> UpgradeRow:
    plans = {True: "current", False: "older", None: ""}
    return UpgradeRow(
        run=run.run,
        team=run.team,
        verdict=_WORDS[run.verdict],
        tone=_TONES[run.verdict],
        size=f"{counted(run.events, 'event')}, {counted(run.calls, 'call')}" if run.events else "",
        sentence=run.sentence,
        differences=run.differences,
        more=", ".join(run.more),
        plan=plans[run.has_current_plan],
        at=run.at,
    )


def upgrade_html(runs: Sequence[ReplayedRun]) -> str:
    """Return the results of replays as one HTML file."""
    page = upgrade_page(runs)
    return render("upgrade.html", offline_frame("What an upgrade would change"), page)
