"""Pictures to test: a small team, one of every kind, and an SVG read back as shapes and texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree.ElementTree import Element, fromstring

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.product_capabilities import capabilities
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.settings import load
from tests.support.pictures.wide_font import wide as wide_font_width

SVG = "{http://www.w3.org/2000/svg}"
_FONT = re.compile(r"\.([\w-]+) { font: (\d+) ([\d.]+)px [^;]+; text-anchor: (\w+); }")
HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  providers: { scripted: { answers: answers.yml } }
  personas:
    writer: { prompts: { user: "Write {{ input }}" } }
    planner:
      execution_plan:
        - { name: look, skill: Discovery.collect, input: { path: "." } }
        - name: each
          type: loop
          iterate_on: "{{ [1, 2] }}"
          loop_variable: item
          body:
            - { name: write, agent_type: generic_single_shot, persona_key: writer,
                input: "{{ item }}", requires_approval: after }
"""
SMALL = f"""{HEAD}
orchestration:
  entry_team: draft
  max_total_teams: 9
  teams:
    draft:
      name: Draft
      max_recursion_depth: 3
      tasks:
        - {{ name: write, agent_type: generic_single_shot, persona_key: writer, input: it }}
      routing:
        rules:
          - {{ condition: {{ task: write, output_field: status, operator: eq, value: OK }},
              next_team: review, context_updates: {{ text: "{{{{ tasks.write.data.text }}}}" }} }}
          - {{ condition: [ all_success, "{{{{ run.visit < 2 }}}}" ], next_team: draft }}
        default: null
    review:
      tasks:
        - {{ name: sign_off, type: approval, prompt: Is it good?, approvers: [ada], deadline: 2d }}
      routing:
        rules:
          - {{ condition: {{ task: sign_off, status: success }}, next_team: null }}
          - {{ condition: any_failure, next_team: draft }}
"""
EVERY_KIND = f"""{HEAD}
orchestration:
  entry_team: begin
  no_progress: fail
  teams:
    begin:
      name: 'Begin <script>alert("1")</script> & go'
      tasks:
        - {{ name: ask, agent_type: generic_single_shot, persona_key: writer, input: hi,
            requires_approval: true, timeout: 5m, retry: {{ retries: 2 }} }}
        - {{ name: by_plan, agent_type: generic_orchestrating, persona_key: planner }}
        - name: choose
          type: branch
          branches:
            - condition: {{ context_field: mode, operator: in, value: [fast, slow] }}
              steps: [{{ name: keep, type: set, values: {{ a: 1 }} }}]
          otherwise: [{{ name: rest, type: wait, duration: 90s }}]
        - name: both
          type: parallel
          join: any
          branches:
            left: [{{ name: signalled, type: wait, signal: go, deadline: 2d }}]
            right: [{{ name: elsewhere, type: team, team: helper }}]
        - name: careful
          type: try
          steps:
            - {{ name: risky, agent_type: generic_single_shot, persona_key: writer, input: x,
                when: "{{{{ context.a_long_name.of_something > 3 and context.other == 'y' }}}}" }}
          catch:
            - {{ error: [ProviderFailed], steps: [{{ name: give_up, type: fail, message: no }}] }}
          finally: [{{ name: last, type: set, values: {{ z: 1 }} }}]
      routing:
        rules:
          - condition: {{ or: [ {{ context_field: a.b, operator: exists }}, any_failure ] }}
            next_team: [alpha, beta, gamma]
          - {{ condition: any_success, next_team: begin }}
    alpha:
      tasks: [{{ name: one, agent_type: generic_single_shot, persona_key: writer, input: hi }}]
      routing: {{ rules: [{{ condition: all_success, next_team: gather }}] }}
    beta:
      type: loop
      loop: {{ while: {{ context_field: n, operator: less_than, value: 3 }}, max_iterations: 7 }}
      tasks: [{{ name: two, agent_type: generic_single_shot, persona_key: writer, input: hi }}]
      routing: {{ default: gather }}
    gamma:
      type: approval
      approval: {{ prompt: May it? }}
      tasks: [{{ name: three, agent_type: generic_single_shot, persona_key: writer, input: hi }}]
      routing: {{ rules: [{{ next_team: gather }}] }}
    gather:
      type: concentrator
      collect: {{ count: 2, timeout: 1h, aggregate: merge_dict }}
      routing: {{ default: lonely }}
    helper:
      tasks: [{{ name: four, agent_type: generic_single_shot, persona_key: writer, input: hi }}]
    lonely:
      name: "\\u4e00\\u4e2a\\u56e2\\u961f"
      stop_on_failure: false
      tasks:
        - {{ name: a_task_with_a_name_that_somebody_has_made_longer_than_any_box_is_wide, type: set,
            values: {{ q: 1 }} }}
      routing: {{ default: lonely }}
"""
SHIPPED = ("development", "requirements", "implementation_review", "test_automation")


