"""An agent's own code labels what it writes if its run, or itself, has met text of others."""

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.agents.inner_calls import InnerCaller, InnerCalls
from coterie.activities.contracts import FunctionRequest, FunctionResult, InnerCall, Spent
from coterie.activities.metering import Meter
from coterie.dsl.model.capabilities import KeptLabel, Reach
from tests.support.compiling import CAPABILITIES

CALLS = InnerCalls(CAPABILITIES.functions, Reach(trusted_paths=("**",)))
READ = FunctionRequest(skill="Files.read", input={"path": "a.md"}, key="r/1")
WRITE = FunctionRequest(skill="Files.write", input={"path": "b.md", "content": "x"}, key="r/2")


class Functions:
    """Tool functions whose reads bring what their files have."""

    def __init__(self, labels: tuple[KeptLabel, ...], *, fails: bool) -> None:
        self.labels, self.fails = labels, fails
        self.told: list[bool] = []

    async def call(self, request: FunctionRequest) -> FunctionResult:
        """Keep what the request says."""
        self.told.append(request.untrusted)
        labels = self.labels if request.skill == "Files.read" else ()
        if self.fails and labels:
            read = InnerCall(skill=request.skill, effect="read", labels=labels)
            details: JsonValue = Spent(inner_calls=(read,)).model_dump(mode="json")
            raise ApplicationError("on purpose", details, type="FunctionFailed")
        return FunctionResult(labels=labels)


@pytest.mark.parametrize("run", [False, True])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("labels", [(), ("untrusted",)])
async def test_a_write_is_labelled_only_after_text_of_others(
    run: bool, fails: bool, labels: tuple[KeptLabel, ...]
) -> None:
    functions, meter = Functions(labels, fails=fails), Meter()
    call = InnerCaller(functions.call, CALLS, meter, untrusted=run)
    await call(WRITE)
    if fails and labels:
        with pytest.raises(ApplicationError, match="on purpose"):
            await call(READ)
    else:
        await call(READ)
    await call(WRITE)
    assert functions.told == [run, run, run or bool(labels)]
    met = {one.skill: one.labels for one in meter.spent.inner_calls}
    assert met == {"Files.read": ("private", *labels), "Files.write": ()}
