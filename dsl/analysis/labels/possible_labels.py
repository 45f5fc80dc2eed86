"""Add the labels that calls may bring by a path that is known only at run time.

A run leaves these to its worker, which sees the path. The analysis must not: one such path is
enough for a question.
"""

from collections.abc import Sequence
from functools import partial

from pydantic import JsonValue

from coterie.dsl.egress.workspace_reads import vouches_for_all, writer_of_result
from coterie.dsl.model.hooks import Hook
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_base import SkillTerms
from coterie.dsl.model.steps import SkillStep, Step
from coterie.dsl.model.tools.tool_contract import SkillTool, Tool
from coterie.dsl.model.traversal.step_lists import rebuilt
from coterie.dsl.values import NodePath


def with_possible_labels(plan: Plan, trusted_paths: Sequence[str]) -> Plan:
    """Return the plan with these labels; the same plan if the worker vouches for no or all files.

    Args:
        plan: of the document.
        trusted_paths: globs of the files that the worker vouches for.
    """
    if not trusted_paths or vouches_for_all(trusted_paths):
        return plan
    steps, hook = partial(_steps, trusted_paths), partial(_hook, trusted_paths)
    teams = {
        name: team.model_copy(update={"steps": steps(team.steps, ())})
        for name, team in plan.teams.items()
    }
    personas = {
        key: one.model_copy(
            update={
                "execution_plan": one.execution_plan and steps(one.execution_plan, ()),
                "hooks": tuple(map(hook, one.hooks)),
            }
        )
        for key, one in plan.personas.items()
    }
    tools = {name: _tool(trusted_paths, tool) for name, tool in plan.tools.items()}
    hooks = tuple(map(hook, plan.hooks))
    update = {"teams": teams, "personas": personas, "tools": tools, "hooks": hooks}
    return plan.model_copy(update=update)


def _steps(globs: Sequence[str], steps: Sequence[Step], path: NodePath) -> tuple[Step, ...]:
    return tuple(_step(globs, rebuilt(one, path, partial(_steps, globs))) for one in steps)


def _step(globs: Sequence[str], step: Step) -> Step:
    if not isinstance(step, SkillStep):
        return step
    return step.model_copy(update={"terms": _terms(globs, step.skill, step.input, step.terms)})


def _hook(globs: Sequence[str], hook: Hook) -> Hook:
    terms = _terms(globs, hook.skill or "", hook.input, hook.terms)
    return hook.model_copy(update={"terms": terms})


def _terms(
    globs: Sequence[str], skill: str, given: JsonValue, terms: SkillTerms | None
) -> SkillTerms | None:
    if terms is None or writer_of_result(skill, given, globs) != "known_at_run_time":
        return terms
    return terms.model_copy(update={"labels": (*terms.labels, "untrusted")})


def _tool(globs: Sequence[str], tool: Tool) -> Tool:
    if not isinstance(tool, SkillTool):
        return tool
    if writer_of_result(tool.skill, tool.fixed, globs) != "known_at_run_time":
        return tool
    return tool.model_copy(update={"labels": (*tool.labels, "untrusted")})
