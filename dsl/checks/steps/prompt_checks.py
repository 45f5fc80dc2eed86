"""Checks of an agent's prompts: the prompt to ask is clear, and its names can have values."""

from collections.abc import Callable, Mapping

from dsl.checks.steps.prompt_placeholders import check_placeholders
from dsl.checks.steps.reference_checks import Checker, parsed
from dsl.evaluate.prompt_choice import (
    SYSTEM,
    AmbiguousPrompt,
    ChosenPrompt,
    NoPrompt,
    UnknownPrompt,
    choose_prompt,
)
from dsl.model.plan import Persona
from dsl.model.steps import AgentStep
from dsl.source.unknown_names import unknown
from dsl.source.yaml_reader import Node, Problems
from dsl.templates.brace_prompts import braces_to_template
from dsl.templates.template import is_template
from dsl.values import NodePath
from dsl.wording.agent_wording import nothing_to_ask, prompt_not_chosen

Origin = Callable[..., NodePath]
"""Returns where a field of the merged persona is written."""


def check_syntax(
    tree: Node,
    problems: Problems,
    prompts: Mapping[str, str | None],
    syntax: str | None,
    place: Callable[[str], NodePath],
) -> None:
    """Check that prompts parse; names are checked only in prompts that some task asks."""
    if syntax != "braces":
        check_placeholders(tree, problems, prompts, place)
    for key, text in prompts.items():
        if text is not None and syntax == "braces":
            text = braces_to_template(text, ())
        if text is not None and is_template(text):
            parsed(text, tree.find(place(key)), problems, place(key), statements=True)


class PromptChecks:
    """Checks the prompts of one agent step, and collects the context paths that they read."""

    def __init__(
        self, tree: Node, problems: Problems, checker: Checker, reads: dict[str, None]
    ) -> None:
        self.tree = tree
        self.problems = problems
        self.checker = checker
        self.reads = reads

    def check(self, step: AgentStep, persona: Persona, path: NodePath, origin: Origin) -> None:
        """Check the system prompt and the prompt that the step asks."""
        checker = self.checker
        asked = self._asked(step, persona, path)
        inputs = step.input if isinstance(step.input, dict) else None
        prompts = Checker(
            checker.tree,
            checker.problems,
            checker.capabilities,
            checker.teams,
            checker.steps,
            checker.path,
            inputs=inputs if inputs is not None or step.input is not None else (),
            given=checker.given,
            outputs=checker.outputs,
            flags=tuple(persona.flags or ()),
            settings=checker.settings,
        )
        for key in dict.fromkeys((SYSTEM, asked)):
            text = persona.prompts.get(key) if key is not None else None
            if text is not None:
                if persona.prompt_syntax == "braces":
                    text = braces_to_template(text, inputs or ())
                prompts.value(text, origin("prompts", key or ""), statements=True)
        check_syntax(
            self.tree,
            self.problems,
            persona.prompts,
            persona.prompt_syntax,
            lambda key: origin("prompts", key),
        )
        self.reads.update(prompts.reads)

    def _asked(self, step: AgentStep, persona: Persona, path: NodePath) -> str | None:
        """Return the prompt to ask; note a problem if there is none, or several."""
        match choose_prompt(persona.prompts, step.prompt or persona.prompt):
            case ChosenPrompt(name):
                return name
            case UnknownPrompt(name, known):
                where = (*path, "prompt") if step.prompt else path
                mark = self.tree.find(where).mark
                unknown(self.problems, mark, where, "E502", "prompt", name, known)
            case AmbiguousPrompt(names):
                self.problems.note(
                    "E502",
                    self.tree.find(path).at,
                    path,
                    prompt_not_chosen(str(step.persona_key), names),
                )
            case NoPrompt() if step.input is None:
                self.problems.note(
                    "E502", self.tree.find(path).at, path, nothing_to_ask(str(step.persona_key))
                )
            case NoPrompt():
                pass
        return None
