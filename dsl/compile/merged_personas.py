"""Personas of agent steps: the persona with the task's `config` merged in, and its model.

The `config` is deep-merged onto the persona; neither is changed. The worker must know and allow
the provider and the model. An agent that only follows a plan asks no model, and needs neither.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from coterie.dsl.compile.skill_offers import DocumentSkills
from coterie.dsl.model.agent_skills import USE_SKILL
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.sections.provider_document import LlmConfig
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING, offered_tools
from coterie.dsl.model.steps import (
    PersonaDocument,
    PersonaStep,
)
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import UNREADABLE, Json, JsonValue, NodePath

PERSONAS: NodePath = ("llm_config", "personas")
_Choice = Literal["provider", "model"]
_NO_MODEL: Json = {"provider": "", "model": ""}
_Origins = tuple[NodePath, NodePath]
"""Where the `config` of a step is written, and where its persona is."""


@dataclass(frozen=True, slots=True)
class MergedPersona:
    """The persona of one agent step, and where it is written."""

    persona: Persona
    key: str
    named_at: NodePath
    """The path of its name in the step."""
    config: NodePath | None
    """The path of the step's `config`, if it has one."""


@rule("E102")
def provider_missing(persona: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has no provider and there is no default",
        fix="add `provider:`, or `default_provider:` under llm_config",
    )


@rule("E102")
def model_missing(persona: str, provider: str) -> ProblemText:
    return ProblemText(
        f"the persona {persona!r} has no model and provider {provider!r} no default one",
        fix="add `model:`, or `default_model:` under llm_config",
    )


CHOSEN_FOR_ALL = " given for every persona instead of its own:"


@dataclass(frozen=True, slots=True)
class PersonaMerger:
    """Merges the personas of agent steps with their `config`, and fills in their models."""

    llm: LlmConfig
    tree: Node
    problems: Problems
    capabilities: Capabilities
    model: str | None
    """The model of every persona instead of its own, if one is set."""
    groups: Mapping[str, Sequence[str]]
    """`{group of tools: its members}`."""
    skills: DocumentSkills
    """What `agent_skills` names."""
    _offered: dict[str, Json] = field(default_factory=dict[str, Json])
    """`{persona: its fields}`, of personas without a `config`."""
    _made: dict[tuple[str, bool], Persona] = field(default_factory=dict[tuple[str, bool], Persona])
    """`{(persona, whether it asks a model): the persona}`, likewise."""

    def merged(self, step: PersonaStep, path: NodePath, named_at: NodePath) -> MergedPersona | None:
        """Return the persona of a step with its model; None, and a problem, if it lacks one.

        Args:
            step: names one persona.
            path: where the step is written.
            named_at: where it names the persona.
        """
        key = step.persona_key
        document = self.llm.personas.get(key)
        if document is None:
            self._note_unknown_persona(key, named_at)
            return None
        origins = ((*path, "config"), (*PERSONAS, key))
        offered = self._fields(key, document, step.config, origins)
        asks = step.agent_type != ORCHESTRATING
        persona = self._with_model(offered, origins, key, asks=asks)
        if persona is None:
            return None
        config = (*path, "config") if step.config is not None else None
        return MergedPersona(persona, key, named_at, config)

    def _fields(
        self,
        key: str,
        document: PersonaDocument,
        config: PersonaDocument | None,
        origins: _Origins,
    ) -> Json:
        """Return the fields of a persona; those of many steps without a `config` are made once."""
        if config is not None:
            plain = self._plain(document, origins[1])
            return self._complete(deep_merge(plain, self._plain(config, origins[0])))
        if key not in self._offered:
            self._offered[key] = self._complete(self._plain(document, origins[1]))
        return self._offered[key]

    def _plain(self, document: PersonaDocument, path: NodePath) -> Json:
        """Return the fields as they are written, but the names of skills instead of folders."""
        plain = plain_persona(document)
        if plain.get("agent_skills"):
            names: list[JsonValue] = [skill.name for skill in self.skills.of(path)]
            plain["agent_skills"] = names or [UNREADABLE]  # why is already noted
        return plain

    def _complete(self, merged: Json) -> Json:
        """Return the merged fields with all tools that they offer, and the list of skills."""
        offered = with_offered_tools(without_nulls(merged), self.groups)
        names = _names(offered.get("agent_skills"), {})
        return {**offered, "skill_list": self.skills.listed(names)} if names else offered

    def _note_unknown_persona(self, key: str, path: NodePath) -> None:
        section = self.tree.get(PERSONAS)
        personas = {} if section is None else section.entries()
        if key not in personas:  # a persona with problems of its own is known, too
            unknown(self.problems, self.tree.value_at(path), "persona", key, personas)

    def _with_model(
        self, merged: Json, origins: _Origins, key: str, *, asks: bool
    ) -> Persona | None:
        """Return a merged persona with its provider and model, filled in from the defaults.

        Without both if the agent asks no model; those that are written must be known nevertheless.
        """
        chosen = self.llm.defaults.choose(
            cast("str | None", merged.get("provider")),
            cast("str | None", merged.get("model")),
            self.model,
        )
        provider, model = chosen.provider, chosen.model
        if provider is None and asks:
            self._note_missing("provider", provider_missing(key), origins)
            return None
        if provider is not None and provider not in self.capabilities.providers:
            self._note_unknown("provider", provider, self.capabilities.providers, origins)
            return None
        if not model and asks:
            self._note_missing("model", model_missing(key, str(provider)), origins)
            return None
        section = self.llm.providers.get(str(provider))
        if model and section and section.valid_models and model not in section.valid_models:
            self._note_unknown("model", model, section.valid_models, origins)
        named: Json = {"provider": provider, "model": model} if asks else _NO_MODEL
        if merged is not self._offered.get(key):
            return Persona.model_validate({**merged, **named})
        if (key, asks) not in self._made:
            self._made[key, asks] = Persona.model_validate({**merged, **named})
        return self._made[key, asks]

    def _note_missing(self, key: _Choice, details: Details, origins: _Origins) -> None:
        path = origins[1]
        self.problems.report(details, Place(self.tree.find(path).at, (*path, key)))

    def _note_unknown(
        self, key: _Choice, name: str, names: Collection[str], origins: _Origins
    ) -> None:
        where = self._where(origins, key)
        # The name may come from outside the document.
        origin = "" if self.model is None else CHOSEN_FOR_ALL
        unknown(self.problems, self.tree.value_at(where), key, name, names, origin=origin)

    def _where(self, origins: _Origins, key: str) -> NodePath:
        """Return where a persona's field is written: in the task, the persona, or the defaults."""
        paths = (*((*origin, key) for origin in origins), ("llm_config", f"default_{key}"))
        existing_paths = (path for path in paths if self.tree.has(path))
        return next(existing_paths, paths[1])


