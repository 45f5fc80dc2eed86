"""Define the look of the SVG: its style sheet for light and dark mode, icons of the step kinds."""

from string import Template
from typing import Literal, NamedTuple

from coterie.dsl.model.steps import StepKind
from coterie.graph.taken_path import Mark


class Font(NamedTuple):
    """How a class of text is set."""

    size: float
    """In pixels."""
    bold: bool = False
    anchor: Literal["start", "middle", "end"] = "start"


FONTS = {
    "heading": Font(22, bold=True),
    "headline": Font(13.5),
    "title": Font(15, bold=True),
    "task-name": Font(13, bold=True),
    "condition": Font(11.5),
    "badge": Font(11, bold=True, anchor="middle"),
    "limits": Font(12),
    "soft": Font(11.5),
    "kind": Font(10.5, anchor="end"),
}
"""Each class of text."""

_COLOURS = {
    "page": ("#f7f8fa", "#0e131a"),
    "ink": ("#17202e", "#e8edf4"),
    "soft": ("#5c6878", "#9aa7b8"),
    "box": ("#ffffff", "#171e28"),
    "chip": ("#ffffff", "#1b2430"),
    "frame": ("#c9d1dc", "#3d4b5e"),
    "rule": ("#e4e8ee", "#2a3442"),
    "edge": ("#7d8a9b", "#7b899b"),
    "quiet": ("#e9edf3", "#313d4d"),
    "agent": ("#4453c4", "#9aa6ff"),
    "asks": ("#fff6e6", "#33270f"),
    "asks_frame": ("#f0cf95", "#6d5320"),
    "person": ("#a85a00", "#f5b85c"),
    "good": ("#1f7a4d", "#5cc48f"),
    "bad": ("#b3261e", "#ff8a80"),
    "taken": ("#1f5fd1", "#6ea8ff"),
    "on": ("#ffffff", "#0e131a"),
}
"""Each colour in light and in dark mode."""

_COLOURED = """
.page { fill: $page; }
text, .entry > ellipse { fill: $ink; }
.soft, .kind, .limits { fill: $soft; }
.box > path, .panel { fill: $box; stroke: $frame; }
.box > polygon { fill: $rule; }
.chip > path { fill: $chip; stroke: $frame; }
.asks > path, rect.asks { fill: $asks; stroke: $asks_frame; }
.line > path { stroke: $edge; }
.line > polygon { fill: $edge; stroke: $edge; }
.tree-line { stroke: $frame; }
.number, .pill.type { fill: $quiet; }
.on-type { fill: $soft; }
.sign { stroke: $soft; }
.sign.agent { stroke: $agent; }
.sign.person { stroke: $person; }
.mark { stroke: $edge; }
.mark.success, .mark.doing { stroke: $good; }
.mark.partial, .mark.blocked, .mark.waiting { stroke: $person; }
.mark.failure { stroke: $bad; }
.ends > ellipse { stroke: $good; }
.ends .core { fill: $good; }
.fails > ellipse, .fails .core { stroke: $bad; }
.taken > path, .visited > path { stroke: $taken; }
.taken > polygon { fill: $taken; stroke: $taken; }
.pill.done { fill: $taken; }
.at-now > path { stroke: $good; }
.at-waiting > path { stroke: $person; }
.at-failed > path { stroke: $bad; }
.at-stopped > path { stroke: $soft; }
.pill.now { fill: $good; }
.pill.waiting { fill: $person; }
.pill.failed { fill: $bad; }
.pill.stopped { fill: $soft; }
.on-done, .on-now, .on-waiting, .on-failed, .on-stopped { fill: $on; }
"""
_FAMILY = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', Arimo, sans-serif"
_FIXED = """
.line > path { stroke-width: 1.4; fill: none; stroke-linecap: round; }
.line > polygon { stroke-width: 2; stroke-linejoin: round; }
.line.taken > path { stroke-width: 2.6; }
.default > path { stroke-dasharray: 6 4; }
.call > path { stroke-dasharray: 1.5 4; }
.timeout > path { stroke-dasharray: 9 3 2 3; }
.bound > path { stroke-dasharray: 12 4; }
.redirect > path { stroke-dasharray: 2 3 8 3; }
.sign, .mark { fill: none; stroke-width: 1.4; stroke-linecap: round; stroke-linejoin: round; }
.mark { stroke-width: 2; }
.ends > ellipse, .fails > ellipse { fill: none; stroke-width: 2; }
.fails .core { fill: none; stroke-width: 2; stroke-linecap: round; }
.tree-line { fill: none; stroke-width: 1.2; }
.visited > path { stroke-width: 2.2; }
.unvisited { opacity: 0.5; }
"""


