"""Where an answer may not be shown while it is written: what may still reject it."""

from collections.abc import Iterator, Mapping

from coterie.dsl.json_values import texts_within
from coterie.dsl.model.decision_terms import call_approval
from coterie.dsl.model.plan import Persona, Plan, Team
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, SINGLE_SHOT, TOOL_CALLING
from coterie.dsl.model.steps import ApprovalStep, PersonaStep
from coterie.dsl.model.traversal.step_walk import message_waits, templated, walk
from coterie.dsl.model.vendors.vendors import BUILT_IN_KINDS
from coterie.dsl.model_names import split_model
from coterie.dsl.paths import Path
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.values import Json, NodePath


@rule("E503")
def stream_not_supported(persona: str, agent_type: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} streams its answer, and a {agent_type} agent shows nothing "
        "before its end",
        fix="remove `stream`, or set `stream: false` in the task's `config`",
    )


@rule("E506")
def streamed_before_approval(step: str) -> ProblemText:
    return ProblemText(
        f"`stream` would show an answer of {called(step, 'the task')} that a person may still "
        "reject: its `requires_approval` asks after the answer",
        fix="ask before the task starts, or set `stream: false` in the task's `config`",
    )


@rule("E506")
def streamed_before_check(step: str) -> ProblemText:
    return ProblemText(
        f"`stream` would show an answer of {called(step, 'the task')} that its `fail_when` may "
        "still reject",
        fix="remove `fail_when`, or set `stream: false` in the task's `config`",
    )


def check_streaming(
    step: PersonaStep,
    persona: Persona,
    path: NodePath,
    key_path: NodePath,
    tree: Node,
    problems: Problems,
) -> None:
    """Note a task whose answer would be seen before it is accepted.

    Args:
        step: The task.
        persona: Its merged persona.
        path: Where the task is written.
        key_path: Where `stream` is written.
        tree: The document.
        problems: Receives the problem.
    """
    if not persona.stream or step.agent_type == ORCHESTRATING:
        return
    if step.agent_type not in (SINGLE_SHOT, TOOL_CALLING):
        if problems.has("E203", (*path, "agent_type")):
            return
        details = stream_not_supported(step.persona_key, str(step.agent_type))
        problems.report(details, tree.key_at(key_path))
        return
    check_reasks(persona.output_schema, persona.max_reasks, key_path, tree, problems)
    approval = call_approval(step.requires_approval)
    if approval is not None and approval.at == "after":
        details = streamed_before_approval(step.name)
        problems.report(details, tree.key_at(key_path))
    elif step.fail_when is not None:
        details = streamed_before_check(step.name)
        problems.report(details, tree.key_at(key_path))


@rule("E503")
def batch_not_supported(persona: str, agent_type: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has `batch: true`, and the model calls of a {agent_type} agent "
        "cannot wait for a batch",
        fix="remove `batch`, or set `batch: false` in the task's `config`",
    )


@rule("E506")
def batch_streamed(persona: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has `batch: true` and `stream: true`: the answer of a batch "
        "arrives in one piece",
        fix="remove one of the two",
    )


@rule("E503")
def provider_without_batches(provider: str) -> ProblemText:
    return ProblemText(
        f"the provider {provider!r} has no batch API: only OpenAI's own servers and "
        "scripted answers take batches",
        fix="remove `batch`, or choose another provider",
    )


def check_batch(
    step: PersonaStep,
    persona: Persona,
    sections: Mapping[str, ProviderSection],
    path: NodePath,
    tree: Node,
    problems: Problems,
) -> None:
    """Note a task whose model turns cannot be batches.

    Args:
        step: The task.
        persona: Its merged persona.
        sections: The providers that the document configures.
        path: Where `batch` is written.
        tree: The document.
        problems: Receives the problem.
    """
    if not persona.batch or step.agent_type == ORCHESTRATING:
        return
    if step.agent_type not in (SINGLE_SHOT, TOOL_CALLING):
        details = batch_not_supported(step.persona_key, str(step.agent_type))
        problems.report(details, tree.key_at(path))
        return
    if persona.stream:
        problems.report(batch_streamed(step.persona_key), tree.key_at(path))
        return
    names = (persona.provider, *(split_model(entry)[0] for entry in persona.fallback))
    for name in dict.fromkeys(names):
        section = sections.get(name)
        if section is None and name in BUILT_IN_KINDS:
            section = ProviderSection()
        if section is not None and not section.takes_batches(name):
            problems.report(provider_without_batches(name), tree.key_at(path))


@rule("E506")
def streamed_before_reask(reasks: int) -> ProblemText:
    return ProblemText(
        "`stream` would show an answer that may still be rejected: the model is asked again for "
        f"an answer that does not match `output_schema` (`max_reasks: {reasks}`)",
        fix="set `max_reasks: 0`, or remove `stream` or `output_schema`",
    )


def check_reasks(
    schema: Json | None, reasks: int, path: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a schema that a streamed answer may violate, so that the model is asked again."""
    if schema is not None and reasks and not problems.has("E506", path):
        problems.report(streamed_before_reask(reasks), tree.key_at(path))


@rule("E506")
def streamed_before_decision(step: str, approval: str) -> ProblemText:
    return ProblemText(
        f"{approval!r} lets a person reject the answer of {called(step, 'the task')}, which "
        "`stream` has already shown to the person who wrote to the session",
        fix="set `stream: false` in the task's `config`, or ask before the task starts",
    )


def check_streamed_replies(plan: Plan, tree: Node, problems: Problems) -> None:
    """Note the approvals of a session that show an answer which the session has streamed already.

    In a session, the sender of the message sees the answer while it is written; in other runs the
    people who watch it are those who approve.
    """
    if not message_waits(plan):
        return
    streamed = {
        (team.id, step.name)
        for team in plan.teams.values()
        for step, _ in walk(team.steps, ())
        if isinstance(step, PersonaStep) and _streams(step, plan)
    }
    for team in plan.teams.values():
        for approval, agent, path in _shown_tasks(team):
            if agent in streamed and not problems.has("E506", path):
                problems.report(streamed_before_decision(agent[1], approval), tree.key_at(path))


def _shown_tasks(team: Team) -> Iterator[tuple[str, tuple[str, str], NodePath]]:
    """Yield each task that an approval shows: the approval, team and task, and where it is read."""
    for step, path in walk(team.steps, ("orchestration", "teams", team.id, "tasks")):
        if isinstance(step, ApprovalStep):
            for value in templated(step, path):
                for text, _ in texts_within(value.value):
                    for reference in parse(text).paths if is_template(text) else ():
                        yield step.name, _task(team.id, reference), value.path


def _streams(step: PersonaStep, plan: Plan) -> bool:
    persona = plan.personas.get(step.persona_key)
    return persona is not None and persona.stream and step.agent_type != ORCHESTRATING


def _task(team: str, path: Path) -> tuple[str, str]:
    """Return the team and the name of the task that a path reads; empty names for others."""
    match path:
        case ("tasks", str() as task, *_):
            return team, task
        case ("teams", str() as other, "tasks", str() as task, *_):
            return other, task
        case _:
            return "", ""
