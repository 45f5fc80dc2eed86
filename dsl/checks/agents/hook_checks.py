"""Checks of hooks: their points, their decisions, and what their templates can see."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coterie.dsl.checks.agents.hook_template_checks import HookTemplates
from coterie.dsl.checks.contracts.command_checks import check_command
from coterie.dsl.checks.contracts.contract_checks import check_input
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.template_checks import parse_template
from coterie.dsl.egress.channel_labels import call_labels, kind_of_call
from coterie.dsl.hooks.hook_reads import matches_tool
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.hooks import (
    DECISIONS_AT,
    HOOK_DECISIONS,
    RUN_POINTS,
    TOOL_POINTS,
    Hook,
    HookSection,
)
from coterie.dsl.model.step_kinds.step_base import FunctionTerms, terms_of
from coterie.dsl.model.tools.tool_section import FunctionToolSection, ToolSection
from coterie.dsl.problem_details import Details, ProblemText, Remove, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, NodePath

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,60}")


def compiled_hooks(
    hooks: Sequence[HookSection],
    path: NodePath,
    scope: StepScope,
    tools: Mapping[str, ToolSection],
    offered: Sequence[str] | None,
    owner: str = "",
    named: Mapping[str, int] | None = None,
) -> tuple[Hook, ...]:
    """Check the hooks of one list, and return them as a plan has them.

    Args:
        hooks: In written order.
        path: Where the list is written.
        scope: Of the document; its context reads are noted.
        tools: All tools of the document.
        offered: The tools of the persona; None for the hooks of the whole document.
        owner: The persona; its hooks without a name differ from those of the document.
        named: The lines of the names that are taken: those of the document's hooks.
    """
    lines = dict(named or {})
    prefix = f"{owner}." if owner else ""
    compiled: list[Hook] = []
    for index, hook in enumerate(hooks):
        checks = _HookChecks(hook, (*path, index), scope, tools, offered)
        compiled.append(checks.compiled(f"{prefix}{hook.on}-{index + 1}", lines))
    return tuple(compiled)


def hook_lines(hooks: Sequence[HookSection], path: NodePath, tree: Node) -> Mapping[str, int]:
    """Return the names of hooks, each with its line."""
    return {
        hook.name: tree.find((*path, index, "name")).mark.line
        for index, hook in enumerate(hooks)
        if hook.name is not None
    }


@rule("E506")
def hook_of_stream(name: str) -> ProblemText:
    return ProblemText(
        f"the hook {name!r} may refuse an answer that `stream` has shown already",
        fix="remove `stream`, or the hook",
    )


def check_streamed_answers(
    hooks: Sequence[Hook], path: NodePath, tree: Node, problems: Problems
) -> None:
    """Note hooks that may refuse an answer which people have seen while the model wrote it."""
    for index, hook in enumerate(hooks):
        if hook.on in ("after_model_call", "after_turn") and hook.decide != "continue":
            key_path = (*path, index, "on")
            problems.report(hook_of_stream(hook.label), tree.key_at(key_path))


_VALUES = {
    "before_run": "a mapping of context paths to values",
    "after_run": "the output",
    "before_turn": "a note for the model",
    "before_model_call": "a note for the model",
    "after_model_call": "the answer",
    "before_tool_call": "a mapping of the arguments that change",
    "after_tool_call": "the result",
}
"""What `value` is at each point, with `modify`."""


@rule("E510")
def hook_of_run(point: str) -> ProblemText:
    return ProblemText(
        f"a persona has no `{point}`: a run has many agents",
        fix="move the hook to `orchestration.hooks`, or use `before_turn` or `after_turn`",
    )


@rule("E510")
def hook_decides_nothing(decision: str, point: str, allowed: Sequence[str]) -> ProblemText:
    return _impossible_decision(decision, point, allowed)


@rule("E105")
def unknown_decision(decision: str, point: str, allowed: Sequence[str]) -> ProblemText:
    return _impossible_decision(decision, point, allowed)


def _impossible_decision(decision: str, point: str, allowed: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"`decide: {decision}` is not possible at `{point}`", ", ".join(allowed), "use one of these"
    )


@rule("E109")
def hook_template_broken() -> ProblemText:
    return ProblemText(
        "`decide` has text around its template, so it gives no decision",
        fix="write one expression that gives a decision, and nothing around it",
    )


@rule("E510")
def hook_tool_misplaced(point: str) -> ProblemText:
    return ProblemText(
        f"`tool` has no effect at `{point}`",
        "before_tool_call, after_tool_call",
        "remove `tool`, or use one of these points",
        edit=Remove("tool"),
    )


@rule("E510")
def hook_without_tools(point: str) -> ProblemText:
    return ProblemText(
        f"`{point}` has no effect: the persona has no tools",
        fix="add `tools`, or remove the hook",
    )


@rule("E510")
def hook_key_without_effect(key: str, wanted: str) -> ProblemText:
    return ProblemText(
        f"`{key}` has no effect without {wanted}",
        fix=f"add {wanted}, or remove `{key}`",
    )


@rule("E102")
def hook_value_missing(point: str) -> ProblemText:
    what = _VALUES[point]
    return ProblemText(
        f"`decide: modify` at `{point}` needs `value`: {what}", fix=f"add `value`: {what}"
    )


@rule("E103")
def hook_value_of_kind(point: str, found: str) -> ProblemText:
    what = _VALUES[point]
    return ProblemText(f"`value` at `{point}` is {found}, and must be {what}", fix=f"write {what}")


@rule("E208")
def hook_named_twice(name: str, line: int) -> ProblemText:
    return ProblemText(
        f"another hook is called {name!r} already, at line {line}", fix="choose another name"
    )


@rule("E105")
def hook_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"a hook cannot be called {name!r}",
        "letters, digits, `_`, `-` and `.`, at most 60",
        "choose another name",
    )


@rule("E510")
def hook_repeats_effect(tool: str) -> ProblemText:
    return ProblemText(
        f"a retry would repeat the effect of {tool!r}, whose effect is 'once'",
        fix="decide `reject` or `fail`, or name in `tool` only tools without such an effect",
    )


@rule("E510")
def hook_sends_data(function: str, is_function: bool) -> ProblemText:
    return ProblemText(
        f"the hook's tool function {function!r} sends data out, and nobody approves the call of a "
        "hook",
        "a tool function without the label 'egress'",
        "call it by a tool or a step"
        + (
            "; if the function uses no network, name it in `worker.offline_tools`"
            if is_function
            else ""
        ),
    )


@dataclass(frozen=True, slots=True)
class _HookChecks:
    """The checks of one hook."""

    hook: HookSection
    path: NodePath
    scope: StepScope
    tools: Mapping[str, ToolSection]
    offered: Sequence[str] | None

    def compiled(self, default_name: str, lines: dict[str, int]) -> Hook:
        """Check the hook; return it with its name and the terms of its tool function."""
        hook = self.hook
        self._name(lines)
        if self.offered is not None and hook.on in RUN_POINTS:
            self._note("on", hook_of_run(hook.on))
        self._tool()
        self._decision()
        terms = self._function()
        self._templates().check()
        return Hook(
            on=hook.on,
            name=hook.name or default_name,
            tool=hook.tool,
            skill=hook.skill,
            input=hook.input,
            when=hook.when,
            decide=hook.decide,
            value=hook.value,
            message=hook.message,
            max_retries=hook.max_retries,
            terms=terms,
        )

    def _name(self, lines: dict[str, int]) -> None:
        name = self.hook.name
        if name is None or name == UNREADABLE:
            return
        if not _NAME.fullmatch(name):
            self._note_value("name", hook_name_refused(name))
        elif name in lines:
            self._note_value("name", hook_named_twice(name, lines[name]))
        lines.setdefault(name, self.scope.at((*self.path, "name")).line)

    def _tool(self) -> None:
        hook = self.hook
        if hook.on not in TOOL_POINTS:
            if hook.tool is not None:
                self._note("tool", hook_tool_misplaced(hook.on))
            return
        if self.offered is not None and not self.offered:
            self._note("on", hook_without_tools(hook.on))
        elif hook.tool is not None and not self._matching_tools():
            names = tuple(self.tools) if self.offered is None else self.offered
            path = (*self.path, "tool")
            mark = self.scope.at(path)
            what = "tool" if self.offered is None else "offered tool"
            unknown(self.scope.problems, Place(mark, path), what, hook.tool, names)
        elif hook.decide == "retry":
            self._once()

    def _matching_tools(self) -> list[str]:
        """Return the tools that match the hook."""
        names = self.tools if self.offered is None else self.offered
        return [name for name in names if matches_tool(self.hook.tool or "*", name)]

    def _once(self) -> None:
        """Note a retry that would repeat an effect."""
        for name in self._matching_tools():
            section = self.tools.get(name)
            if not isinstance(section, FunctionToolSection):
                continue
            contract = self.scope.capabilities.functions.get(section.skill)
            if contract is not None and contract.effect == "once":
                self._note("decide", hook_repeats_effect(name))
                return

    def _decision(self) -> None:
        hook, allowed = self.hook, DECISIONS_AT[self.hook.on]
        if is_template(hook.decide):
            template = parse_template(
                hook.decide,
                self.scope.tree.find((*self.path, "decide")),
                self.scope.problems,
                (*self.path, "decide"),
            )
            if template is not None and not template.single:
                self._note_value("decide", hook_template_broken())
            return
        if hook.decide not in allowed and hook.decide != UNREADABLE:
            words = (hook.decide, hook.on, allowed)
            is_known = hook.decide in HOOK_DECISIONS
            self._note_value(
                "decide", hook_decides_nothing(*words) if is_known else unknown_decision(*words)
            )
            return
        if hook.decide == "modify":
            self._value()
        elif hook.value is not None:
            self._note("value", hook_key_without_effect("value", "`decide: modify`"))
        if hook.max_retries is not None and hook.decide != "retry":
            self._note("max_retries", hook_key_without_effect("max_retries", "`decide: retry`"))

    def _value(self) -> None:
        """Note a value that can never be what changes at the point."""
        hook = self.hook
        if hook.value is None:
            if "value" not in hook.model_fields_set:
                self._note("value", hook_value_missing(hook.on))
            return
        contract = self._templates().called_function()
        if hook.on == "before_tool_call" and contract is not None:
            path: NodePath = (*self.path, "value")
            scope = self.scope
            check_input(scope.tree, scope.problems, contract, hook.value, path, whole=False)
        is_text = isinstance(hook.value, str)
        if isinstance(hook.value, str) and is_template(hook.value):
            return
        wants_mapping = hook.on in ("before_run", "before_tool_call")
        wants_text = hook.on in ("before_turn", "before_model_call")
        if (wants_mapping and not isinstance(hook.value, dict)) or (wants_text and not is_text):
            self._note_value("value", hook_value_of_kind(hook.on, describe_kind(hook.value)))

    def _function(self) -> FunctionTerms | None:
        hook, scope = self.hook, self.scope
        if hook.skill is None:
            if hook.input is not None:
                self._note("input", hook_key_without_effect("input", "`skill`"))
            return None
        path: NodePath = (*self.path, "skill")
        contract = scope.capabilities.functions.get(hook.skill)
        if contract is None:
            functions = scope.capabilities.functions
            unknown(
                scope.problems, Place(scope.at(path), path), "tool function", hook.skill, functions
            )
            return None
        labels = call_labels(contract, hook.input, scope.capabilities.reach)
        if "egress" in labels:
            is_function = kind_of_call(hook.skill) == "function"
            self._note("skill", hook_sends_data(hook.skill, is_function))
        input_path: NodePath = (*self.path, "input")
        if isinstance(hook.input, dict):
            check_command(
                scope.capabilities, scope.problems, scope.tree, hook.skill, hook.input, input_path
            )
        check_input(scope.tree, scope.problems, contract, hook.input, input_path)
        return terms_of(contract).model_copy(update={"labels": labels})

    def _templates(self) -> HookTemplates:
        return HookTemplates(self.hook, self.path, self.scope, self.tools)

    def _note(self, key: str, details: Details) -> None:
        self.scope.report(details, (*self.path, key))

    def _note_value(self, key: str, details: Details) -> None:
        self.scope.report_value(details, (*self.path, key))
