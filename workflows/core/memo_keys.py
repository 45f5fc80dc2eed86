"""The memo of a run: what lists show of it without a worker. It survives continue-as-new."""

STARTED = "started"
"""The team or document that was started."""

FORKED_FROM = "forked_from"
"""Of a fork: the run and the point that it continues from, for people."""

FORKED_RUN = "forked_run"
"""Of a fork: the id of that run."""

TRIGGER = "trigger"
"""Of a run that a schedule started: the name of the trigger."""

THREAD = "thread"
"""The conversation that a client of a door put the run into; only of runs that have one."""

OWNER = "owner"
"""Of a run that a door started for one person behind a client: the digest of both."""

SLACK_THREAD = "slack_thread"
"""Of a session in Slack: workspace, channel and thread, from which its id is made."""

CALL = "coterie_call"
"""Of a workflow that a run starts as a call: the id of the call."""

CALL_HEADER = "coterie-call"
"""Of a Nexus operation that a run calls: the header with the id of the call."""
