"""Checks of the templates and the condition of a hook: what they read exists at its point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from coterie.dsl.checks.contracts.outputs import NO_OUTPUTS
from coterie.dsl.checks.steps.condition_checks import check_condition
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.template_checks import check_value, parse_template
from coterie.dsl.errors import listed
from coterie.dsl.json_values import texts_within
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.conditions import ContextField, Expression
from coterie.dsl.model.hooks import (
    CHECK,
    FACTS_AT,
    HookSection,
)
from coterie.dsl.model.tools.tool_section import FunctionToolSection, ToolSection
from coterie.dsl.model.traversal.step_walk import leaves
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import Json, JsonValue, NodePath

_ALWAYS = ("context", "run", "settings")


def names_at(hook: HookSection) -> tuple[str, ...]:
    """Return the names that the templates of a hook may read."""
    return (*_ALWAYS, *FACTS_AT[hook.on], *((CHECK,) if hook.skill is not None else ()))


@rule("E207")
def hook_sees_not(name: str, known: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"a hook does not see {name!r} at this point", listed(known), "use one of these names"
    )


@rule("E109")
def hook_tests_tasks(known: Sequence[str]) -> ProblemText:
    return ProblemText(
        "the condition of a hook tests a task, and a hook sees no tasks",
        listed(known),
        "write an expression over these names",
    )


@dataclass(frozen=True, slots=True)
class HookTemplates:
    """The templates and the condition of one hook."""

    hook: HookSection
    path: NodePath
    scope: StepScope
    tools: Mapping[str, ToolSection]

    def check(self) -> None:
        """Check what the condition and the templates read."""
        hook = self.hook
        own = FACTS_AT[hook.on]
        checked = (*own, CHECK) if hook.skill is not None else own
        if hook.when is not None:
            self._condition(checked)
        for key, value in (("input", hook.input), ("value", hook.value)):
            self._check_templates(value, (*self.path, key), own if key == "input" else checked)
        for key, text in (("decide", hook.decide), ("message", hook.message)):
            self._check_templates(text, (*self.path, key), checked)

    def _condition(self, names: tuple[str, ...]) -> None:
        assert self.hook.when is not None
        for leaf, path in leaves(self.hook.when, (*self.path, "when")):
            match leaf:
                case Expression(expression=text):
                    if self._unseen(text, (*path, "expression"), names):
                        continue
                case ContextField():
                    pass
                case _:
                    self.scope.report_value(hook_tests_tasks((*_ALWAYS, *names)), path)
                    continue
            check_condition(self._scope(names), leaf, path)

    def _check_templates(self, value: JsonValue, path: NodePath, names: tuple[str, ...]) -> None:
        """Check the templates of a value."""
        for text, inner_path in texts_within(value, path):
            refused = self._unseen(text, inner_path, names)
            if not refused and not any(self.scope.problems.below(inner_path)):
                check_value(self._scope(names), text, inner_path)

    def _unseen(self, text: str, path: NodePath, names: tuple[str, ...]) -> bool:
        """Note a name that a hook does not see at its point."""
        scope = self.scope
        if not is_template(text) or any(scope.problems.below(path)):
            return False
        template = parse_template(text, scope.tree.find(path), scope.problems, path)
        if template is None:
            return True
        visible_names = (*_ALWAYS, *names)
        wrong = next((named for named in template.paths if named[0] not in visible_names), None)
        if wrong is not None:
            scope.report_value(hook_sees_not(wrong[0], visible_names), path)
        return wrong is not None

    def called_function(self) -> FunctionContract | None:
        """Return the contract of the one tool that the hook names, if it is a tool function."""
        section = self.tools.get(self.hook.tool or "")
        if not isinstance(section, FunctionToolSection):
            return None
        return self.scope.capabilities.functions.get(section.skill)

    def _scope(self, names: tuple[str, ...]) -> StepScope:
        """Return the scope of the hook's templates; what they read is noted in the outer scope."""
        variables: dict[str, Json] = {}
        contract = self.scope.capabilities.functions.get(self.hook.skill or "")
        if CHECK in names and contract is not None:
            variables[CHECK] = contract.output_schema
        called_function = self.called_function()
        if "arguments" in names and called_function is not None:
            variables["arguments"] = called_function.input_schema
        outputs = NO_OUTPUTS._replace(variables=variables, context=self.scope.outputs.context)
        return replace(
            self.scope,
            steps=(),
            given=names,
            tools={},
            outputs=outputs,
            _steps_with_paths=[],
            _names={},
            _variables={},
        )
