"""Checks of one team or plan: names, references, conditions and templates, with their positions."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from dsl.checks.steps.condition_checks import check_declared_data
from dsl.checks.steps.context_paths import check_read
from dsl.checks.steps.context_update_checks import check_updates
from dsl.checks.steps.known_answers import missing_field
from dsl.checks.steps.outputs import NO_OUTPUTS, Outputs
from dsl.checks.steps.step_checks import check_kind
from dsl.errors import Code
from dsl.evaluate.operators import WITHOUT_VALUE, wrong_value
from dsl.model.capabilities import Capabilities
from dsl.model.conditions import Condition, ContextField, Expression, TaskField, TaskStatus
from dsl.model.facts import GRAPH_VARIABLE, OWN_DATA, OWN_RESULT, RESERVED, ROOTS
from dsl.model.steps import LoopStep, ParallelStep, Step, TaskGraphStep
from dsl.model.tools.tool_section import ToolSection
from dsl.model.traversal.step_lists import step_lists
from dsl.model.traversal.step_walk import (
    asks_after,
    conditions,
    leaves,
    sets_as_well,
    templated,
    variables,
    walk,
)
from dsl.paths import Path
from dsl.paths import parse as parse_path
from dsl.regular_expressions import pattern
from dsl.source.nodes import Mark, Node, Problems
from dsl.source.unknown_names import unknown
from dsl.templates.fact_names import lacking
from dsl.templates.template import Template, is_template, parse
from dsl.templates.template_rules import BadTemplate
from dsl.values import UNREADABLE, Json, NodePath
from dsl.wording.condition_wording import (
    broken_pattern,
    broken_template,
    data_of_task,
    not_a_condition,
    template_as_value,
    text_around_condition,
    unknown_field,
    unknown_template_name,
    value_missing,
    value_of_operator,
)
from dsl.wording.step_wording import (
    loop_variable_taken,
    step_name_taken,
    step_name_with_separator,
    variable_name_refused,
)

EARLIER = "teams:"
"""Marks the paths that read outcomes of earlier teams."""

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
_TEMPLATE = re.compile(r"\{\{.*\}\}", re.DOTALL)


def parsed(
    text: str, node: Node, problems: Problems, path: NodePath, *, statements: bool = False
) -> Template | None:
    """Parse a template; None, and a problem, if that fails."""
    try:
        return parse(text, statements=statements)
    except BadTemplate as error:
        code = "E302" if error.forbidden else "E301"
        details = broken_template(str(error), error.name, error.known)
        problems.note(code, node.line(error.line), path, details)
        return None


@dataclass(slots=True)
class Checker:
    """Checks the names that the steps of one team or plan refer to."""

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
    reads: dict[str, None] = field(default_factory=dict[str, None])
    """Context paths that are read, in order; paths of earlier teams' outcomes are marked."""
    _own: str | None = None
    """The step whose result `data` and `seconds` are, where they are."""
    _own_names: Collection[str] = OWN_RESULT
    """What of that result has a name there."""
    _walked: list[tuple[Step, NodePath]] | None = None
    _names: dict[str, None] | None = None
    _variables: dict[str, NodePath] | None = None

    def run(self) -> None:
        """Check every step."""
        self._unique_names()
        self._variable_names()
        self._loop_variables(self.steps, self.path, {})
        for step, path in self.walked:
            for condition, place in conditions(step, path):
                self._own_names = _of_own_result(step, place)
                self._own = step.name if self._own_names else None
                self.condition(condition, place)
            self._own, self._own_names = None, OWN_RESULT
            for value in templated(step, path):
                self._own = _scored(step, value.path)
                self.value(value.value, value.path)
            self._own = step.name
            check_updates(self, step.context_updates, (*path, "context_updates"))
            self._own = None
            check_kind(self, step, path)

    @property
    def walked(self) -> list[tuple[Step, NodePath]]:
        """Every step of this team or plan with its place, in written order, nested ones too."""
        if self._walked is None:
            self._walked = list(walk(self.steps, self.path))
        return self._walked

    @property
    def task_names(self) -> dict[str, None]:
        """The names of all steps."""
        if self._names is None:
            self._names = dict.fromkeys(step.name for step, _ in self.walked)
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
            sets_as_well(step, variable) for step, _ in self.walked
        )

    def at(self, path: NodePath) -> Mark:
        """Return where the value at the path is written."""
        return self.tree.find(path).mark

    def _unique_names(self) -> None:
        first: dict[str, NodePath] = {}
        for step, path in self.walked:
            place = (*path, "name")
            if "/" in step.name or "#" in step.name:
                self.problems.note(
                    "E105", self.at(place), place, step_name_with_separator(step.name)
                )
            if step.name in first and step.name != UNREADABLE:
                line = self.at(first[step.name]).line
                self.problems.note("E208", self.at(place), place, step_name_taken(step.name, line))
            first.setdefault(step.name, place)

    def _variable_names(self) -> None:
        for name, path in self.variables.items():
            reserved = name in ROOTS or name in RESERVED
            if reserved or not _IDENTIFIER.match(name):
                place = (*self.path, *path)
                node = self.tree.find(place)
                self.problems.note(
                    "E105",
                    node.at if "values" in path else node.mark,
                    place,
                    variable_name_refused(name, (*ROOTS, *RESERVED)),
                )

    def _loop_variables(
        self, steps: Sequence[Step], path: NodePath, taken: Mapping[str, str]
    ) -> None:
        """Note a loop whose item has the name of an outer loop's item, which it would hide."""
        for index, step in enumerate(steps):
            here = (*path, index)
            inner = dict(taken)
            item, key = _item_variable(step)
            if item is not None:
                if item in taken:
                    place = (*here, key)
                    self.problems.note(
                        "E208", self.at(place), place, loop_variable_taken(item, taken[item])
                    )
                inner[item] = step.name
            for below in step_lists(step, here):
                self._loop_variables(below.steps, below.path, inner)

    def condition(self, condition: Condition, path: NodePath) -> None:
        """Check a condition: its tasks, operator values, regular expressions, templates."""
        for leaf, place in leaves(condition, path):
            match leaf:
                case TaskField(task=task) | TaskStatus(task=task):
                    if task not in self.task_names:
                        self.unknown("E206", "task", task, self.task_names, (*place, "task"))
                case ContextField(context_field=field_path):
                    self.reads[field_path] = None
                    self._context_field(leaf, (*place, "context_field"))
                case Expression(expression=text):
                    self._expression(text, place)
                case _:
                    pass
            if isinstance(leaf, TaskField):
                self._field(leaf.task, parse_path(leaf.output_field), (*place, "output_field"))
            if isinstance(leaf, TaskField | ContextField):
                self._operator_value(leaf, place)
            check_declared_data(leaf, self.outputs, self.tree, self.problems, place)

    def _expression(self, text: str, path: NodePath) -> None:
        if not is_template(text):
            self.problems.note("E109", self.at(path), path, not_a_condition(text))
            return
        self.value(text, (*path, "expression"))
        try:
            single = parse(text).single
        except BadTemplate:
            return  # reported with all templates
        if not single:
            self.problems.note("E109", self.at(path), path, text_around_condition(text))

    def _misfits(self, path: NodePath) -> bool:
        return any(p.code.startswith(("E1", "E401")) for p in self.problems.below(path))

    def _field(self, task: str, path: Path, place: NodePath) -> None:
        """Check that a task's data can have a value at the path."""
        self._known_field(
            self.outputs.tasks.get(task), data_of_task(task), path, place, self.at(place)
        )

    def _context_field(self, leaf: ContextField, place: NodePath) -> None:
        """Check that the path is declared, and that its declared form can have it."""
        path = parse_path(leaf.context_field)
        check_read(self, path, self.at(place), place)
        declared = self.outputs.declared(("context", *path))
        if declared is not None:
            self._known_field(declared.schema, declared.what, declared.path, place, self.at(place))

    def _known_field(
        self, schema: Json | None, what: str, path: Path, place: NodePath, mark: Mark
    ) -> None:
        """Check that data of a declared form can have a value at the path."""
        if UNREADABLE in path:
            return
        missing = missing_field(schema, path)
        if missing is not None and not self.problems.has("E303", place):
            self.problems.note(
                "E210", mark, place, unknown_field(what, path, missing.segment, missing.known)
            )

    def _operator_value(self, leaf: TaskField | ContextField, path: NodePath) -> None:
        place = (*path, "value")
        if self._misfits(path):
            return  # already reported: the missing field may be misspelled
        if "value" not in leaf.model_fields_set and leaf.operator not in WITHOUT_VALUE:
            self.problems.note(
                "E102", self.tree.find(path).at, place, value_missing(leaf.operator, WITHOUT_VALUE)
            )
            return
        if isinstance(leaf.value, str) and _TEMPLATE.search(leaf.value):
            self.problems.note("E402", self.at(place), place, template_as_value(leaf.value))
            return
        wrong = wrong_value(leaf.operator, leaf.value)
        if wrong is not None:
            self.problems.note(
                "E402", self.at(place), place, value_of_operator(leaf.operator, wrong, leaf.value)
            )
        elif leaf.operator == "matches" and isinstance(leaf.value, str):
            try:
                pattern(leaf.value)
            except ValueError as error:
                self.problems.note(
                    "E403", self.at(place), place, broken_pattern(leaf.value, str(error))
                )

    def value(self, value: object, path: NodePath, *, statements: bool = False) -> None:
        """Check every template in a value."""
        if isinstance(value, str):
            if is_template(value):
                self.template(value, path, statements=statements)
        elif isinstance(value, dict):
            for key, item in cast("dict[str, object]", value).items():
                self.value(item, (*path, key))
        elif isinstance(value, list):
            for index, item in enumerate(cast("list[object]", value)):
                self.value(item, (*path, index))

    def template(self, text: str, path: NodePath, *, statements: bool = False) -> None:
        """Check one template: it parses, and every name in it can have a value."""
        node = self.tree.find(path)
        template = parsed(text, node, self.problems, path, statements=statements)
        if template is None:
            return
        for named, line in template.paths.items():
            if named[0] == "context":
                self.reads[".".join(named[1:])] = None
            if named[0] == "teams":
                self.reads[EARLIER + ".".join(named[1:])] = None
            self._name(named, node.line(line, named[0]), path)

    def _name(self, named: Path, mark: Mark, path: NodePath) -> None:
        if self._own is not None and named[0] in self._own_names:
            named = ("tasks", self._own, *named)
        declared = self.outputs.declared(named)
        if declared is not None:
            self._known_field(declared.schema, declared.what, declared.path, path, mark)
        if named[0] == "context":
            check_read(self, named[1:], mark, path)
        wrong = lacking(named, self)
        if wrong is not None:
            known = [one for one in wrong.known if one != UNREADABLE]
            self.problems.note(
                "E207",
                mark,
                path,
                unknown_template_name(named, wrong.description, wrong.segment, known),
            )

    def unknown(
        self, code: Code, what: str, name: str, known: Collection[str], path: NodePath
    ) -> None:
        """Note a name that refers to nothing, with the names that exist."""
        unknown(self.problems, self.at(path), path, code, what, name, known)


def _item_variable(step: Step) -> tuple[str | None, str]:
    """Return the name of the current item of a loop, or task of a graph, and its key."""
    match step:
        case LoopStep():
            return step.loop_variable, "loop_variable"
        case TaskGraphStep():
            return step.task_variable, "task_variable"
        case _:
            return None, ""


def _of_own_result(step: Step, path: NodePath) -> Collection[str]:
    """Return what a condition of the step reads of the step's own result."""
    if path[-1] == "fail_when":
        return OWN_RESULT
    return OWN_DATA if asks_after(step, path) else ()


def _scored(step: Step, path: NodePath) -> str | None:
    """Return the step whose data the score of a branch reads: its last one."""
    if not isinstance(step, ParallelStep) or path[-1] != "score":
        return None
    steps = step.branch(str(path[-2])).steps
    return steps[-1].name if steps else None
