"""Block: a group of steps that share a condition, a time limit, retries and a failure policy."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import BlockStep
from coterie.workflows.core.location import Interpreter, Location


async def execute(step: BlockStep, location: Location, interpreter: Interpreter) -> Outcome:
    """Run the steps; the data is that of the last one."""
    outcome = await interpreter.run_steps(step.steps, location, part="steps")
    return outcome if outcome.status == "failure" else Outcome.succeeded(outcome.data)
