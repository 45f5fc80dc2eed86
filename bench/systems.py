"""What is compared, and how a run of each is started."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter

from bench import loop, team
from bench.handwritten import Context, LoopInput
from coterie.storage.wire import data_converter
from coterie.workflows.core.messages import TeamInput

WorkerKind = Literal["coterie", "inline", "handwritten", "lean-handwritten", "unsandboxed"]


@dataclass(frozen=True, slots=True)
class System:
    """One way to do the work."""

    name: str
    worker: WorkerKind
    workflow: str
    converter: DataConverter
    given: Callable[[int], object]
    """The input of a run of so many rounds."""
    runner: str = "ContextFreeRunner of coterie/runtime/workflow_sandbox.py"
    """Who runs the workflow, as results name it; `bench.worker` has it."""
    sandbox: str = "restrictions() of coterie/runtime/workflow_sandbox.py"


def _team_input(rounds: int) -> TeamInput:
    return TeamInput(plan=team.plan(rounds), context=team.context())


def _loop_input(rounds: int, *, bare: bool = False) -> LoopInput:
    return LoopInput(context=Context(topic=loop.TOPIC), rounds=rounds, bare=bare)


COTERIE = System("coterie", "coterie", "TeamWorkflow", data_converter, _team_input)
_SDK = "SandboxedWorkflowRunner of the SDK"
HANDWRITTEN = System(
    "handwritten", "handwritten", "OutlineLoop", pydantic_data_converter, _loop_input, _SDK
)
BARE = System(
    "handwritten-bare",
    "handwritten",
    "OutlineLoop",
    pydantic_data_converter,
    lambda rounds: _loop_input(rounds, bare=True),
    _SDK,
)
LEAN = System(
    "handwritten-lean", "lean-handwritten", "OutlineLoop", pydantic_data_converter, _loop_input
)
"""Run as Coterie's worker runs: it enters the sandbox for activations only."""
UNSANDBOXED = System(
    "coterie-unsandboxed",
    "unsandboxed",
    "TeamWorkflow",
    data_converter,
    _team_input,
    "UnsandboxedWorkflowRunner of the SDK",
    "none",
)
SYSTEMS = (COTERIE, HANDWRITTEN, BARE)
"""What is measured unless more is asked for."""