def style_sheet() -> str:
    """Return the whole style sheet; it follows the reader's dark mode."""
    fonts = "\n".join(
        f".{css} {{ font: {700 if font.bold else 400} {font.size}px {_FAMILY}; "
        f"text-anchor: {font.anchor}; }}"
        for css, font in FONTS.items()
    )
    light, dark = (
        Template(_COLOURED).substitute({name: both[mode] for name, both in _COLOURS.items()})
        for mode in (0, 1)
    )
    return f"{_FIXED}{fonts}{light}@media (prefers-color-scheme: dark) {{{dark}}}\n"


SIGNS: dict[StepKind, str] = {
    "agent": "M3.5 2.5h9a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-4L5 13.5v-3H3.5a1 1 0 0 1-1-1v-6a1 1 0 "
    "0 1 1-1z",
    "skill": "M9 2L3.5 9H8l-1 5 5.5-7H8z",
    "tool": "M10.5 2.5a3.2 3.2 0 0 0-3.8 4.2L2.5 11 5 13.5l4.3-4.2a3.2 3.2 0 0 0 "
    "4.2-3.8L11.5 7.5 9 7 8.5 4.5z",
    "loop": "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
    "branch": "M8 14V9L3.5 4.5M8 9l4.5-4.5M3 7.5V4h3.5M13 7.5V4H9.5",
    "parallel": "M5.5 3v10M10.5 3v10",
    "task_graph": "M2.5 6h3.5v4H2.5zM10 2.5h3.5v3.5H10zM10 10h3.5v3.5H10zM6 8h2V4.2h2M8 8v3.8h2",
    "set": "M3.5 6h9M3.5 10h9",
    "approval": "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c.3-2.8 2-4 "
    "4.5-4 1 0 1.8.2 2.5.6M9.5 12l1.8 1.8 3.2-3.8",
    "wait": "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 5v3l2.2 1.4",
    "reply": "M7 3.5L2.5 8 7 12.5V9.5c3 0 5 .8 6.5 3-.3-3.5-2.3-6-6.5-6.3z",
    "team": "M2.5 3h5v4h-5zM8.5 9h5v4h-5zM7.5 5H11v4",
    "try": "M8 2l5 1.8v4.4c0 2.8-2 4.8-5 5.8-3-1-5-3-5-5.8V3.8z",
    "block": "M3 3h10v10H3zM5.5 6h5M5.5 8h5M5.5 10h3",
    "return": "M12.5 3.5v5.5H4M7 6L4 9l3 3",
    "fail": "M4 4l8 8M12 4l-8 8",
}
"""An icon of 16 by 16 for each kind of step."""

MARKS: dict[Mark, str] = {
    "success": "M-4 0l3 3 5.5-6",
    "failure": "M-3.5-3.5l7 7M3.5-3.5l-7 7",
    "partial": "M-4 0h8M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "skipped": "M-3.5 0h7",
    "doing": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "waiting": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0M0-2v2h1.5",
    "pending": "M-4 0h.5M-.2 0h.5M3.5 0h.5",
    "blocked": "M-4-4h8v8h-8zM-4 4l8-8",
}
"""Marks of task status, around their centre."""

DOT = "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0"
"""Stands in the circle where a run ends."""
