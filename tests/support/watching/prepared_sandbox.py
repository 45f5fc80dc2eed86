"""The workflow sandbox of the tests, of which each process prepares one of a kind.

With the interpreter inside, its 120 modules are imported for each run, and once more for each
worker, to see that the workflow loads. Tests have a worker each, and it loads in all or in none.
Each run executes its own modules; only their code is read from the disk once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader
from types import CodeType

import pytest
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

from coterie.runtime.workflow_sandbox import sandbox
from tests.support.places import ROOT

_INTERPRETER = str(ROOT / "workflows")


@dataclass
class _Prepared(WorkflowRunner):
    inner: WorkflowRunner
    workflows: list[object] = field(default_factory=list[object])
    """Those that have been prepared."""

    def prepare_workflow(self, defn: object) -> None:
        """Load a workflow that no worker of this process has loaded."""
        if defn not in self.workflows:
            self.inner.prepare_workflow(defn)  # pyright: ignore[reportArgumentType]
            self.workflows.append(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """A run, in a sandbox of its own."""
        return self.inner.create_instance(det)

    def set_worker_level_failure_exception_types(
        self, types: Sequence[type[BaseException]]
    ) -> None:
        """Only for what it prepares: a run knows those of its own worker."""
        self.inner.set_worker_level_failure_exception_types(types)


@cache
def prepared_sandbox(*, everything: bool = False) -> WorkflowRunner:
    """The product's sandbox; with `everything`, the interpreter is inside, too."""
    return _Prepared(sandbox(everything=everything))


def keep_code(patched: pytest.MonkeyPatch) -> None:
    """Read the code of each module of the interpreter once: to read it took a third of a run."""
    read, kept = SourceFileLoader.get_code, dict[str, CodeType | None]()

    def code(self: SourceFileLoader, name: str) -> CodeType | None:
        if not self.path.startswith(_INTERPRETER):
            return read(self, name)
        if self.path not in kept:
            kept[self.path] = read(self, name)
        return kept[self.path]

    patched.setattr(SourceFileLoader, "get_code", code)
