"""The kinds of steps: for each, one file with what the language knows of it.

Its structure is in its class, `dsl/model/step_kinds`, because plans and walks need it.
"""

from collections.abc import Mapping
from typing import cast

from coterie.dsl.kinds.agent import AgentKind
from coterie.dsl.kinds.approval import ApprovalKind
from coterie.dsl.kinds.block import BlockKind
from coterie.dsl.kinds.branch import BranchKind
from coterie.dsl.kinds.fail import FailKind
from coterie.dsl.kinds.kind import Kind
from coterie.dsl.kinds.loop import LoopKind
from coterie.dsl.kinds.parallel import ParallelKind
from coterie.dsl.kinds.reply import ReplyKind
from coterie.dsl.kinds.return_value import ReturnKind
from coterie.dsl.kinds.set_values import SetKind
from coterie.dsl.kinds.skill import FunctionKind
from coterie.dsl.kinds.task_graph import TaskGraphKind
from coterie.dsl.kinds.team_call import TeamKind
from coterie.dsl.kinds.tool import ToolKind
from coterie.dsl.kinds.try_steps import TryKind
from coterie.dsl.kinds.wait import WaitKind
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import Step, StepKind

KINDS: Mapping[StepKind, Kind[StepBase]] = {
    "agent": cast("Kind[StepBase]", AgentKind()),
    "skill": cast("Kind[StepBase]", FunctionKind()),
    "tool": cast("Kind[StepBase]", ToolKind()),
    "loop": cast("Kind[StepBase]", LoopKind()),
    "branch": cast("Kind[StepBase]", BranchKind()),
    "parallel": cast("Kind[StepBase]", ParallelKind()),
    "task_graph": cast("Kind[StepBase]", TaskGraphKind()),
    "set": cast("Kind[StepBase]", SetKind()),
    "approval": cast("Kind[StepBase]", ApprovalKind()),
    "wait": cast("Kind[StepBase]", WaitKind()),
    "reply": cast("Kind[StepBase]", ReplyKind()),
    "team": cast("Kind[StepBase]", TeamKind()),
    "try": cast("Kind[StepBase]", TryKind()),
    "block": cast("Kind[StepBase]", BlockKind()),
    "return": cast("Kind[StepBase]", ReturnKind()),
    "fail": cast("Kind[StepBase]", FailKind()),
}
"""`tests/law/test_kinds.py` keeps it complete."""


def kind_of(step: Step) -> Kind[StepBase]:
    """Return the kind of a step."""
    return KINDS[step.kind]
