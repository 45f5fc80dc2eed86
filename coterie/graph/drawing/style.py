"""Define the look of the SVG: its style sheet for light and dark mode, icons of the step kinds."""

from string import Template
from typing import Literal, NamedTuple

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
