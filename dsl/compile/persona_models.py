"""The provider and the model of each persona, which the worker must know and allow."""

from dataclasses import dataclass
from typing import cast

from dsl.model.capabilities import Capabilities
from dsl.model.plan import Persona
from dsl.model.sections.provider_document import LlmConfig
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import unknown
from dsl.values import Json, NodePath
from dsl.wording.agent_wording import chosen_for_all, model_missing, provider_missing


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
        place = origins[1]
        chosen = self.llm.defaults.choose(
            cast("str | None", merged.get("provider")),
            cast("str | None", merged.get("model")),
            self.model,
        )
        provider, model = chosen.provider, chosen.model
        section = self.llm.providers.get(str(provider))
        known = self.capabilities.providers
        if provider is None:
            self.problems.note(
                "E102", self.tree.find(place).at, (*place, "provider"), provider_missing(key)
            )
            return None
        if provider not in known:
            where = self._where(origins, "provider")
            mark = self.tree.find(where).mark
            unknown(self.problems, mark, where, "E205", self._named("provider"), provider, known)
            return None
        if not model:
            self.problems.note(
                "E102", self.tree.find(place).at, (*place, "model"), model_missing(key, provider)
            )
            return None
        if section and section.valid_models and model not in section.valid_models:
            spot = self._where(origins, "model")
            mark = self.tree.find(spot).mark
            unknown(
                self.problems,
                mark,
                spot,
                "E105",
                self._named("model"),
                model,
                section.valid_models,
            )
        return Persona.model_validate({**merged, "provider": provider, "model": model})

    def _named(self, what: str) -> str:
        """Return how to call the unknown name; it may come from outside the document."""
        return what if self.model is None else chosen_for_all(what)

    def _where(self, origins: tuple[NodePath, NodePath], key: str) -> NodePath:
        """Return where a persona's field is written: in the task, the persona, or the defaults."""
        places = (*((*origin, key) for origin in origins), ("llm_config", f"default_{key}"))
        written = (path for path in places if self.tree.has(path))
        return next(written, places[1])
