"""Render the picture as Mermaid text, which code forges and editors draw inside Markdown."""

import json
import re
from collections.abc import Iterator

from coterie.dsl.task_graph.graph_tasks import GraphTaskStatus
from coterie.graph.picture import START, Picture, RouteArrow, TeamBox
from coterie.graph.taken_path import Mark, Walk, with_walk
from coterie.graph.task_lines import TaskLine
from coterie.runs.task_trees import TaskTree
from coterie.text.task_signs import TASK_SIGNS

_MARKS: dict[Mark, str] = {
    "success": "✓",
    "failure": "✗",
    "partial": "◐",
    "skipped": "-",
    "doing": "…",
    "waiting": "?",
    "pending": "⋯",
    "blocked": "■",
}
_CLASSES = {
    "visited": "stroke:#1f5fd1,stroke-width:3px",
    "unvisited": "opacity:0.5",
    "now": "stroke:#1f7a4d,stroke-width:4px",
    "waiting": "stroke:#a85a00,stroke-width:4px",
    "failed": "stroke:#b3261e,stroke-width:4px",
    "stopped": "stroke:#5c6878,stroke-width:4px",
}
"""Frames only: the text keeps the colours of the reader's theme, light or dark."""


_HEADLESS = {"==>": "===", "-->": "---", "-.->": "-.-"}


def mermaid_of(picture: Picture, walk: Walk | None = None) -> str:
    """Render the picture, with the path of a run if there is one."""
    return "\n".join(_Writing(picture, walk).lines()) + "\n"


