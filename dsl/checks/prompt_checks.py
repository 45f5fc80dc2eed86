"""The prompts of an agent: one of them is asked, and every name in it can have a value."""

from collections.abc import Callable, Mapping

from dsl.checks.prompt_placeholders import check_placeholders
from dsl.checks.reference_checks import Checker, parsed
from dsl.errors import listed
from dsl.model.plan import Persona
from dsl.model.steps import AgentStep
from dsl.source.unknown_names import unknown
from dsl.source.yaml_reader import Node, Problems
from dsl.templates.template import braces_to_template, is_template
from dsl.values import NodePath

Origin = Callable[..., NodePath]
"""Where a field of the merged persona is written."""


def check_syntax(
    tree: Node,
    problems: Problems,
    prompts: Mapping[str, str | None],
    syntax: str | None,
    place: Callable[[str], NodePath],
) -> None:
    """Check that prompts parse; which names they would find is known of those asked alone."""
    if syntax != "braces":
        check_placeholders(tree, problems, prompts, place)
    for key, text in prompts.items():
        if text is not None and syntax == "braces":
            text = braces_to_template(text, ())
        if text is not None and is_template(text):
            parsed(text, tree.find(place(key)), problems, place(key), statements=True)


class PromptChecks:
    """Checks the prompts of one agent step, and notes what they read of the context."""

    def __init__(
        self, tree: Node, problems: Problems, checker: Checker, reads: dict[str, None]
    ) -> None:
        self.tree = tree
        self.problems = problems
        self.checker = checker
        self.reads = reads

    def check(self, step: AgentStep, persona: Persona, path: NodePath, origin: Origin) -> None:
        """Check the system prompt and the one that is asked."""
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
        )
        for key in dict.fromkeys(("system", asked)):
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
        """Which prompt is asked; the same rule as the agent's own."""
        choice = step.prompt or persona.prompt
        others = [key for key in persona.prompts if key != "system"]
        if choice is not None:
            if choice not in persona.prompts:
                where = (*path, "prompt") if step.prompt else path
                mark = self.tree.find(where).mark
                unknown(self.problems, mark, where, "E502", "prompt", choice, others)
            return choice
        if "user" in others:
            return "user"
        if len(others) > 1:
            self.problems.add(
                "E502",
                self.tree.find(path).at,
                path,
                f"it is open which prompt of persona {step.persona_key!r} the task asks",
                allowed=listed(others),
                fix=f"add `prompt: {others[0]}`",
            )
            return None
        if not others and step.input is None:
            self.problems.add(
                "E502",
                self.tree.find(path).at,
                path,
                f"the model would be asked nothing: persona {step.persona_key!r} has no prompt "
                "beside `system`, and the task no `input`",
                fix="add a prompt to the persona, or `input:` to the task",
            )
        return others[0] if others else None
