"""What a worker may touch and reach: from its own configuration, never from a run.

Paths are absolute here, secrets are still names. This much tells one worker from another: two
with the same digest may serve the same runs.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from pydantic import Field

from coterie.documents.catalog import shipped_root
from coterie.documents.product_capabilities import BUILT_IN_PROVIDERS, KEY_NAMES
from coterie.documents.source_files import documents_of
from coterie.failures import CommandError
from coterie.settings import Settings
from dsl.model.plan import Plan
from dsl.model.sections.provider_document import ProviderSection
from dsl.model.sections.worker_document import (
    ChannelSection,
    CommandSection,
    SandboxMode,
    SandboxSection,
    WorkerSection,
)
from dsl.source.yaml_reader import Node
from dsl.values import Frozen


class TrustedConfig(Frozen):
    """The effective `worker` and `llm_config.providers` sections of one worker."""

    workspace: str
    """Absolute path of the one folder that skills may touch."""
    commands: dict[str, CommandSection] = Field(default_factory=dict[str, CommandSection])
    sandbox: SandboxSection = SandboxSection()
    """Paths absolute."""
    agent_packages: tuple[str, ...] = ()
    agent_env: tuple[str, ...] = ()
    notify: dict[str, ChannelSection] = Field(default_factory=dict[str, ChannelSection])
    accept_plans: bool = True
    """Run plans that this worker did not compile."""
    search_attributes: bool = False
    event_groups: bool = False
    providers: dict[str, ProviderSection] = Field(default_factory=dict[str, ProviderSection])
    scoped: dict[str, ProviderSection] = Field(default_factory=dict[str, ProviderSection])
    """Providers that one document of a catalog reaches in its own way: `name@document`."""
    documents: tuple[str, ...] = ()
    """The files that say all this, absolute: no skill changes them."""

    @property
    def marks_runs(self) -> bool:
        """Its runs are told how they are to be seen."""
        return self.search_attributes or self.event_groups

    @property
    def digest(self) -> str:
        """Equal for workers that can stand in for each other."""
        return sha256(self.model_dump_json(by_alias=True).encode()).hexdigest()[:12]


def resolved(
    worker: WorkerSection,
    providers: dict[str, ProviderSection],
    tree: Node,
    settings: Settings,
    workspace: str | None = None,
) -> TrustedConfig:
    """The sections of a merged document with their paths made absolute.

    Args:
        worker: what the document says, or the defaults.
        providers: what the document says.
        tree: the merged document, which knows the file of each value.
        settings: the place of the call.
        workspace: given with the call; relative to the current folder, and stronger.

    Raises:
        CommandError: the workspace is no folder.
    """
    if workspace is not None:
        folder = settings.cwd / workspace
    else:
        folder = _beside(tree, ("worker", "workspace"), worker.workspace, settings)
    if not folder.is_dir():
        raise CommandError(f"the workspace {folder} is no folder; make it, or name another")
    return TrustedConfig(
        workspace=str(folder.resolve()),
        commands=worker.commands,
        sandbox=_sandbox(worker.sandbox, tree, settings),
        agent_packages=worker.agent_packages,
        agent_env=worker.agent_env,
        notify=worker.notify,
        accept_plans=settings.address is None
        if worker.accept_plans is None
        else worker.accept_plans,
        search_attributes=worker.search_attributes,
        event_groups=worker.event_groups,
        providers=BUILT_IN_PROVIDERS | absolute_providers(providers, tree, settings),
        documents=documents_of(tree, settings),
    )


def _sandbox(said: SandboxSection | SandboxMode, tree: Node, settings: Settings) -> SandboxSection:
    if not isinstance(said, SandboxSection):
        return SandboxSection(mode=said)
    home = settings.environment.get("HOME") or "~"
    read = tuple(
        str(_beside(tree, ("worker", "sandbox", "read", number), _in_home(path, home), settings))
        for number, path in enumerate(said.read)
    )
    return said.model_copy(update={"read": read})


def _in_home(path: str, home: str) -> str:
    return f"{home}{path[1:]}" if path == "~" or path.startswith("~/") else path


def absolute_providers(
    providers: dict[str, ProviderSection], tree: Node, settings: Settings
) -> dict[str, ProviderSection]:
    """The providers of a merged document, with their paths made absolute."""
    return {name: _absolute(name, section, tree, settings) for name, section in providers.items()}


def _absolute(
    name: str, section: ProviderSection, tree: Node, settings: Settings
) -> ProviderSection:
    place = ("llm_config", "providers", name)
    update = {
        key: str(_beside(tree, (*place, key), path, settings))
        for key, path in (("answers", section.answers), ("log", section.log))
        if path is not None
    }
    return section.model_copy(update=update)


def _beside(tree: Node, place: Sequence[str | int], path: str, settings: Settings) -> Path:
    """A path as its file means it: relative to that file's folder.

    What no file says, and what a shipped file says of the workspace, is about the project.
    """
    node = tree.find(place)
    said = node is not tree.find(place[:-1])
    folder = (settings.cwd / node.mark.file).parent if said else settings.project
    if place[-1] == "workspace" and folder.resolve().is_relative_to(shipped_root().resolve()):
        folder = settings.project
    return folder / path


def key_names(plan: Plan, trusted: TrustedConfig) -> dict[str, str]:
    """`{provider: name of the variable with its key}` for each provider of the plan."""
    used = dict.fromkeys(persona.provider for persona in plan.personas.values())
    return {
        name: key
        for name in used
        if (section := trusted.providers.get(name)) and (key := key_name(name, section))
    }


def missing_keys(keys: dict[str, str], settings: Settings) -> list[str]:
    """One sentence for each key that the environment lacks."""
    return [
        f"the provider {name!r} needs an API key in the environment variable {key}, which is not "
        "set; export it, or choose another model with --model provider/model"
        for name, key in keys.items()
        if settings.secret(key) is None
    ]


def provider_kind(name: str, section: ProviderSection) -> str:
    """The API that a provider speaks, by default its name."""
    return section.kind or name.partition("@")[0]


def key_name(name: str, section: ProviderSection) -> str | None:
    """Where the key is; a server at an `api_base` of its own gets only a key named for it."""
    if section.api_key_env is not None:
        return section.api_key_env
    return KEY_NAMES.get(provider_kind(name, section)) if section.api_base is None else None
