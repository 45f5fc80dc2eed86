"""Read a suite file: report all its problems, or return what to run."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from coterie.argument_values import read_text
from coterie.documents.catalog import Catalog, shown
from coterie.documents.compilation import CompiledDocument, compile_target, startable
from coterie.dsl.compile.shapes import parse_as
from coterie.dsl.errors import InvalidDocument, TemplateFailed
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import NodePath
from coterie.evals.grader_checks import check_graders
from coterie.evals.suite import EvalSuite, Variant, context_of
from coterie.evals.suite_document import EvalCaseDocument, SuiteDocument, VariantDocument
from coterie.failures import CommandError
from coterie.settings import OVERRIDE_FILE, Settings
from coterie.testing.files.case_reader import case_cannot_start, is_model, merged_context
from coterie.testing.files.case_references import check_names, check_paths

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


@rule("E001")
def named_nothing(key: str, name: object, what: str) -> ProblemText:
    return ProblemText(
        f"`{key}` names {name}, which is not a {what}", fix=f"name a {what}, relative to this suite"
    )


@rule("E105")
def takes_no_messages(team: str) -> ProblemText:
    return ProblemText(f"{team} takes no messages", fix="put the task into `context`")


@rule("E102")
def case_without_messages(team: str, case: str) -> ProblemText:
    return ProblemText(
        f"{team} is a session, and the case {case!r} says nothing", fix="add `messages` to the case"
    )


class _SuiteReader:
    def __init__(self, settings: Settings, file: Path) -> None:
        self.settings = settings
        self.file = file
        self.shown = shown(file, settings)
        self.problems = Problems()

    def read(self) -> EvalSuite:
        tree = read(read_text(self.file, self.shown), self.shown)
        document, _ = parse_as(tree, SuiteDocument, self.problems)
        for key, what in (("cases", "a case"), ("variants", "a variant")):
            fix = "give each a unique name: results are compared by it"
            check_names(tree, key, what, fix, self.problems)
        check_paths(tree, self.problems)
        workspace = self._workspace(tree)
        settings = self._settings_of(workspace)
        target = self._target(tree, Catalog(settings))
        if self.problems.errors or document is None or target is None:
            raise InvalidDocument(self.problems.errors)
        variants = tuple(self._variants(tree, document, settings, target))
        if self.problems.errors:
            raise InvalidDocument(self.problems.errors)
        judge = self._judge(tree, document, settings)
        if self.problems.errors:
            raise InvalidDocument(self.problems.errors)
        suite = EvalSuite(document, self.shown, settings, workspace, variants, judge)
        for number, case in enumerate(document.cases):
            self._check_case(tree.find(("cases", number)), ("cases", number), suite, case)
        check_graders(tree, suite, self.problems)
        if self.problems.errors:
            raise InvalidDocument(self.problems.errors)
        return suite

    def _workspace(self, tree: Node) -> Path | None:
        node = tree.child("workspace")
        if node is None or not isinstance(node.value, str):
            return None
        folder = self.file.parent / node.value
        if not folder.is_dir():
            self._not_there(node, ("workspace",), "workspace", "folder")
            return None
        return folder.resolve()

    def _settings_of(self, workspace: Path | None) -> Settings:
        if workspace is not None and (workspace / OVERRIDE_FILE).is_file():
            return replace(self.settings, project=workspace)
        return self.settings

    def _target(self, tree: Node, catalog: Catalog) -> str | None:
        node = tree.child("team")
        if node is None or not isinstance(node.value, str):
            return None  # reported with the shape
        path = self.file.parent / node.value
        if path.is_file():
            return str(path.resolve())
        if catalog.named(node.value) is None:
            names = catalog.names()
            unknown(self.problems, Place(node.mark, ("team",)), "team", node.value, names)
            return None
        return node.value

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
            is_named = is_model(tree, (*path, "model"), variant.model, self.problems)
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
        graders = (*document.graders, *(one for case in document.cases for one in case.graders))
        judge = document.judge
        override = self._override(tree, ("judge",), judge.override)
        is_named = is_model(tree, ("judge", "model"), judge.model, self.problems)
        if not is_named or self.problems.errors or not any(one.has("rubric") for one in graders):
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
        self._not_there(tree.find((*path, "override")), (*path, "override"), "override", "file")
        return None

    def _not_there(self, node: Node, path: NodePath, key: str, what: str) -> None:
        self.problems.report(named_nothing(key, node.value, what), Place(node.mark, path))

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
                written = node.find(("context",))
                details = case_cannot_start(case.name, str(error), under=with_variant)
                self.problems.report(details, Place(written.at, (*path, "context")))
                return

    def _note_messages(
        self, node: Node, path: NodePath, suite: EvalSuite, case: EvalCaseDocument
    ) -> None:
        if case.messages:
            written = node.find(("messages",))
            details = takes_no_messages(suite.document.team)
            self.problems.report(details, Place(written.at, (*path, "messages")))
        else:
            details = case_without_messages(suite.document.team, case.name)
            self.problems.report(details, Place(node.at, (*path, "messages")))