def without_nulls(persona: Json) -> Json:
    """Drop nulls at the top and among the prompts: null deletes a key."""
    fields: Json = {key: value for key, value in persona.items() if value is not None}
    prompts = fields.get("prompts")
    if isinstance(prompts, dict):
        fields["prompts"] = {key: text for key, text in prompts.items() if text is not None}
    return fields


def plain_persona(persona: PersonaDocument) -> Json:
    """Return the fields that configure the agent; its budgets belong to the run."""
    plain = persona.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude={"budgets"})
    return cast("Json", plain)


_LISTS = ("tools", "subagents", "exclude_tools")
_OFFERING = (*_LISTS, "agent_skills")


def with_offered_tools(merged: Json, groups: Mapping[str, Sequence[str]]) -> Json:
    """Return a merged persona whose `tools` are all that it offers, in written order.

    `subagents` are tools of the same names, a group stands for its members, and one tool reads
    `agent_skills`; neither subagents nor `exclude_tools` are left.

    Args:
        merged: The persona.
        groups: `{group of tools: its members}`.
    """
    code = merged.get("code_mode")
    if isinstance(code, list):
        by_code: list[JsonValue] = [*_names(code, groups)]
        merged = {**merged, "code_mode": by_code}
    if "always_sent" in merged:
        sent: list[JsonValue] = [*dict.fromkeys(_names(merged["always_sent"], groups))]
        merged = {**merged, "always_sent": sent}
    if not any(key in merged for key in _OFFERING):
        return merged
    tools, subagents, excluded = (_names(merged.get(key), groups) for key in _LISTS)
    if merged.get("agent_skills"):
        tools = [*tools, USE_SKILL]
    offered = dict.fromkeys(offered_tools(tools, subagents, excluded))
    rest = {key: value for key, value in merged.items() if key not in _LISTS}
    names: list[JsonValue] = list(offered)
    return {**rest, "tools": names} if names else rest


def _names(value: JsonValue, groups: Mapping[str, Sequence[str]]) -> list[str]:
    names = cast("list[str]", value) if isinstance(value, list) else []
    return [member for name in names for member in groups.get(name) or (name,)]
