"""The provider and the model of each persona, which the worker must know and allow."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, cast

from dsl.errors import Code
from dsl.model.capabilities import Capabilities
from dsl.model.plan import Persona
from dsl.model.sections.provider_document import LlmConfig
from dsl.problem_details import Details
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import unknown
from dsl.values import Json, NodePath
from dsl.wording.agent_wording import chosen_for_all, model_missing, provider_missing

_Choice = Literal["provider", "model"]


@dataclass(frozen=True, slots=True)
class PersonaModels:
    """Fills in the provider and the model that a persona leaves to the defaults."""

    llm: LlmConfig
    tree: Node
    problems: Problems
    capabilities: Capabilities
    model: str | None
    """The model of every persona instead of its own, if one is set."""

    def complete(
        self, merged: Json, origins: tuple[NodePath, NodePath], key: str
    ) -> Persona | None:
        """Return the persona with its provider and model, filled in from the defaults.

        Args:
            merged: the persona with the task's `config` merged in.
            origins: where the `config` is written, and where the persona is.
            key: the persona's.
        """
        chosen = self.llm.defaults.choose(
            cast("str | None", merged.get("provider")),
            cast("str | None", merged.get("model")),
            self.model,
        )
        provider, model = chosen.provider, chosen.model
        if provider is None:
            self._note_missing("provider", provider_missing(key), origins)
            return None
        if provider not in self.capabilities.providers:
            self._note_unknown("provider", provider, self.capabilities.providers, origins)
            return None
        if not model:
            self._note_missing("model", model_missing(key, provider), origins)
            return None
        section = self.llm.providers.get(provider)
        if section and section.valid_models and model not in section.valid_models:
            self._note_unknown("model", model, section.valid_models, origins)
        return Persona.model_validate({**merged, "provider": provider, "model": model})

    def _note_missing(
        self, key: _Choice, details: Details, origins: tuple[NodePath, NodePath]
    ) -> None:
        path = origins[1]
        self.problems.note("E102", self.tree.find(path).at, (*path, key), details)

    def _note_unknown(
        self, key: _Choice, name: str, known: Collection[str], origins: tuple[NodePath, NodePath]
    ) -> None:
        code: Code = "E205" if key == "provider" else "E105"
        where = self._where(origins, key)
        mark = self.tree.find(where).mark
        unknown(self.problems, mark, where, code, self._name_of_unknown(key), name, known)

    def _name_of_unknown(self, what: str) -> str:
        """Return how to call the unknown name; it may come from outside the document."""
        return what if self.model is None else chosen_for_all(what)

    def _where(self, origins: tuple[NodePath, NodePath], key: str) -> NodePath:
        """Return where a persona's field is written: in the task, the persona, or the defaults."""
        paths = (*((*origin, key) for origin in origins), ("llm_config", f"default_{key}"))
        written = (path for path in paths if self.tree.has(path))
        return next(written, paths[1])
