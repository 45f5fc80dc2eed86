"""Trail causes: why an entry of a run's trail exists, as facts and not as words.

Programs read these; `workflows.core.causes.trail_because` renders them for people. As in
`dsl.model.causes`, every cause has a stable `code`, and a `message`, its own or its failure's, is
wording that no digest covers.
"""

from typing import Annotated

from pydantic import Field

from dsl.model.causes import (
    BudgetReached,
    Called,
    DefaultTaken,
    HandedOff,
    Joined,
    NoRouting,
    NotDecided,
    RuleMatched,
    RunCancelled,
    SentOn,
    Started,
    VisitsReached,
)
from dsl.task_graph.task_causes import (
    GraphTaskBlocked,
    GraphTaskEnded,
    GraphTaskStarted,
    GraphTaskWaits,
)
from workflows.core.causes.agent_causes import (
    BatchSubmitted,
    CallCutOff,
    CallRefused,
    CallRepeated,
    ConversationCompacted,
    LoopExited,
    ModelReplaced,
    ModelTurned,
    PersonaChosen,
    ToolCalled,
)
from workflows.core.causes.egress_causes import (
    EgressAsked,
    EgressGranted,
    LabelMet,
    LabelsCleared,
)
from workflows.core.causes.hook_causes import HookDecided
from workflows.core.causes.message_causes import (
    Forked,
    MessageRefused,
    MessageTaken,
    NotificationLost,
    SignalsDropped,
    WorkerBlocked,
)
from workflows.core.causes.people_causes import (
    Amended,
    AmendRefused,
    ApprovalNotAsked,
    NotBegun,
    PauseChanged,
    RequestDecided,
    RequestEscalated,
    RequestReminded,
    SkipAsked,
    TooLate,
)
from workflows.core.causes.step_causes import (
    BranchChosen,
    BranchRanked,
    Failed,
    RunEnded,
    StepStated,
    TimeOver,
    WhenAsked,
)

TrailCause = Annotated[
    RuleMatched
    | DefaultTaken
    | NoRouting
    | Started
    | Called
    | Joined
    | RunCancelled
    | SentOn
    | NotDecided
    | HandedOff
    | VisitsReached
    | BudgetReached
    | StepStated
    | WhenAsked
    | Failed
    | RunEnded
    | BranchChosen
    | PersonaChosen
    | BranchRanked
    | CallRepeated
    | ToolCalled
    | ModelTurned
    | ModelReplaced
    | BatchSubmitted
    | ConversationCompacted
    | CallRefused
    | LoopExited
    | HookDecided
    | CallCutOff
    | LabelMet
    | LabelsCleared
    | EgressAsked
    | EgressGranted
    | TimeOver
    | RequestDecided
    | ApprovalNotAsked
    | RequestReminded
    | RequestEscalated
    | PauseChanged
    | Amended
    | AmendRefused
    | TooLate
    | NotBegun
    | SkipAsked
    | WorkerBlocked
    | Forked
    | MessageTaken
    | MessageRefused
    | SignalsDropped
    | NotificationLost
    | GraphTaskStarted
    | GraphTaskEnded
    | GraphTaskBlocked
    | GraphTaskWaits,
    Field(discriminator="code"),
]
"""Why an entry of the trail exists: a cause of `dsl.model.causes`, or one of these."""
