"""The agent of the agentic loop, for programs: `Agent(llm).execute(goal, context)`.

    state = await Agent(LLM(model="anthropic/claude-opus-5-5")).execute("Make the tests pass.")

It runs the team `agent_loop`, as `coterie agent run` does: durable, seen by all commands, and
changed by the project's own copy of the plan. There is no second loop in Python.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from coterie.agents.loop_state import LoopState, loop_state
from coterie.agents.team_program import RunnableTeam
from coterie.runs.records import new_id
from coterie.runs.workflow_templates import AGENT_TEAM

REPO_PATH = "repo_path"
"""The key of `context` that names the folder which tools may touch."""


class AgentModel(NamedTuple):
    """Where an agent's model turns go; the defaults are the project's own."""

    config_path: str | Path | None = None
    """A YAML file that is laid over the project's `coterie.yml`: providers, personas, tools."""
    model: str | None = None
    """`provider/model` for every role: planner, reasoner, actor, observer."""
    address: str | None = None
    """`host:port` of a Temporal server. Default: COTERIE_ADDRESS, else the project's own."""


class LoopAgent:
    """Plans a goal as tasks, works on each with tools, and observes every result."""

    def __init__(
        self,
        llm: AgentModel,
        max_iterations: int = 10,
        enable_planning: bool = True,
        enable_reflection: bool = True,
        logger: logging.Logger | None = None,
    ) -> None:
        """Describe the agent; nothing runs yet.

        Args:
            llm: Where its model turns go.
            max_iterations: Attempts of all tasks together, 1 to 50.
            enable_planning: If false, the goal is the one task.
            enable_reflection: Whether it reflects after every third attempt.
            logger: Gets the id of each run when it starts, and how it ended.
        """
        self.llm = llm
        self.max_iterations = max_iterations
        self.enable_planning = enable_planning
        self.enable_reflection = enable_reflection
        self.logger = logger or logging.getLogger(__name__)

    async def execute(self, goal: str, context: Mapping[str, Any] | None = None) -> LoopState:
        """Run the loop until the goal is reached or a limit ends it, and return its last state.

        A run that asks a person waits for `coterie approve` or `coterie reject`. If this process
        ends first, `coterie run --resume ID` continues it.

        Args:
            goal: What to reach, at least 3 characters.
            context: What is known, JSON values: `files`, `error`, ... `repo_path` is the folder
                that tools may touch; default: the project's workspace.

        Raises:
            InvalidTeam: The plan, the configuration or the context is invalid.
            TeamRunError: The run could not be started or followed.
        """
        details = dict(context or {})
        workspace = details.pop(REPO_PATH, None)
        team = RunnableTeam.load(
            AGENT_TEAM,
            address=self.llm.address,
            model=self.llm.model,
            override=self.llm.config_path,
            workspace=workspace,
        )
        id = new_id(AGENT_TEAM)
        self.logger.info("run %s starts; follow it with: coterie watch %s", id, id)
        end = await team.run(
            {
                "goal": goal,
                "details": details,
                "planning": self.enable_planning,
                "reflection": self.enable_reflection,
                "max_iterations": self.max_iterations,
            },
            id=id,
        )
        state = loop_state(end, goal, self.max_iterations)
        verdict = "reached its goal" if state.success else "did not reach its goal"
        self.logger.info("run %s %s; see why with: coterie why %s", id, verdict, id)
        return state


Agent = LoopAgent
"""What programs import: `from coterie.agents import Agent`."""
LLM = AgentModel
"""What programs import: `from coterie.agents import LLM`."""
