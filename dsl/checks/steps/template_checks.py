"""Checks of templates: they parse, and every name in them can have a value."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from coterie.dsl.checks.contracts.known_answers import missing_field
from coterie.dsl.checks.contracts.outputs import Declared
from coterie.dsl.checks.steps.context_paths import check_read, unknown_field
from coterie.dsl.checks.steps.step_scope import StepScope, TextSpot
from coterie.dsl.errors import listed, nearest
from coterie.dsl.json_values import texts_within
from coterie.dsl.model.facts import OWN_DATA, OWN_RESULT
from coterie.dsl.model.steps import ParallelStep, Step
from coterie.dsl.model.traversal.step_walk import asks_after
from coterie.dsl.paths import Path
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.templates.fact_names import lacking
from coterie.dsl.templates.template import Template, is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import UNREADABLE, NodePath


class OwnResult(NamedTuple):
    """The step whose result `data` and `seconds` are, where a template stands."""

    step: str
    names: Collection[str] = OWN_RESULT
    """What of the result has a name there."""

    @classmethod
    def of_condition(cls, step: Step, path: NodePath) -> "OwnResult | None":
        """Return what a condition of the step reads of the step's own result."""
        if path[-1] == "fail_when":
            return cls(step.name)
        return cls(step.name, OWN_DATA) if asks_after(step, path) else None

    @classmethod
    def of_score(cls, step: Step, path: NodePath) -> "OwnResult | None":
        """Return what the score of a branch reads: the result of the last step of the branch."""
        if path[-1] != "score" or not isinstance(step, ParallelStep):
            return None
        steps = step.branch(str(path[-2])).steps
        return cls(steps[-1].name) if steps else None


@rule("E301")
def broken_template(reason: str, name: str = "", known: Collection[str] = ()) -> ProblemText:
    return _broken_template(reason, name, known)


@rule("E302")
def forbidden_template(reason: str, name: str = "", known: Collection[str] = ()) -> ProblemText:
    return _broken_template(reason, name, known)


def _broken_template(reason: str, name: str, names: Collection[str]) -> ProblemText:
    fix = nearest(name, names)
    allowed = listed(names) if names and not fix else ""
    return ProblemText(f"the template does not work: {reason}", allowed, fix)


def parse_template(
    text: str, node: Node, problems: Problems, path: NodePath, *, statements: bool = False
) -> Template | None:
    """Parse a template; None, and a problem, if that fails."""
    try:
        return parse(text, statements=statements)
    except BadTemplate as error:
        words = forbidden_template if error.forbidden else broken_template
        details = words(str(error), error.name, error.known)
        problems.report(details, Place(node.line(error.line), path))
        return None


def check_value(
    scope: StepScope,
    value: object,
    path: NodePath,
    own: OwnResult | None = None,
    *,
    statements: bool = False,
) -> None:
    """Check every template in a value."""
    for text, place in texts_within(value, path):
        if is_template(text):
            check_template(scope, text, place, own, statements=statements)


def check_template(
    scope: StepScope,
    text: str,
    path: NodePath,
    own: OwnResult | None = None,
    *,
    statements: bool = False,
) -> None:
    """Check one template: it parses, and every name in it can have a value."""
    node = scope.tree.find(path)
    template = parse_template(text, node, scope.problems, path, statements=statements)
    if template is None:
        return
    for named, line in template.paths.items():
        if named[0] == "context":
            scope.reads.context[".".join(named[1:])] = None
        if named[0] == "teams":
            scope.reads.teams[".".join(named[1:])] = None
        spot = TextSpot(path, line, named[0])
        if own is not None and named[0] in own.names:
            named = ("tasks", own.step, *named)
        _check_name(scope, named, spot)


@rule("E207")
def unknown_template_name(
    path: Sequence[str], reason: str, segment: str, known: Collection[str]
) -> ProblemText:
    readable = [name for name in known if name != UNREADABLE]
    return ProblemText(
        f"the template names {'.'.join(path)}, and {reason}",
        listed(readable),
        nearest(segment, readable),
    )


def _check_name(scope: StepScope, named: Path, spot: TextSpot) -> None:
    declared = scope.outputs.declared(named)
    if declared is not None:
        check_field(scope, declared, spot)
    if named[0] == "context":
        check_read(scope, named[1:], spot)
    wrong = lacking(named, scope)
    if wrong is not None:
        details = unknown_template_name(named, wrong.description, wrong.segment, wrong.known)
        scope.report_spot(details, spot)


def check_field(scope: StepScope, declared: Declared, spot: TextSpot) -> None:
    """Check that data of a declared form can have a value at the path."""
    owner, schema, path = declared
    if UNREADABLE in path:
        return
    missing = missing_field(schema, path)
    if missing is not None and not scope.problems.has("E303", spot.path):
        names = missing.known if scope.problems.describes("E210") else ()
        scope.report_spot(unknown_field(owner, path, missing.segment, names), spot)
