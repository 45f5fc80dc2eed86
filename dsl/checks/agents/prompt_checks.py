"""Checks of an agent's prompts: the prompt to ask is clear, and its names can have values."""

from collections.abc import Callable, Collection, Mapping, Sequence

from coterie.dsl.checks.agents.placeholder_checks import check_braces, check_placeholders
from coterie.dsl.checks.steps.step_scope import OutsideReads, StepScope
from coterie.dsl.checks.steps.template_checks import check_value, parse_template
from coterie.dsl.errors import listed
from coterie.dsl.evaluate.prompt_choice import (
    SYSTEM,
    AmbiguousPrompt,
    ChosenPrompt,
    NoPrompt,
    UnknownPrompt,
    choose_prompt,
)
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.brace_prompts import braces_to_template
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import NodePath

Origin = Callable[..., NodePath]
"""Returns where a field of the merged persona is written."""


def check_syntax(
    tree: Node,
    problems: Problems,
    prompts: Mapping[str, str | None],
    syntax: str | None,
    path_of: Callable[[str], NodePath],
    variables: Collection[str] | None = None,
) -> bool:
    """Check that prompts parse; names are checked only in prompts that some task asks.

    Returns:
        Whether names can be checked: not in prompts of the older syntax that do not say so.
    """
    if syntax == "braces":
        check_braces(tree, problems, prompts, path_of)
    elif not check_placeholders(tree, problems, prompts, path_of, variables):
        return False
    for key, text in prompts.items():
        if text is not None and syntax == "braces":
            text = braces_to_template(text, ())
        if text is not None and is_template(text):
            parse_template(text, tree.find(path_of(key)), problems, path_of(key), statements=True)
    return True


def check_prompts(
    scope: StepScope, step: PersonaStep, persona: Persona, path: NodePath, origin: Origin
) -> OutsideReads:
    """Check the system prompt and the prompt that the step asks; return what they read.

    Args:
        scope: of the step.
        step: asks an agent.
        persona: of the agent, with the step's `config`.
        path: of the step.
        origin: returns where a field of the persona is written.
    """
    prompt_name = _prompt_to_ask(scope, step, persona, path)
    inputs = step.input if isinstance(step.input, dict) else None
    input_names = inputs if inputs is not None or step.input is not None else ()
    prompts = scope.of_prompts(input_names, tuple(persona.flags or ()))
    known_names = (*scope.variables, *scope.given)
    if not check_syntax(
        scope.tree,
        scope.problems,
        persona.prompts,
        persona.prompt_syntax,
        lambda key: origin("prompts", key),
        known_names,
    ):
        return prompts.reads
    for key in dict.fromkeys((SYSTEM, prompt_name)):
        text = persona.prompts.get(key) if key is not None else None
        if text is not None:
            if persona.prompt_syntax == "braces":
                text = braces_to_template(text, inputs or ())
            check_value(prompts, text, origin("prompts", key or ""), statements=True)
    return prompts.reads


@rule("E502")
def prompt_not_chosen(persona: str, prompts: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has several prompts, and the task selects none",
        listed(prompts),
        f"add `prompt: {prompts[0]}`",
    )


@rule("E502")
def nothing_to_ask(persona: str) -> ProblemText:
    return ProblemText(
        f"the agent has no question for the model: persona {persona!r} has no prompt beside "
        "`system`, and the task no `input`",
        fix="add a prompt to the persona, or `input:` to the task",
    )


def _prompt_to_ask(
    scope: StepScope, step: PersonaStep, persona: Persona, path: NodePath
) -> str | None:
    """Return the prompt to ask; note a problem if there is none, or several."""
    match choose_prompt(persona.prompts, step.prompt or persona.prompt):
        case ChosenPrompt(name):
            return name
        case UnknownPrompt(name, choices):
            where = (*path, "prompt") if step.prompt else path
            scope.unknown("prompt", name, choices, where)
        case AmbiguousPrompt(names):
            scope.report(prompt_not_chosen(step.persona_key, names), path)
        case NoPrompt() if step.input is None:
            scope.report(nothing_to_ask(step.persona_key), path)
        case NoPrompt():
            pass
    return None
