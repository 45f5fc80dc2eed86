"""What the checks of every kind of trigger share: names, templates, the context of a start."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from coterie.dsl.checks.contracts.outputs import NO_OUTPUTS
from coterie.dsl.checks.steps.context_paths import check_team_input
from coterie.dsl.checks.steps.step_scope import StepScope, TextSpot
from coterie.dsl.checks.steps.template_checks import parse_template
from coterie.dsl.errors import listed, nearest
from coterie.dsl.evaluate.declared_values import form_of
from coterie.dsl.json_values import texts_within
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.context.declarations import Declarations
from coterie.dsl.paths import Path, parse
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.template import Template, is_template
from coterie.dsl.values import Json, JsonValue, NodePath

Names = Mapping[str, Collection[str] | None]
"""`{name that a template may read: its fields, or None if they are not known}`."""


@rule("E207")
def trigger_sees_not(path: str, name: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the template names {path}, and a trigger does not see {name!r} there",
        listed(known),
        nearest(name, known) or "use one of these names",
    )


@rule("E102")
def start_lacks(path: str, form: str) -> ProblemText:
    return ProblemText(
        f"`context` does not give {path!r}, without which no run starts: {form}",
        fix=f"add {path!r} to `context`, or give it a `default` under `orchestration.context`",
    )


@dataclass(frozen=True, slots=True)
class TriggerScope:
    """What the checks of the triggers of one document know."""

    tree: Node
    problems: Problems
    capabilities: Capabilities
    declared: Declarations
    """The context that the document declares."""
    signals: Collection[str]
    """The names for which its steps wait."""

    def check_templates(self, value: JsonValue, path: NodePath, names: Names) -> list[Template]:
        """Check every template in a value; return those that are sound."""
        sound: list[Template] = []
        for text, place in texts_within(value, path):
            if not is_template(text):
                continue
            template = parse_template(text, self.tree.find(place), self.problems, place)
            if template is not None and self._sees(template, place, names):
                sound.append(template)
        return sound

    def _sees(self, template: Template, path: NodePath, names: Names) -> bool:
        """Return whether all names have a value; note the first that has none."""
        for named, line in template.paths.items():
            root, *below = named
            known: Collection[str] = tuple(names)
            unseen = None if root in names else root
            fields = names.get(root)
            if fields is not None and below and below[0] not in fields:
                known, unseen = fields, below[0]
            if unseen is not None:
                details = trigger_sees_not(".".join(named), unseen, known)
                self._scope(path).report_spot(details, TextSpot(path, line, root))
                return False
        return True

    def check_context(self, context: Json, path: NodePath, names: Names) -> None:
        """Check the context of the runs that a trigger starts."""
        self.check_templates(context, path, names)
        self.check_given(context, path)

    def check_given(self, context: Json, path: NodePath) -> None:
        """Check the context of the runs against what the document declares."""
        if not self.declared:
            return
        check_team_input(self._scope(path), context, path)
        for needed, declaration in self.declared.items():
            if declaration.required and not may_give(context, parse(needed)):
                details = start_lacks(needed, form_of(declaration))
                at = path if self.tree.has(path) else path[:-1]
                self.problems.report(details, self.tree.key_at(at))

    def _scope(self, path: NodePath) -> StepScope:
        outputs = NO_OUTPUTS._replace(context=self.declared)
        return StepScope(self.tree, self.problems, self.capabilities, {}, (), path, outputs=outputs)


def may_give(context: Json, path: Path) -> bool:
    """Return whether the context has a value at a path, or a template that may give it."""
    value: JsonValue = context
    for segment in path:
        if isinstance(value, str) and is_template(value):
            return True
        if not isinstance(value, dict) or segment not in value:
            return False
        value = value[segment]
    return True


def roots_of(templates: Collection[Template]) -> Iterator[Path]:
    """Yield every path that the templates read."""
    for template in templates:
        yield from template.paths
