"""Define the look of the SVG: colours for light and dark mode, icons of the step kinds."""

from collections.abc import Iterator

from coterie.dsl.model.steps import StepKind
from coterie.graph.taken_path import Mark

FONT = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', Arimo, sans-serif"
"""All have the same widths, which `coterie.graph.drawing.measure` knows."""

_FILL, _STROKE = "fill", "stroke"
_COLOURS: tuple[tuple[str, str, str, str], ...] = (
    ("page", _FILL, "#f7f8fa", "#0e131a"),
    ("ink", _FILL, "#17202e", "#e8edf4"),
    ("soft", _FILL, "#5c6878", "#9aa7b8"),
    ("box", _FILL, "#ffffff", "#171e28"),
    ("box", _STROKE, "#c9d1dc", "#384556"),
    ("rule-line", _STROKE, "#e4e8ee", "#2a3442"),
    ("edge", _STROKE, "#7d8a9b", "#7b899b"),
    ("edge.head", _FILL, "#7d8a9b", "#7b899b"),
    ("chip", _FILL, "#ffffff", "#1b2430"),
    ("chip", _STROKE, "#c9d1dc", "#3d4b5e"),
    ("number", _FILL, "#e9edf3", "#313d4d"),
    ("sign", _STROKE, "#4453c4", "#9aa6ff"),
    ("sign.person", _STROKE, "#a85a00", "#f5b85c"),
    ("sign.plain", _STROKE, "#5c6878", "#9aa7b8"),
    ("asks", _FILL, "#fff6e6", "#33270f"),
    ("asks", _STROKE, "#f0cf95", "#6d5320"),
    ("pill.type", _FILL, "#e9edf3", "#2b3644"),
    ("on-type", _FILL, "#3f4b5b", "#c4cfdc"),
    ("start", _FILL, "#17202e", "#e8edf4"),
    ("end", _STROKE, "#1f7a4d", "#5cc48f"),
    ("end-core", _FILL, "#1f7a4d", "#5cc48f"),
    ("failed-end", _STROKE, "#b3261e", "#ff8a80"),
    ("taken", _STROKE, "#1f5fd1", "#6ea8ff"),
    ("taken.head", _FILL, "#1f5fd1", "#6ea8ff"),
    ("visited", _STROKE, "#1f5fd1", "#6ea8ff"),
    ("at-now", _STROKE, "#1f7a4d", "#5cc48f"),
    ("at-waiting", _STROKE, "#a85a00", "#f5b85c"),
    ("at-failed", _STROKE, "#b3261e", "#ff8a80"),
    ("at-stopped", _STROKE, "#5c6878", "#9aa7b8"),
    ("pill.done", _FILL, "#1f5fd1", "#6ea8ff"),
    ("on-done", _FILL, "#ffffff", "#0e131a"),
    ("pill.now", _FILL, "#1f7a4d", "#5cc48f"),
    ("on-now", _FILL, "#ffffff", "#0e131a"),
    ("pill.waiting", _FILL, "#a85a00", "#f5b85c"),
    ("on-waiting", _FILL, "#ffffff", "#0e131a"),
    ("pill.failed", _FILL, "#b3261e", "#ff8a80"),
    ("on-failed", _FILL, "#ffffff", "#0e131a"),
    ("mark.success", _STROKE, "#1f7a4d", "#5cc48f"),
    ("mark.failure", _STROKE, "#b3261e", "#ff8a80"),
    ("mark.partial", _STROKE, "#a85a00", "#f5b85c"),
    ("mark.skipped", _STROKE, "#7d8a9b", "#7b899b"),
    ("mark.doing", _STROKE, "#1f7a4d", "#5cc48f"),
    ("mark.pending", _STROKE, "#7d8a9b", "#7b899b"),
    ("mark.blocked", _STROKE, "#a85a00", "#f5b85c"),
    ("tree-line", _STROKE, "#c9d1dc", "#384556"),
    ("mark.waiting", _STROKE, "#a85a00", "#f5b85c"),
    ("pill.stopped", _FILL, "#5c6878", "#9aa7b8"),
    ("on-stopped", _FILL, "#ffffff", "#0e131a"),
)
"""Class, property, colour in light mode, colour in dark mode."""

_FIXED = f"""
text {{ font-family: {FONT}; }}
.box, .chip, .asks, .rule-line {{ stroke-width: 1; }}
.edge, .taken {{ stroke-width: 1.4; fill: none; stroke-linecap: round; }}
.taken {{ stroke-width: 2.6; }}
.head {{ stroke: none; }}
.default {{ stroke-dasharray: 6 4; }}
.call {{ stroke-dasharray: 1.5 4; }}
.timeout {{ stroke-dasharray: 9 3 2 3; }}
.bound {{ stroke-dasharray: 12 4; }}
.redirect {{ stroke-dasharray: 2 3 8 3; }}
.head.default, .head.call, .head.timeout, .head.bound, .head.redirect {{ stroke-dasharray: none; }}
.sign, .mark {{ fill: none; stroke-width: 1.4; stroke-linecap: round; stroke-linejoin: round; }}
.mark {{ stroke-width: 2; }}
.end, .failed-end {{ fill: none; stroke-width: 2; stroke-linecap: round; }}
.tree-line {{ fill: none; stroke-width: 1.2; }}
.visited {{ stroke-width: 2.2; }}
.unvisited {{ opacity: 0.5; }}
"""


def style_sheet() -> str:
    """Return the whole style sheet; it follows the reader's dark mode."""
    light = "\n".join(_rules(dark=False))
    dark = "\n".join(f"  {rule}" for rule in _rules(dark=True))
    return f"{_FIXED}{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _rules(*, dark: bool) -> Iterator[str]:
    for css, name, on_light, on_dark in _COLOURS:
        yield f".{css} {{ {name}: {on_dark if dark else on_light}; }}"


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
