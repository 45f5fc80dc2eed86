"""The steps of a plan by the names that trails, people and tests use: `team/path`."""

import re
from collections.abc import Iterator, Sequence

from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.model.step_kinds.agent_types import TOOL_CALLING
from coterie.dsl.model.step_kinds.step_list import Concurrent
from coterie.dsl.model.steps import ParallelStep, PersonaStep, Step
from coterie.dsl.model.tools.tool_contract import AgentTool
from coterie.dsl.model.traversal.agent_personas import agent_personas, execution_plan_steps
from coterie.dsl.model.traversal.code_mode import code_mode_of
from coterie.dsl.model.traversal.step_walk import walk

_AGENTS_WITHIN_AGENTS = 5


def call_paths(plan: Plan) -> frozenset[str]:
    """Return `team/path/tool` of every tool that some agent's model may call there."""
    return frozenset(
        f"{team.id}/{path}" for team in plan.teams.values() for path in _calls(team.steps, plan, 0)
    )


def called_agents(plan: Plan) -> frozenset[str]:
    """Return the names by which a script may call a turn of a tool: `tool` and `team/tool`."""
    names = {path for path in call_paths(plan) if _is_agent(path.rpartition("/")[2], plan)}
    tools = {path.rpartition("/")[2] for path in names}
    return frozenset(
        tools | {f"{path.partition('/')[0]}/{path.rpartition('/')[2]}" for path in names}
    )


def _is_agent(tool: str, plan: Plan) -> bool:
    return isinstance(plan.tools.get(tool), AgentTool)


def _calls(steps: Sequence[Step], plan: Plan, deep: int) -> Iterator[str]:
    for step in steps:
        if isinstance(step, PersonaStep) and step.agent_type == TOOL_CALLING:
            for _, persona in agent_personas(step, plan.personas):
                yield from (f"{step.name}/{path}" for path in _tools(persona, plan, deep))
        if deep < _AGENTS_WITHIN_AGENTS:
            below = deep + isinstance(step, PersonaStep)
            for prefix, inner in inside(step, plan):
                yield from (f"{step.name}/{prefix}{path}" for path in _calls(inner, plan, below))


def _tools(persona: Persona, plan: Plan, deep: int) -> Iterator[str]:
    """Yield the tools of a persona, and those of the agents that they are made of.

    What its code calls is below the tool that runs the code.
    """
    mode = code_mode_of(persona, plan.tools)
    by_code = frozenset[str]() if mode is None else frozenset(mode.functions.values())
    for tool_name in persona.tools:
        name = f"{mode.tool}/{tool_name}" if mode and tool_name in by_code else tool_name
        yield name
        tool = plan.tools.get(tool_name)
        inner = plan.personas.get(tool.agent) if isinstance(tool, AgentTool) else None
        if inner is not None and deep < _AGENTS_WITHIN_AGENTS:
            yield from (f"{name}/{path}" for path in _tools(inner, plan, deep + 1))


_ROUND = re.compile(r"/\d+(?=/)")
_NUMBER = re.compile(r"/\d+$")
_VISIT = re.compile(r"#(\d{1,9})$", re.ASCII)
_PLANS_WITHIN_PLANS = 5


def step_paths(plan: Plan) -> frozenset[str]:
    """Return `team/path` of every step, including those of blocks and of execution plans."""
    return frozenset(
        f"{team.id}/{path}" for team in plan.teams.values() for path in _paths(team.steps, plan)
    )


def message_wait_paths(plan: Plan) -> frozenset[str]:
    """Return `team/path` of every step that waits for a message of a session."""
    return frozenset(
        f"{team.id}/{path}" for team in plan.teams.values() for path in _waits(team.steps, plan)
    )


def _waits(steps: Sequence[Step], plan: Plan) -> Iterator[str]:
    for step in steps:
        if step.takes_message:
            yield step.name
        for prefix, inner in inside(step, plan):
            yield from (f"{step.name}/{prefix}{path}" for path in _waits(inner, plan))


