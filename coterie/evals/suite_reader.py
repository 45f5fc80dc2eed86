"""Read a suite file: report all its problems, or return what to run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from coterie.documents.compilation import CompiledDocument, compile_target, startable
from coterie.dsl.checks.steps.template_checks import parse_template
from coterie.dsl.compile.shapes import parse_as
from coterie.dsl.errors import InvalidDocument, TemplateFailed, nearest
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.json_values import texts_within
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import NodePath
from coterie.evals.suite import EvalSuite, Variant, context_of
from coterie.evals.suite_document import (
    EvalCaseDocument,
    GraderDocument,
    SuiteDocument,
    VariantDocument,
)
from coterie.evals.trial_end import AUTHORED, FACTS
from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.testing.files.case_references import check_names, check_paths
from coterie.testing.files.team_file import TeamFileReader, case_cannot_start, merged_context

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
                commands = self.commands
                unknown(
                    self.problems, self.tree.value_at(key_path), "command", grader.command, commands
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
        names: Sequence[str] = FACTS,
        what: str = "a grader",
    ) -> None:
        """Report what does not parse, and names that there are not."""
        node = self.tree.find(path)
        template = parse_template(text, node, self.problems, path)
        for named, line in () if template is None else template.paths.items():
            if named[0] not in names:
                details = unknown_grader_name(what, named[0], names)
                self.problems.report(details, Place(node.line(line, named[0]), path))


_JUDGE = "judge"
"""The team that judges rubrics, shipped or the project's own."""
DEFAULT_VARIANT = VariantDocument(name="default")


def read_suite(settings: Settings, target: str) -> EvalSuite:
    """Read a suite file, and compile its team for each variant.

    Raises:
        InvalidDocument: With every problem of the file, or of a variant's team.
        CommandError: A package of tools cannot be used.
    """
    return _SuiteReader(settings, settings.cwd / target).read()


@rule("E105")
def takes_no_messages(team: str) -> ProblemText:
    return ProblemText(f"{team} takes no messages", fix="put the task into `context`")


@rule("E102")
def case_without_messages(team: str, case: str) -> ProblemText:
    return ProblemText(
        f"{team} is a session, and the case {case!r} says nothing", fix="add `messages` to the case"
    )


class _SuiteReader(TeamFileReader):
    def read(self) -> EvalSuite:
        tree = self.tree()
        document, _ = parse_as(tree, SuiteDocument, self.problems)
        for key, what in (("cases", "a case"), ("variants", "a variant")):
            fix = "give each a unique name: results are compared by it"
            check_names(tree, key, what, fix, self.problems)
        check_paths(tree, self.problems)
        workspace, settings = self.workspace(tree)
        target = self.target(tree, settings)
        if self.problems.errors or document is None or target is None:
            raise InvalidDocument(self.problems.errors)
        variants = tuple(self._variants(tree, document, settings, target))
        self.stop_on_errors()
        judge = self._judge(tree, document, settings)
        self.stop_on_errors()
        suite = EvalSuite(document, self.shown, settings, workspace, variants, judge)
        for number, case in enumerate(document.cases):
            self._check_case(tree.find(("cases", number)), ("cases", number), suite, case)
        check_graders(tree, suite, self.problems)
        self.stop_on_errors()
        return suite

    def _variants(
        self, tree: Node, document: SuiteDocument, settings: Settings, target: str
    ) -> Iterator[Variant]:
        """Compile the team for each variant.

        Raises:
            InvalidDocument: The team does not compile.
        """
        for number, variant in enumerate(document.variants or (DEFAULT_VARIANT,)):
            path: NodePath = ("variants", number)
            override = self._override(tree, path, variant.override)
            is_named = self.is_model(tree, (*path, "model"), variant.model)
            if not is_named or self.problems.errors:
                continue
            compiled = compile_target(
                settings,
                target,
                model=variant.model,
                workspace=str(self.file.parent),
                override=override,
            )
            context = merged_context(document.context, variant.context)
            yield Variant(variant.name, compiled, context)

    def _judge(
        self, tree: Node, document: SuiteDocument, settings: Settings
    ) -> CompiledDocument | None:
        """Compile the team `judge` if a grader has a rubric.

        Raises:
            InvalidDocument: The team does not compile.
        """
        graders = (
            *document.graders,
            *(grader for case in document.cases for grader in case.graders),
        )
        judge = document.judge
        override = self._override(tree, ("judge",), judge.override)
        is_named = self.is_model(tree, ("judge", "model"), judge.model)
        if (
            not is_named
            or self.problems.errors
            or not any(grader.has("rubric") for grader in graders)
        ):
            return None
        return compile_target(
            settings,
            _JUDGE,
            model=judge.model,
            workspace=str(self.file.parent),
            override=override,
        )

    def _override(self, tree: Node, path: NodePath, override: str | None) -> Path | None:
        if override is None:
            return None
        file = self.file.parent / override
        if file.is_file():
            return file.resolve()
        self.not_there(tree, (*path, "override"), "file")
        return None

    def _check_case(
        self, node: Node, path: NodePath, suite: EvalSuite, case: EvalCaseDocument
    ) -> None:
        """Report what keeps the runs of a case from starting, once for all variants."""
        for variant in suite.variants:
            plan = variant.document.compiled.plan
            if bool(case.messages) != bool(message_waits(plan)):
                self._note_messages(node, path, suite, case)
                return
            try:
                context = context_of(variant, case, 1)
                startable(variant.document.compiled, context, how="set it in `context`")
            except (TemplateFailed, CommandError) as error:
                with_variant = "" if len(suite.variants) == 1 else f" with {variant.name!r}"
                context_node = node.find(("context",))
                details = case_cannot_start(case.name, str(error), under=with_variant)
                self.problems.report(details, Place(context_node.at, (*path, "context")))
                return

    def _note_messages(
        self, node: Node, path: NodePath, suite: EvalSuite, case: EvalCaseDocument
    ) -> None:
        if case.messages:
            messages_node = node.find(("messages",))
            details = takes_no_messages(suite.document.team)
            self.problems.report(details, Place(messages_node.at, (*path, "messages")))
        else:
            details = case_without_messages(suite.document.team, case.name)
            self.problems.report(details, Place(node.at, (*path, "messages")))
