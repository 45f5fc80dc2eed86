"""The provider and the model of each persona: known to the worker, and allowed."""

from typing import cast

from dsl.model.capabilities import Capabilities
from dsl.model.plan import Persona
from dsl.model.sections.provider_document import LlmConfig
from dsl.source.unknown_names import unknown
from dsl.source.yaml_reader import Node, Problems
from dsl.values import Json, NodePath


class PersonaModels:
    """Fills in what personas leave to the defaults."""

    def __init__(
        self,
        llm: LlmConfig,
        tree: Node,
        problems: Problems,
        capabilities: Capabilities,
        model: str | None,
    ) -> None:
        self.llm = llm
        self.tree = tree
        self.problems = problems
        self.capabilities = capabilities
        self.model = model

    def complete(
        self, merged: Json, origins: tuple[NodePath, NodePath], key: str
    ) -> Persona | None:
        """The persona with its provider and model filled in from the defaults.

        Args:
            merged: the persona with the task's `config` laid over it.
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
            self.problems.add(
                "E102",
                self.tree.find(place).at,
                (*place, "provider"),
                f"the persona {key!r} has no provider and there is no default",
                fix="add `provider:`, or `default_provider:` under llm_config",
            )
            return None
        if provider not in known:
            where = self._where(origins, "provider")
            mark = self.tree.find(where).mark
            unknown(self.problems, mark, where, "E205", f"provider{self._of_whom}", provider, known)
            return None
        if not model:
            self.problems.add(
                "E102",
                self.tree.find(place).at,
                (*place, "model"),
                f"the persona {key!r} has no model and provider {provider!r} no default one",
                fix="add `model:`, or `default_model:` under llm_config",
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
                f"model{self._of_whom}",
                model,
                section.valid_models,
            )
        return Persona.model_validate({**merged, "provider": provider, "model": model})

    @property
    def _of_whom(self) -> str:
        """What is wrong may not be in the document at all."""
        return "" if self.model is None else " given for every persona instead of its own:"

    def _where(self, origins: tuple[NodePath, NodePath], key: str) -> NodePath:
        """Where a persona's field was written: in the task, the persona, or the defaults."""
        places = (*((*origin, key) for origin in origins), ("llm_config", f"default_{key}"))
        written = (path for path in places if self.tree.find(path) is not self.tree.find(path[:-1]))
        return next(written, places[1])
