"""Trail causes: why an entry of a run's trail exists, as facts and not as words.

Programs read these; `workflows.core.causes.trail_because` renders them for people. As in
`dsl.model.causes`, every cause has a stable `code`, and a `message`, its own or its failure's, is
wording that no digest covers.
"""

from typing import Annotated

from pydantic import Field

from coterie.dsl.model.causes import AnyRouteCause
from coterie.dsl.task_graph.task_causes import AnyGraphTaskCause
from coterie.workflows.core.causes.agent_causes import AgentCause, EgressCause, HookDecided
from coterie.workflows.core.causes.message_causes import MessageCause
from coterie.workflows.core.causes.people_causes import PeopleCause
from coterie.workflows.core.causes.step_causes import StepCause

TrailCause = Annotated[
    AnyRouteCause
    | StepCause
    | AgentCause
    | HookDecided
    | EgressCause
    | PeopleCause
    | MessageCause
    | AnyGraphTaskCause,
    Field(discriminator="code"),
]
"""Why an entry of the trail exists: each source of causes has its types in a file of its own."""
