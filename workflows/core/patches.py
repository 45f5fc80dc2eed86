"""Patches: changes of the interpreter that apply only to runs started after them.

A worker replays the histories of runs that older code started: where new code would make another
call, such a run gets stuck. So the change asks `scope.patched(Patch.NAME)` and keeps the old code
beside the new. docs/operating.md shows an example.
"""

from enum import StrEnum


class Patch(StrEnum):
    """Every change that is behind a patch.

    A member's value stays in histories forever. Its comment gives the version, the reason, and when
    the old code can go: when no run that started before is open or kept any longer.
    """

    CUT_OFF_CALLS = "cut-off-calls"
    """0.1.0: budgets count model turns that were cut off. A run without budgets does not ask. The
    old code can go with the first release: only runs of development versions have it.
    """

    CUT_OFF_MONEY = "cut-off-money"
    """0.1.0: a model turn that was cut off costs what its estimated input does. A run asks only if
    it has a budget of money. The old code can go with the first release, too.
    """

    TOOLS_REMEMBER = "tools-remember"
    """0.1.0: `remember` of a tool holds for all its calls, not for one place. A run asks only when
    such a tool asks a person. The old code can go with the first release, too.
    """

    SERIAL_CALLS = "serial-calls"
    """0.1.0: with `parallel_tool_calls: false`, a stateful tool waits for the other calls of its
    turn. A run asks only when such a turn calls a stateful tool beside another tool. The old code
    can go with the first release, too.
    """

    SHARED_READS = "shared-reads"
    """0.1.0: equal calls of a tool with `cache: run` that are in progress at once become one, and a
    result that was read during an effect is not kept. A run asks only when one of both happens. The
    old code can go with the first release, too.
    """

    RESERVATIONS = "reservations"
    """0.1.0: a model turn that would exceed a budget of tokens or money together with the turns in
    progress waits until one of them ends. A run asks only when one would have to wait. The old code
    can go with the first release, too.
    """

    ASKED_TOO_LATE = "asked-too-late"
    """0.1.0: a call that is cancelled or skipped while its tool asks, or continues it as a task,
    ends, and so does its task. A run asks only when one is. The old code can go with the first
    release, too.
    """

    PARKED_BATCHES = "parked-batches"
    """0.1.0: a run continues as new while model turns wait for their batches. A run asks only when
    one has to wait. The old code can go with the first release, too.
    """

    ABANDONED_BRANCHES = "abandoned-branches"
    """0.1.0: a branch that has stopped for the next history, and that nobody needs any more before
    it begins, ends like any other: its `finally` steps run, and its batch is cancelled. A run asks
    only when there is one. The old code can go with the first release, too.
    """

    BEGUN_BRANCHES = "begun-branches"
    """0.1.0: branches in progress come back before new ones when a run continues as new, whatever
    its limit of branches. A run asks only when they would exceed it. The old code can go with the
    first release, too.
    """

    WAITING_CALLS = "waiting-calls"
    """0.1.0: a call that waits for its conversation ends when a person skips it, and does not begin
    while the run is paused. A run asks only when a call waits, or would begin in a pause. The old
    code can go with the first release, too.
    """

    NESTED_TOOLS = "nested-tools"
    """0.1.0: agents that plans call as tools are nested 20 deep at most; else their calls exceeded
    the stack. A run asks only when one would be deeper. The old code can go with the first release,
    too.
    """

    INPUT_ADMISSION = "input-admission"
    """0.1.0: a model turn whose input alone exceeds what a budget of tokens or money has left does
    not begin. A run asks only when one would exceed it. The old code can go with the first release,
    too.
    """

    ABANDONED_TURNS = "abandoned-turns"
    """0.1.0: an agent with tools that is aborted leaves its conversation, so that a cleanup can
    continue it. A run asks only when such an agent is aborted. The old code can go with the first
    release, too.
    """

    PUBLISHED_RESULTS = "published-results"
    """0.1.0: the agent of a `tool` step, too, publishes the results of its tools. A run asks only
    when a tool reads them with `publish: tool_result`. The old code can go with the first release,
    too.
    """

    RECURRING_FAILURES = "recurring-failures"
    """0.1.0: a step, a task of a graph, or a tool is retried by the failure within it, and after a
    call in that attempt whose answer may differ. A run asks only when the old code would decide
    otherwise. The old code can go with the first release, too.
    """

    CONVERSATION_ORDER = "conversation-order"
    """0.1.0: calls take a conversation in the order in which they asked for it. A run asks only
    when a call would overtake another one, or takes its place into the next history. The old code
    can go with the first release, too.
    """

    STOPPED_TURNS = "stopped-turns"
    """0.1.0: an answer that a hook stops is a turn of its conversation, as it is of an agent with
    tools. A run asks only when a hook stops an answer in a conversation. The old code can go with
    the first release, too.
    """

    VALUES_OF_CALLS = "values-of-calls"
    """0.1.0: the result that a person gives to a call that they skip reaches the agents that read
    the tool's work, and the trail says that there is one. A run asks only when a person skips with
    a value. The old code can go with the first release, too.
    """

    EDITED_BY_FEW = "edited-by-few"
    """0.1.0: a deadline does not approve a changed value that fewer people than the quorum have
    approved. A run asks only when one would. The old code can go with the first release, too.
    """

    CALLERS_PAY = "callers-pay"
    """0.1.0: the budgets of a persona and of a task also pay for the teams that its plan or its
    model calls. A run asks only when one with such a budget calls a team. The old code can go with
    the first release, too.
    """

    RETRIED_TOOLS = "retried-tools"
    """0.1.0: the trail says why a tool made of an agent or a team is retried. A run asks only
    when one is. The old code can go with the first release, too.
    """
