"""Report graders that could never give a verdict, before any run."""

from collections.abc import Sequence

from pydantic import JsonValue

from coterie.dsl.checks.steps.template_checks import parse_template
from coterie.dsl.errors import nearest
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.json_values import texts_within
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import NodePath
from coterie.evals.suite import EvalSuite
from coterie.evals.suite_document import GraderDocument
from coterie.evals.trial_end import AUTHORED, FACTS

_MIN_RUBRIC = 3


def check_graders(tree: Node, suite: EvalSuite, problems: Problems) -> None:
    """Report every unusable grader of the suite and its cases."""
    checks = _GraderChecks(tree, suite, problems)
    for number, grader in enumerate(suite.document.graders):
        checks.check(grader, ("graders", number))
    for index, case in enumerate(suite.document.cases):
        for number, grader in enumerate(case.graders):
            checks.check(grader, ("cases", index, "graders", number))


@rule("E505")
def unusable_grader_schema(reason: str) -> ProblemText:
    return ProblemText(f"`schema` cannot be used: {reason}")


@rule("E105")
def expression_without_braces(expression: str) -> ProblemText:
    return ProblemText(
        f"the expression {expression!r} is not a template, so it tests nothing",
        fix='write it in braces, such as "{{ output.total == expected }}"',
    )


@rule("E105")
def rubric_too_short() -> ProblemText:
    return ProblemText(f"a rubric has at least {_MIN_RUBRIC} characters")


@rule("E105")
def rubric_without_quotes() -> ProblemText:
    return ProblemText(
        "`judge.heuristics` looks for texts in double quotes, and this rubric has none",
        fix="quote the words that the value must have",
    )


@rule("E207")
def unknown_grader_name(what: str, name: str, known: Sequence[str]) -> ProblemText:
    return ProblemText(f"{what} has no name {name!r}", ", ".join(known), nearest(name, known))


class _GraderChecks:
    def __init__(self, tree: Node, suite: EvalSuite, problems: Problems) -> None:
        self.tree = tree
        self.problems = problems
        worker = suite.variants[0].document.trusted
        self.commands = worker.commands.keys()
        self.heuristics = suite.document.judge.heuristics

    def check(self, grader: GraderDocument, path: NodePath) -> None:
        """Check the templates, the schema and the command of one grader."""
        if grader.has("expression"):
            self._expression(grader, (*path, "expression"))
        elif grader.has("rubric"):
            self._rubric(grader, path)
        elif grader.has("command"):
            key_path = (*path, "command")
            if grader.command not in self.commands:
                known = self.commands
                unknown(
                    self.problems, self.tree.value_at(key_path), "command", grader.command, known
                )
        else:
            self._templates(grader.of, (*path, "of"))
            self._templates(grader.exact, (*path, "exact"))
            problem = schema_problem(grader.schema_)
            if problem is not None:
                key_path = (*path, "schema")
                self.problems.report(unusable_grader_schema(problem), self.tree.key_at(key_path))

    def _expression(self, grader: GraderDocument, path: NodePath) -> None:
        if is_template(grader.expression):
            self._template(grader.expression, path)
        else:
            details = expression_without_braces(grader.expression)
            self.problems.report(details, self.tree.value_at(path))

    def _rubric(self, grader: GraderDocument, path: NodePath) -> None:
        """Check the templates; what a model wrote has no place in a rubric."""
        self._templates(grader.of, (*path, "of"))
        key_path = (*path, "rubric")
        if is_template(grader.rubric):
            self._template(grader.rubric, key_path, AUTHORED, "a rubric")
        elif len(grader.rubric) < _MIN_RUBRIC:
            self.problems.report(rubric_too_short(), self.tree.value_at(key_path))
        elif self.heuristics and grader.rubric.count('"') < 2:
            self.problems.report(rubric_without_quotes(), self.tree.value_at(key_path))

    def _templates(self, value: JsonValue, path: NodePath) -> None:
        for text, place in texts_within(value, path):
            if is_template(text):
                self._template(text, place)

    def _template(
        self,
        text: str,
        path: NodePath,
        known: Sequence[str] = FACTS,
        what: str = "a grader",
    ) -> None:
        """Report what does not parse, and names that there are not."""
        node = self.tree.find(path)
        template = parse_template(text, node, self.problems, path)
        for named, line in () if template is None else template.paths.items():
            if named[0] not in known:
                details = unknown_grader_name(what, named[0], known)
                self.problems.report(details, Place(node.line(line, named[0]), path))