def asking_steps(plan: Plan) -> frozenset[str]:
    """Return `team/path` of everything that may ask a person: steps, budgets, `no_progress`."""
    within = {f"budget/{budget.id}" for budget in plan.budgets if budget.on_exceeded == "ask"}
    if plan.limits.no_progress == "ask":
        within.add("no_progress")
    return step_paths(plan) | {f"{team}/{path}" for team in plan.teams for path in within}


def within_rounds(plan: Plan, path: str) -> bool:
    """Return whether the step is in a loop with concurrent rounds, each with steps of its own."""
    team, *names = path.split("/")
    steps: Sequence[Step] = plan.teams[team].steps if team in plan.teams else ()
    for name in names:
        step = next((step for step in steps if step.name == name), None)
        if step is not None and step.has_own_rounds and name != names[-1]:
            return True
        if step is not None:
            steps = [child for _, inner in inside(step, plan) for child in inner]
    return False


def names_branch(plan: Plan, path: str) -> bool:
    """Return whether the path is a branch of a parallel step, which is not a step itself."""
    team, *names = without_rounds(path).split("/")
    steps: Sequence[Step] = plan.teams[team].steps if team in plan.teams else ()
    step: Step | None = None
    is_branch = False
    for name in names:
        is_branch = isinstance(step, ParallelStep) and name in step.branches
        if isinstance(step, ParallelStep) and is_branch:
            step, steps = None, step.branch(name).steps
            continue
        step = next((child for child in steps if child.name == name), None)
        steps = [child for _, inner in inside(step, plan) for child in inner] if step else ()
    return is_branch


def without_rounds(path: str) -> str:
    """Return a path without the numbers of a loop's concurrent rounds."""
    return _ROUND.sub("", path)


def without_numbers(path: str) -> str:
    """Return a path without rounds, and without the number of a task of a graph at its end."""
    return _NUMBER.sub("", without_rounds(path))


def split_reference(reference: str) -> tuple[str, int | None]:
    """Split `team/path#2`, or `team#2`, into the name and the number, None if there is none."""
    match = _VISIT.search(reference)
    return (reference, None) if match is None else (reference[: match.start()], int(match[1]))


def agent_tasks(plan: Plan) -> frozenset[str]:
    """Return the names by which a script may call a model call: `task` and `team/task`."""
    names: set[str] = set()
    for team in plan.teams.values():
        for step in _with_plans(team.steps, plan):
            if isinstance(step, AgentStep):
                names |= {step.name, f"{team.id}/{step.name}"}
    return frozenset(names)


def _paths(steps: Sequence[Step], plan: Plan, deep: int = 0) -> Iterator[str]:
    for step in steps:
        yield step.name
        if isinstance(step, ParallelStep):
            yield from (f"{step.name}/{branch}" for branch in step.branches)
        for prefix, inner in inside(step, plan):
            if deep < _PLANS_WITHIN_PLANS:
                below = deep + isinstance(step, PersonaStep)
                yield from (f"{step.name}/{prefix}{path}" for path in _paths(inner, plan, below))


def inside(step: Step, plan: Plan) -> Iterator[tuple[str, Sequence[Step]]]:
    """Yield the lists of steps within a step, each with the prefix of their names."""
    followed = execution_plan_steps(step, plan.personas)
    if followed:
        yield "", followed
    for step_list in step.lists():
        yield (
            f"{step_list.role.name}/" if isinstance(step_list.role, Concurrent) else "",
            step_list.steps,
        )


def _with_plans(steps: Sequence[Step], plan: Plan, deep: int = 0) -> Iterator[Step]:
    for step, _ in walk(steps, ()):
        yield step
        if isinstance(step, PersonaStep) and deep < _PLANS_WITHIN_PLANS:
            yield from _with_plans(execution_plan_steps(step, plan.personas), plan, deep + 1)
