"""Report graders that could never give a verdict, before any run."""

from collections.abc import Sequence

from pydantic import JsonValue

from coterie.dsl.checks.steps.template_checks import parse_template
from coterie.dsl.errors import closest
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
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
                message = f"`schema` cannot be used: {problem}"
                self.problems.add("E505", self.tree.find(key_path).at, key_path, message)

    def _expression(self, grader: GraderDocument, path: NodePath) -> None:
        if is_template(grader.expression):
            self._template(grader.expression, path)
            return
        self.problems.add(
            "E105",
            self.tree.find(path).mark,
            path,
            f"the expression {grader.expression!r} is not a template, so it tests nothing",
            fix='write it in braces, such as "{{ output.total == expected }}"',
        )

    def _rubric(self, grader: GraderDocument, path: NodePath) -> None:
        """Check the templates; what a model wrote has no place in a rubric."""
        self._templates(grader.of, (*path, "of"))
        key_path = (*path, "rubric")
        if is_template(grader.rubric):
            self._template(grader.rubric, key_path, AUTHORED, "a rubric")
        elif len(grader.rubric) < _MIN_RUBRIC:
            message = f"a rubric has at least {_MIN_RUBRIC} characters"
            self.problems.add("E105", self.tree.find(key_path).mark, key_path, message)
        elif self.heuristics and grader.rubric.count('"') < 2:
            self.problems.add(
                "E105",
                self.tree.find(key_path).mark,
                key_path,
                "`judge.heuristics` looks for texts in double quotes, and this rubric has none",
                fix="quote the words that the value must have",
            )

    def _templates(self, value: JsonValue, path: NodePath) -> None:
        match value:
            case str():
                if is_template(value):
                    self._template(value, path)
            case dict():
                for key, item in value.items():
                    self._templates(item, (*path, key))
            case list():
                for number, item in enumerate(value):
                    self._templates(item, (*path, number))
            case _:
                pass

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
            if named[0] in known:
                continue
            meant = closest(named[0], known)
            self.problems.add(
                "E207",
                node.line(line, named[0]),
                path,
                f"{what} has no name {named[0]!r}",
                allowed=", ".join(known),
                fix="" if meant is None else f"did you mean {meant!r}?",
            )
