"""The scope of a step: what is known where it stands, and who collects its problems."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.checks.contracts.outputs import NO_OUTPUTS, Outputs
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.facts import GRAPH_VARIABLE
from coterie.dsl.model.steps import Step
from coterie.dsl.model.tools.tool_section import ToolSection
from coterie.dsl.model.traversal.step_walk import variables, walk
from coterie.dsl.problem_details import Details
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import NodePath


@dataclass(frozen=True, slots=True)
class OutsideReads:
    """Paths that are read, in order."""

    context: dict[str, None] = field(default_factory=dict[str, None])
    """Paths of the context; the empty path is the whole context."""
    teams: dict[str, None] = field(default_factory=dict[str, None])
    """Paths below `teams`: outcomes of earlier teams."""

    def add(self, other: "OutsideReads") -> None:
        """Add what is read elsewhere, too."""
        self.context.update(other.context)
        self.teams.update(other.teams)


class TextSpot(NamedTuple):
    """A value of the document, or a word in it."""

    path: NodePath
    line: int = 0
    """The line of the text, from 1; 0 for the whole value."""
    word: str = ""


@dataclass(slots=True)
class StepScope:
    """The steps of one team or plan, and everything that a check of them may know."""

    tree: Node
    problems: Problems
    capabilities: Capabilities
    teams: Mapping[str, Collection[str]]
    """`{team id: its task names}`."""
    steps: Sequence[Step]
    path: NodePath
    inputs: Collection[str] | None = None
    """The names that `input` has here; None if they are not known."""
    tools: Mapping[str, ToolSection] = field(default_factory=dict[str, ToolSection])
    """The tools that the document declares."""
    given: Collection[str] = ()
    """Variables that exist from the start."""
    outputs: Outputs = NO_OUTPUTS
    """The declared forms of task data and variables."""
    flags: Collection[str] | None = None
    """The persona's flags, which its prompts may name; None outside of prompts."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The constants of the document."""
    reads: OutsideReads = field(default_factory=OutsideReads)
    """What is read of the context and of earlier teams."""
    _steps_with_paths: list[tuple[Step, NodePath]] | None = None
    _names: dict[str, None] | None = None
    _variables: dict[str, NodePath] | None = None

    @property
    def steps_with_paths(self) -> list[tuple[Step, NodePath]]:
        """Every step of this team or plan with its place, in written order, nested ones too."""
        if self._steps_with_paths is None:
            self._steps_with_paths = list(walk(self.steps, self.path))
        return self._steps_with_paths

    @property
    def task_names(self) -> dict[str, None]:
        """The names of all steps."""
        if self._names is None:
            self._names = dict.fromkeys(step.name for step, _ in self.steps_with_paths)
        return self._names

    @property
    def variables(self) -> dict[str, NodePath]:
        """The variables that steps set, and where."""
        if self._variables is None:
            self._variables = variables(self.steps)
        return self._variables

    @property
    def only_caught(self) -> bool:
        """Whether `error` is only the failure that a `catch` caught."""
        return self._only_set_by_kind("error")

    @property
    def only_graph(self) -> bool:
        """Whether `graph` is only what a task graph sets."""
        return self._only_set_by_kind(GRAPH_VARIABLE)

    def _only_set_by_kind(self, variable: str) -> bool:
        return variable not in self.given and not any(
            step.sets(variable) for step, _ in self.steps_with_paths
        )

    def of_prompts(self, inputs: Collection[str] | None, flags: Collection[str]) -> "StepScope":
        """Return the scope of an agent's prompts: with its input and flags, and without tools."""
        caches = {
            "_steps_with_paths": self.steps_with_paths,
            "_names": self.task_names,
            "_variables": self.variables,
        }
        return replace(self, inputs=inputs, flags=flags, tools={}, reads=OutsideReads(), **caches)

    def of_output(self, path: NodePath) -> "StepScope":
        """Return the scope of the output written at a path: variables end with their visit."""
        outputs = self.outputs._replace(variables={})
        return replace(
            self,
            path=path,
            given=(),
            tools={},
            outputs=outputs,
            reads=OutsideReads(),
            _variables={},
        )

    def at(self, path: NodePath) -> Mark:
        """Return where the value at the path is written."""
        return self.tree.find(path).mark

    def has_problem(self, path: NodePath) -> bool:
        """Return whether the value at the path, or one in it, has a problem already."""
        return next(self.problems.below(path), None) is not None

    def report(self, details: Details, path: NodePath) -> None:
        """Note a problem at the key of the value at the path."""
        self.problems.report(details, self.tree.key_at(path))

    def report_value(self, details: Details, path: NodePath) -> None:
        """Note a problem at the value at the path."""
        self.problems.report(details, self.tree.value_at(path))

    def report_spot(self, details: Details, spot: TextSpot) -> None:
        """Note a problem at a value, or at a word in it."""
        node = self.tree.find(spot.path)
        mark = node.line(spot.line, spot.word) if spot.line else node.mark
        self.problems.report(details, Place(mark, spot.path))

    def unknown(self, what: str, name: str, known: Collection[str], path: NodePath) -> None:
        """Note a name that refers to nothing, with the names that exist."""
        unknown(self.problems, self.tree.value_at(path), what, name, known)
