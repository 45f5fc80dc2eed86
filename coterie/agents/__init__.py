"""Agents in Python: the public names, which stay.

    from coterie.agents import AgentFactory, BaseAgent

docs/agents-in-python.md explains them. Importing this loads the interpreter; `import coterie` does
not.
"""

from coterie.agents.agent_documents import InvalidAgent
from coterie.agents.agent_runs import AgentRun
from coterie.agents.agent_spec import AgentSpec
from coterie.agents.agent_state import (
    AgentAnswer,
    AgentEvent,
    AgentState,
    RouterDecision,
    ToolExecution,
    route_after_router,
)
from coterie.agents.durable_agents import DurableRun
from coterie.agents.in_process_world import AgentContext
from coterie.agents.loop_agent import LLM, Agent, LoopState, LoopTask, TaskStatus
from coterie.agents.memory_graph import SharedMemoryGraph
from coterie.agents.python_agent import BaseAgent, orchestrator, subagent
from coterie.agents.python_factory import AgentFactory
from coterie.agents.team_program import InvalidTeam, TeamRunError
from coterie.agents.tool_definitions import BaseTool, InvalidTool, ToolRegistry, ToolSchema
from coterie.executions.agent_execution import AgentExecution
from coterie.executions.execution_repository import AgentExecutionRepository

__all__ = [
    "LLM",
    "Agent",
    "AgentAnswer",
    "AgentContext",
    "AgentEvent",
    "AgentExecution",
    "AgentExecutionRepository",
    "AgentFactory",
    "AgentRun",
    "AgentSpec",
    "AgentState",
    "BaseAgent",
    "BaseTool",
    "DurableRun",
    "InvalidAgent",
    "InvalidTeam",
    "InvalidTool",
    "LoopState",
    "LoopTask",
    "RouterDecision",
    "SharedMemoryGraph",
    "TaskStatus",
    "TeamRunError",
    "ToolExecution",
    "ToolRegistry",
    "ToolSchema",
    "orchestrator",
    "route_after_router",
    "subagent",
]
