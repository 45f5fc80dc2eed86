"""What a trial gave, and where it is kept: a repeated command neither runs nor grades it again."""

from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import to_json

from coterie.activities.workspace.project_files import private_folder, write_private
from coterie.dsl.values import Frozen
from coterie.evals.graders import Grade
from coterie.evals.suite import Trial
from coterie.evals.trial_end import TrialEnd

_FILE = "result.json"
_VOID_FILE = "void.json"
"""In the folder of the trial's first run."""


class TrialResult(Frozen):
    """One trial, ended and graded."""

    run: str
    """The id of its run, for `coterie why` and all other commands."""
    variant: str
    case: str
    repeat: int
    end: TrialEnd
    grades: tuple[Grade, ...]
    graded_by: str
    """Digest of the graders."""

    @property
    def passed(self) -> bool:
        """Whether its run completed and met every grader."""
        return self.end.completed and all(grade.passed for grade in self.grades)

    @property
    def cost(self) -> float | None:
        """US dollars of its run and of its judges; None when no call has a price."""
        costs = [cost for cost in (self.end.cost, *self._judge_costs) if cost is not None]
        return sum(costs) if costs else None

    @property
    def judge_cost(self) -> float:
        """US dollars of its judges."""
        return sum(cost or 0.0 for cost in self._judge_costs)

    @property
    def _judge_costs(self) -> tuple[float | None, ...]:
        return tuple(grade.cost for grade in self.grades)

    @property
    def because(self) -> str:
        """Why it failed; empty if it passed."""
        if not self.end.completed:
            return self.end.message or "the run did not complete"
        failed = (grade for grade in self.grades if not grade.passed)
        return "; ".join(f"{grade.grader}: {grade.because}" for grade in failed)


def graders_digest(trial: Trial) -> str:
    """Return a digest of what grades a trial."""
    plain = trial.suite.grading(trial.case)
    return sha256(to_json((plain, trial.case.expected))).hexdigest()[:10]


class VoidTrial(Frozen):
    """The runs of a trial that say nothing about its team."""

    because: tuple[str, ...] = ()
    """Why, for each of them."""


def stored_voids(folder: Path) -> VoidTrial:
    """Return the void runs of a trial so far."""
    try:
        return VoidTrial.model_validate_json((folder / _VOID_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return VoidTrial()


def store_void(folder: Path, because: str) -> VoidTrial:
    """Note that the latest run of a trial was void; the next command runs the trial again."""
    voids = VoidTrial(because=(*stored_voids(folder).because, because))
    private_folder(folder)
    write_private(folder / _VOID_FILE, voids.model_dump_json(indent=2) + "\n")
    return voids


def stored_result(folder: Path) -> TrialResult | None:
    """Return the result of an earlier command; None if there is none, or it is damaged."""
    try:
        return TrialResult.model_validate_json((folder / _FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def store_result(folder: Path, result: TrialResult) -> None:
    """Keep the result of a trial."""
    write_private(folder / _FILE, result.model_dump_json(indent=2) + "\n")
