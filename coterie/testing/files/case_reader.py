"""Read a test file: report all its problems, or return what to run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.script import ScriptedAnswer, read_script
from coterie.documents.compilation import CompiledDocument, compile_target
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.shapes import parse_as
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.evaluate.context import lacking_context
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import Json
from coterie.settings import Settings
from coterie.testing.files.case_document import CaseDocument, FunctionResultDocument, TestDocument
from coterie.testing.files.case_references import (
    check_names,
    check_operators,
    check_paths,
    check_references,
)
from coterie.testing.files.full_names import with_full_names
from coterie.testing.files.stand_ins import (
    StandInDocument,
    check_stand_ins,
    check_use,
    contracts_of,
)
from coterie.testing.files.team_file import TeamFileReader, case_cannot_start, merged_context

SUFFIXES = (".test.yml", ".test.yaml")


@dataclass(frozen=True, slots=True)
class Case:
    """One run, including the file's defaults for all cases."""

    document: CaseDocument
    context: Json
    answers: tuple[tuple[ScriptedAnswer, ...], ...]
    """Scripts in order of precedence: the first with a matching entry wins."""
    functions: tuple[FunctionResultDocument, ...]
    """In order of precedence."""
    stand_ins: dict[str, StandInDocument]
    files: dict[str, str]

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.document.name


@dataclass(frozen=True, slots=True)
class TestFile:
    """A test file, ready to run."""

    __test__ = False  # pytest collects classes by name

    shown: str
    """The file's name in messages."""
    team: CompiledDocument
    settings: Settings
    """Settings of the project of the cases: that of their workspace, if it is one."""
    workspace: Path | None
    """The folder that each case gets a copy of."""
    cases: tuple[Case, ...]
    warnings: tuple[Problem, ...]


def read_tests(settings: Settings, file: Path) -> TestFile:
    """Read a test file, and compile its team.

    Raises:
        InvalidDocument: With every problem of the file, or of the team.
    """
    return _Reader(settings, file).read()


def team_beside(file: Path) -> Path | None:
    """Return the team's file that a test file is named after, if it exists."""
    stem = next(file.name.removesuffix(end) for end in SUFFIXES if file.name.endswith(end))
    files = (file.with_name(stem + end).resolve() for end in (".yml", ".yaml"))
    return next((file for file in files if file.is_file()), None)


@rule("E102")
def team_missing() -> ProblemText:
    return ProblemText(
        "the key 'team' is missing",
        fix="add `team:`, or name the file after the team's file "
        "beside it: review.test.yml beside review.yml",
    )


@rule("E001")
def unreadable_answers(reason: str) -> ProblemText:
    return ProblemText(reason)


class _Reader(TeamFileReader):
    def read(self) -> TestFile:
        tree = self.tree()
        document, _ = parse_as(tree, TestDocument, self.problems)
        stand_ins = {} if document is None else document.stand_ins
        check_stand_ins(stand_ins, tree, self.problems)
        check_operators(tree, self.problems)
        check_names(tree, "cases", "a case", "give each case a unique name", self.problems)
        check_paths(tree, self.problems)
        workspace, settings = self.workspace(tree)
        team = self._team(tree, settings, contracts_of(stand_ins))
        if team is not None:
            check_references(tree, team.compiled.plan, self.problems)
            check_use(tree, team.compiled.plan, self.problems)
        scripts = self._scripts(tree)
        if self.problems.errors or document is None or team is None:
            raise InvalidDocument(self.problems.errors)
        document = with_full_names(document, team.compiled.plan)
        cases = tuple(
            _case(document, case, (*scripts[number], *scripts[-1]))
            for number, case in enumerate(document.cases)
        )
        self._check_starts(tree, team, cases)
        self.stop_on_errors()
        warnings = (*self.problems.warnings, *team.compiled.warnings)
        return TestFile(self.shown, team, settings, workspace, cases, warnings)

    def _check_starts(self, tree: Node, team: CompiledDocument, cases: Sequence[Case]) -> None:
        """Report each case whose context a start of the team would refuse."""
        needs = with_needs(team.compiled).plan.needs
        for number, case in enumerate(cases):
            lacking = lacking_context(needs, case.context)
            if lacking is not None:
                details = case_cannot_start(case.name, lacking, fix="set it in `context`")
                self.problems.report(details, tree.key_at(("cases", number, "context")))

    def _team(
        self, tree: Node, settings: Settings, functions: Mapping[str, FunctionContract]
    ) -> CompiledDocument | None:
        """Find the team that the file names, or is named after.

        Raises:
            InvalidDocument: The team does not compile.
        """
        target = self.target(tree, settings)
        if target is None:
            return None
        model = tree.child("model")
        model_name = model.value if model is not None and isinstance(model.value, str) else None
        if not self.is_model(tree, ("model",), model_name):
            return None
        workspace = str(self.file.parent)
        return compile_target(
            settings, target, model=model_name, workspace=workspace, functions=functions
        )

    def target(self, tree: Node, settings: Settings) -> str | None:
        """Return the team that the file names, or that it is named after."""
        if tree.child("team") is not None:
            return super().target(tree, settings)
        beside = team_beside(self.file)
        if beside is None:
            self.problems.report(team_missing(), Place(tree.mark, ("team",)))
        return None if beside is None else str(beside)

    def _scripts(self, tree: Node) -> list[tuple[tuple[ScriptedAnswer, ...], ...]]:
        """Return the scripts of each case in order, then the file's own; each has one or none."""
        cases = tree.child("cases")
        nodes = [*(cases.items() if cases is not None else ()), tree]
        return [tuple(self._script(node.child("answers"))) for node in nodes]

    def _script(self, node: Node | None) -> Iterator[tuple[ScriptedAnswer, ...]]:
        """Yield what is under `answers`, if it is there and usable."""
        if node is None:
            return
        try:
            if isinstance(node.value, str):
                yield read_script(self.file.parent / node.value)
            else:
                yield tuple(ScriptedAnswer.model_validate(entry.plain()) for entry in node.items())
        except ProviderFailure as failure:
            details = unreadable_answers(failure.message)
            self.problems.report(details, Place(node.mark, ("answers",)))
        except ValueError:
            pass  # already reported: the entry is not a valid answer


def _case(
    document: TestDocument, case: CaseDocument, scripts: Sequence[tuple[ScriptedAnswer, ...]]
) -> Case:
    return Case(
        document=case,
        context=merged_context(document.context, case.context),
        answers=tuple(scripts),
        functions=(*case.functions, *document.functions),
        stand_ins=document.stand_ins,
        files=document.files | case.files,
    )