class _Writing:
    """Renders one picture."""

    def __init__(self, picture: Picture, walk: Walk | None) -> None:
        self.picture = picture = with_walk(picture, walk)
        self.walk = walk
        self.names = _names(picture)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text."""
        title = (self.picture.name, *self.picture.limits)
        if self.walk is not None:
            title = (self.picture.name, self.walk.run, self.walk.headline)
        yield "---"
        yield f"title: {_title(' · '.join(title))}"
        yield from ("config:", "  flowchart:", "    wrappingWidth: 340", "---")
        yield "flowchart TD"
        yield "  start(( ))"
        for box in self.picture.boxes:
            yield f'  {self.names[box.id]}["{"<br/>".join(self._box(box))}"]'
        yield f"  start --> {self.names[self.picture.entry]}"
        for index, route in enumerate(self.picture.routes):
            yield from (f"  {line}" for line in self._route(index, route))
        yield from (f"  {line}" for line in self._classes())
        for number, tree in enumerate(() if self.walk is None else self.walk.trees):
            yield from (f"  {line}" for line in tree_lines(tree, f"tasks{number}"))

    def _box(self, box: TeamBox) -> Iterator[str]:
        yield f"<b>{escaped(box.name)}</b>"
        id = () if box.id == box.name else (box.id,)
        kind = () if box.type == "standard" else (box.type,)
        if subtitle := (*id, *kind, *box.limits):
            yield f"<i>{escaped(' · '.join(subtitle))}</i>"
        if self.walk is not None:
            yield from filter(None, [" · ".join(words for words, _ in self.walk.badges(box.id))])
        yield from (self._task(box.id, task) for task in box.tasks)

    def _task(self, team: str, task: TaskLine) -> str:
        indent = "#nbsp;" * 4 * task.depth
        mark = self.walk.marks.get((team, task.path)) if self.walk and task.path else None
        sign = f"{_MARKS[mark]} " if mark else ""
        if task.kind is None:
            return f"{indent}{escaped(task.name)}"
        detail = [*task.detail, task.approval] if task.approval else list(task.detail)
        details = f": {escaped(' · '.join(detail))}" if detail else ""
        return f"{indent}{sign}{task.kind} <b>{escaped(task.name)}</b>{details}"

    def _route(self, index: int, route: RouteArrow) -> Iterator[str]:
        tail = self.names[route.team]
        orders = self._orders(route)
        arrow = "==>" if orders else "-->" if route.kind in ("rule", "end") else "-.->"
        words = "<br/>".join(self._words(route, orders))
        label = f'|"{words}"|' if words else ""
        if len(route.targets) > 1:
            point = f"fan{index}"
            meets = f", meet at {escaped(route.meets)}" if route.meets else ""
            yield f'{point}(["{words}<br/>all at once{meets}"])'
            yield f"{tail} {_HEADLESS[arrow]} {point}"
            yield from (f"{point} {arrow} {self.names[target]}" for target in route.targets)
        elif route.targets:
            yield f"{tail} {arrow}{label} {self.names[route.targets[0]]}"
        else:
            text = "the run fails" if route.ending == "failure" else "end"
            yield f'{tail} {arrow}{label} end{index}((("{text}")))'

    def _orders(self, route: RouteArrow) -> tuple[int, ...]:
        return () if self.walk is None else self.walk.orders(route)

    def _words(self, route: RouteArrow, orders: tuple[int, ...]) -> Iterator[str]:
        if orders:
            yield f"taken {', '.join(str(order) for order in orders)}"
        number = f"{route.number} · " if route.number is not None else ""
        for part in route.words:
            yield f"{number}{escaped(part)}"
            number = "and "

    def _classes(self) -> Iterator[str]:
        if self.walk is None:
            return
        for css, style in _CLASSES.items():
            members = [self.names[box.id] for box in self.picture.boxes if css == self._class(box)]
            if members:
                yield f"classDef {css} {style}"
                yield f"class {','.join(members)} {css}"

    def _class(self, box: TeamBox) -> str:
        if self.walk is None:
            return ""
        state = "visited" if self.walk.visits.get(box.id) else "unvisited"
        return self.walk.standing.get(box.id, state)


_TASK_STYLES: dict[GraphTaskStatus, str] = {
    "completed": "stroke:#1f7a4d,stroke-width:2px",
    "in_progress": "stroke:#1f5fd1,stroke-width:3px",
    "pending": "stroke-dasharray:4 4",
    "failed": "stroke:#b3261e,stroke-width:3px",
    "blocked": "stroke:#a85a00,stroke-width:2px",
    "skipped": "opacity:0.6",
}


def tree_lines(tree: TaskTree, name: str) -> Iterator[str]:
    """Yield the tasks of a graph as a group of their own, with an arrow for each dependency."""
    yield f'subgraph {name}["{escaped(tree.headline)}"]'
    nodes = tree.nodes.values()
    ids = {node.id: f"{name}_{number}" for number, node in enumerate(nodes)}
    for node in nodes:
        state = node.status.replace("_", " ")
        text = f"{TASK_SIGNS[node.status].text} <b>{escaped(node.id)}</b> · {state}"
        yield f'  {ids[node.id]}["{text}<br/>{escaped(node.because)}"]'
    for node in nodes:
        yield from (f"  {ids[before]} --> {ids[node.id]}" for before in node.dependencies)
    yield "end"
    for status, style in _TASK_STYLES.items():
        members = [ids[node.id] for node in nodes if node.status == status]
        if members:
            yield f"classDef task_{status} {style}"
            yield f"class {','.join(members)} task_{status}"


def _title(text: str) -> str:
    """Format a title: Mermaid has no escapes there and removes apparent markup."""
    safe_text = text.translate({ord("<"): "\u2039", ord(">"): "\u203a", ord("&"): "\uff06"})
    return json.dumps(safe_text, ensure_ascii=False)


def _names(picture: Picture) -> dict[str, str]:
    """Return unique Mermaid ids, `{team: id}`, of letters, digits and underscores."""
    names: dict[str, str] = {START: "start"}
    for box in picture.boxes:
        base = name = "team_" + re.sub(r"\W", "_", box.id, flags=re.ASCII)
        number = 2
        while name in names.values():
            name, number = f"{base}_{number}", number + 1
        names[box.id] = name
    return names


_ESCAPES = {
    "#": "#35;",
    "&": "#amp;",
    "<": "#lt;",
    ">": "#gt;",
    '"': "#quot;",
    "`": "#96;",
    "\\": "#92;",
    "\n": " ",
    "\r": " ",
}


def escaped(text: str) -> str:
    """Escape a text so that Mermaid shows it literally."""
    return "".join(_ESCAPES.get(character, character) for character in text)
