"""Calls of what runs on Temporal, in a team test: they get the results of the file."""

from temporalio import activity

from coterie.activities.contracts import CHECK_TARGETS, TargetsRequest, TargetsResult
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.temporal_calls import ResultTarget
from coterie.dsl.model.tools.tool_contract import TemporalTool


@activity.defn(name=CHECK_TARGETS)
async def allow_targets(request: TargetsRequest) -> TargetsResult:
    """Let the run begin: its calls reach nothing."""
    return TargetsResult()


def with_stub_targets(plan: Plan) -> Plan:
    """Return the plan with calls that its worker makes, which answers from the file."""
    tools = {
        name: tool.model_copy(update={"target": _stub_target(tool)})
        if isinstance(tool, TemporalTool)
        else tool
        for name, tool in plan.tools.items()
    }
    return plan.model_copy(update={"tools": tools})


def _stub_target(tool: TemporalTool) -> ResultTarget:
    target = tool.target
    return ResultTarget(
        kind="result",
        id=tool.made_of,
        declaration=target.declaration,
        input_schema=target.input_schema,
        output_schema=target.output_schema,
        failures_without_effect=target.failures_without_effect,
    )
