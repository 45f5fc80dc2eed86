"""A workflow of somebody else, which runs a team: all that it imports is inside its sandbox."""

from datetime import timedelta
from typing import Any

from temporalio import workflow

from coterie.child_workflows import ChildTeamFailed, ChildTeamRefused, run_team, start_team

COTERIE = "ours"
"""The task queue of the worker of Coterie."""


@workflow.defn(name="Caller")
class Caller:
    """Runs a team, and tells what it came to."""

    def __init__(self) -> None:
        self.decides = ""

    @workflow.signal
    def decide(self, verdict: str) -> None:
        self.decides = verdict

    @workflow.run
    async def run(self, given: dict[str, Any]) -> dict[str, Any]:
        document, context, id = given["document"], given.get("context", {"size": 3}), given["id"]
        if not given.get("decides"):
            return await self._to_its_end(document, context, id)
        team = await start_team(document=document, context=context, id=id, task_queue=COTERIE)
        if given["decides"] == "leave":
            return {"left": team.id}
        await workflow.wait_condition(lambda: self.decides != "")
        if self.decides == "cancel":
            team.cancel()
        elif self.decides == "approve":
            await team.approve("work/sign#1", by="ann")
        else:
            await team.reject("work/sign#1", by="ann", comment="no")
        try:
            result = await team.result()
        except ChildTeamFailed as failed:
            return {"failed": failed.type, "end": failed.result and failed.result.end}
        return {"end": result.end, "output": result.output}

    async def _to_its_end(self, document: str, context: Any, id: str) -> dict[str, Any]:
        try:
            result = await run_team(
                document=document,
                context=context,
                id=id,
                task_queue=COTERIE,
                execution_timeout=timedelta(minutes=1),
            )
        except ChildTeamRefused as refused:
            return {"refused": refused.message}
        except ChildTeamFailed as failed:
            return {"failed": failed.type, "error": failed.result and failed.result.error}
        return {"end": result.end, "output": result.output, "visits": result.visits}
