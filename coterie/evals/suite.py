"""A suite that is ready to run: its variants compiled, its trials named."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pydantic_core import to_json

from coterie.documents.compilation import CompiledDocument
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json
from coterie.evals.suite_document import EvalCaseDocument, GraderDocument, SuiteDocument
from coterie.settings import Settings
from coterie.testing.files.team_file import merged_context
from coterie.testing.simulation.stage import LEFT_BEHIND


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run all cases."""

    name: str
    document: CompiledDocument
    context: Json
    """The suite's, with its own over it."""


@dataclass(frozen=True, slots=True)
class EvalSuite:
    """A suite file, checked and compiled."""

    document: SuiteDocument
    shown: str
    """The file's name in messages."""
    settings: Settings
    """Of the project whose `coterie.yml` configures the trials: the workspace's, if it has one."""
    workspace: Path | None
    """The folder of which each trial gets a copy."""
    variants: tuple[Variant, ...]
    judge: CompiledDocument | None = None
    """The team that judges; None if no grader has a rubric."""

    @property
    def judge_digest(self) -> str:
        """A digest of everything that decides how the judge judges, except chance."""
        if self.judge is None:
            return ""
        document = self.document.judge
        parts = (_team_digest(self.judge), document.votes, document.heuristics)
        return sha256(to_json(parts)).hexdigest()[:10]

    def grading(self, case: EvalCaseDocument) -> list[Json]:
        """Return what grades a trial of this case, for digests; a rubric with its judge."""
        return [
            grader.plain | ({"judge": self.judge_digest} if grader.has("rubric") else {})
            for grader in self.graders(case)
        ]

    def graders(self, case: EvalCaseDocument) -> tuple[GraderDocument, ...]:
        """Return what a trial of this case must meet."""
        return (*self.document.graders, *case.graders)


@dataclass(frozen=True, slots=True)
class Trial:
    """One repeat of one case with one variant."""

    suite: EvalSuite
    variant: Variant
    case: EvalCaseDocument
    repeat: int
    """From 1."""
    run_id: str
    """The same for the same trial of an unchanged suite, so a repeated command finds the run."""

    def after_void(self, voids: int) -> "Trial":
        """Return the trial with a run of its own, after so many that were void."""
        return self if voids == 0 else replace(self, run_id=f"{self.run_id}-again{voids}")

    @property
    def context(self) -> Json:
        """The context that its run starts with."""
        return context_of(self.variant, self.case, self.repeat)

    @property
    def files(self) -> dict[str, str]:
        """The files that it adds to its workspace."""
        return self.suite.document.files | self.case.files


def context_of(variant: Variant, case: EvalCaseDocument, repeat: int) -> Json:
    """Return the context of a trial.

    Raises:
        TemplateFailed: A template of it names something else than the repeat.
    """
    merged = merged_context(variant.context, case.context)
    filled = fill(merged, {"repeat": repeat})
    assert isinstance(filled, dict)  # a mapping stays a mapping
    return filled


def trials_of(suite: EvalSuite, label: str = "") -> Iterator[Trial]:
    """Yield all trials: each case once with each variant, then again for the next repeat.

    So whatever stops a suite early leaves cases and variants with about as many trials each.

    Args:
        suite: The suite.
        label: Part of all run ids: another label measures again.
    """
    files = _folder_digest(suite.workspace)
    for repeat in range(1, suite.document.repeats + 1):
        for case in suite.document.cases:
            for variant in suite.variants:
                digest = _digest(suite, variant, case, repeat, (label, files))
                name = f"eval-{suite.document.name}-{variant.name}-{case.name}"
                run_id = f"{_slug(name)}-{repeat}-{digest}"
                yield Trial(suite, variant, case, repeat, run_id)


def _digest(
    suite: EvalSuite,
    variant: Variant,
    case: EvalCaseDocument,
    repeat: int,
    more: tuple[str, ...],
) -> str:
    """Return a digest of everything that decides how the run of a trial goes, except chance."""
    plan, worker, scripts = _team_digest(variant.document)
    parts = (
        suite.document.name,
        variant.name,
        case.name,
        repeat,
        more,
        plan,
        context_of(variant, case, repeat),
        worker,
        scripts,
        suite.document.files | case.files,
        suite.document.index,
        case.messages,
        [decision.model_dump(mode="json") for decision in suite.document.decisions],
    )
    return sha256(to_json(parts)).hexdigest()[:10]


def _team_digest(document: CompiledDocument) -> tuple[str, str, list[str]]:
    """Return digests of the plan, of what its worker may touch, and of its scripts."""
    trusted = document.trusted.model_copy(update={"workspace": ""})
    scripts = [
        _text_digest(provider.answers)
        for provider in trusted.providers.values()
        if provider.answers
    ]
    return document.compiled.plan.digest, trusted.digest, scripts


def case_digest(suite: EvalSuite, case: EvalCaseDocument) -> str:
    """Return a digest of what makes two results of a case comparable: its task and its graders."""
    task = case.model_dump(mode="json", by_alias=True, exclude={"graders"})
    parts = (task, suite.grading(case), suite.document.context, suite.document.files)
    return sha256(to_json(parts)).hexdigest()[:10]


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)


def _text_digest(file: str) -> str:
    return sha256(Path(file).read_bytes()).hexdigest() if Path(file).is_file() else ""


def _folder_digest(folder: Path | None) -> str:
    """Return a digest of the files of a workspace, without what a trial does not get."""
    if folder is None:
        return ""
    digest = sha256()
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        if file.is_file() and not set(parts).intersection(LEFT_BEHIND):
            names = [part.encode(errors="replace").decode() for part in parts]
            digest.update(to_json((names, sha256(file.read_bytes()).hexdigest())))
    return digest.hexdigest()
