"""Checks of an agent's settings by the rules of its vendors, before the run."""

from collections.abc import Mapping

from coterie.dsl.checks.tools.tool_use_checks import Written
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.dsl.model.step_kinds.agent_types import TOOL_CALLING
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model.vendors.vendor_rules import CallSettings
from coterie.dsl.model.vendors.vendors import BUILT_IN_KINDS, broken_rules
from coterie.dsl.model_names import split_model
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath


@rule("E511")
def refused_by_vendor(model: str, rule: str, fix: str) -> ProblemText:
    return ProblemText(f"{model} would refuse each call: {rule}", fix=fix)


def check_vendor_rules(
    step: PersonaStep,
    persona: Persona,
    sections: Mapping[str, ProviderSection],
    written_at: Written,
    tree: Node,
    problems: Problems,
) -> None:
    """Note settings that the vendor of the persona's model, or of a fallback, always refuses.

    Args:
        step: The agent step.
        persona: With the step's `config` merged in.
        sections: The providers that the document configures.
        written_at: Where the persona's fields are written.
        tree: The document.
        problems: Collects the findings.
    """
    models = (f"{persona.provider}/{persona.model}", *persona.fallback)
    for model in dict.fromkeys(models):
        provider, name = split_model(model)
        section = _section(provider, sections)
        if section is None:
            continue
        call = _call_settings(step, persona, name, section)
        for refusal in broken_rules(section.vendor_api(provider), call, "refuse"):
            candidates = (written_at(key) for key in refusal.keys)
            path: NodePath = next(
                (candidate for candidate in candidates if tree.has(candidate)), written_at()
            )
            if not problems.has("E511", path):
                details = refused_by_vendor(model, refusal.message, refusal.fix)
                problems.report(details, tree.key_at(path))


def _section(provider: str, sections: Mapping[str, ProviderSection]) -> ProviderSection | None:
    """Return the section of a provider; None where only the worker knows it."""
    section = sections.get(provider)
    if section is None and provider_kind(provider, None) in BUILT_IN_KINDS:
        return ProviderSection()
    return section


def _call_settings(
    step: PersonaStep, persona: Persona, model: str, section: ProviderSection
) -> CallSettings:
    offers = step.agent_type == TOOL_CALLING and bool(persona.tools or persona.handoffs)
    return CallSettings(
        model=model,
        max_tokens=persona.max_tokens,
        temperature=persona.temperature,
        top_p=persona.top_p,
        effort=persona.effort,
        thinking=persona.thinking,
        has_tools=offers,
        tool_choice=persona.tool_choice,
        output_schema=persona.output_schema,
        summary=persona.reasoning == "summary",
        reasoning=section.reasoning,
    )