def plan_of(text: str, name: str = "example") -> Plan:
    """The plan of a document."""
    source = SourceText(f"{name}.yml", text)
    return compile_sources([source], capabilities(), name=name).plan


def shipped_plan(name: str) -> Plan:
    """The plan of a team that the product ships."""
    catalog = Catalog(load(environ={}))
    return compile_located(catalog, catalog.locate(name)).plan


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of a drawing."""

    css: str
    left: float
    top: float
    right: float
    bottom: float
    text: str = ""

    def meets(self, other: "Box", by: float = 0.5) -> bool:
        """Whether the two share more than their edges."""
        return (
            self.left < other.right - by
            and other.left < self.right - by
            and self.top < other.bottom - by
            and other.top < self.bottom - by
        )

    def holds(self, other: "Box") -> bool:
        """Whether the other lies in it."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


class Drawing:
    """An SVG, read back as a program draws it that has no font but the widest common one."""

    def __init__(self, text: str) -> None:
        self.root = fromstring(text)
        style = self.root.findtext(f"{SVG}style", "")
        self._fonts = {
            css: (weight == "700", float(size), anchor)
            for css, weight, size, anchor in _FONT.findall(style)
        }

    @property
    def page(self) -> Box:
        """The whole page."""
        return Box("", 0, 0, float(self.root.get("width", 0)), float(self.root.get("height", 0)))

    def groups(self, css: str) -> list[Element]:
        """The groups of a class."""
        return [
            group for group in self.root.iter(f"{SVG}g") if css in group.get("class", "").split()
        ]

    def frames(self, css: str) -> list[Box]:
        """The frames of a class, where they are on the page."""
        return [
            _frame(element, x, y)
            for element, x, y in _placed(self.root)
            if element.tag == f"{SVG}g" and css in element.get("class", "").split()
        ]

    def texts(self) -> list[Box]:
        """Every line of text, as large as it is drawn."""
        return [
            self._line(element, x, y)
            for element, x, y in _placed(self.root)
            if element.tag == f"{SVG}text"
        ]

    def words(self) -> str:
        """All texts in their order."""
        return "\n".join(box.text for box in self.texts())

    def _line(self, element: Element, x: float, y: float) -> Box:
        classes = element.get("class", "").split()
        bold, size, anchor = self._fonts[classes[0]]
        wide = wide_font_width(element.text or "", size, bold=bold)
        shift = {"middle": wide / 2, "end": wide}.get(anchor, 0.0)
        left, base = x + float(element.get("x", 0)) - shift, y + float(element.get("y", 0))
        top, bottom = base - 0.73 * size, base + 0.2 * size
        return Box(classes[-1], left, top, left + wide, bottom, element.text or "")


def hold_apart(drawn: Drawing) -> None:
    """Nothing lies over anything else, and nothing leaves its box or the page."""
    frames = [*drawn.frames("box"), *drawn.frames("chip")]
    assert frames
    for one, other in combinations(frames, 2):
        assert not one.meets(other), (one, other)
    texts = drawn.texts()
    for one, other in combinations(texts, 2):
        assert not one.meets(other), (one, other)
    for text in texts:
        assert drawn.page.holds(text), text
        for frame in frames:
            assert frame.holds(text) or not frame.meets(text), (frame, text)


def words_in(group: Element) -> str:
    """The texts of a group, without what a pointer over it tells."""
    return " ".join(text.text or "" for text in group.iter(f"{SVG}text"))


def title_of(group: Element) -> str:
    """What a pointer over a group tells."""
    return group.findtext(f"{SVG}title", "")


def _placed(
    element: Element, x: float = 0.0, y: float = 0.0
) -> Iterator[tuple[Element, float, float]]:
    moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    yield element, x, y
    for child in element:
        yield from _placed(child, x, y)


def _frame(group: Element, x: float, y: float) -> Box:
    path = group.find(f"{SVG}path")
    assert path is not None
    numbers = [float(number) for number in re.findall(r"[-\d.]+", path.get("d", ""))]
    across, down = numbers[::2], numbers[1::2]
    return Box(
        group.get("class", ""), x + min(across), y + min(down), x + max(across), y + max(down)
    )
