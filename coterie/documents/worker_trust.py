"""What a worker may touch and reach: from its own configuration, never from a run.

Paths are absolute here, secrets are still names. This much tells one worker from another: two
with the same digest may serve the same runs.
"""

import sys
from collections.abc import Sequence
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from coterie.documents.catalog import shipped_root
from coterie.documents.product_capabilities import BUILT_IN_PROVIDERS, KEY_NAMES
from coterie.documents.trusted_paths import documents_of, hidden_paths, protected_paths
from coterie.failures import CommandError
from coterie.settings import Settings
from dsl.model.document import (
    ChannelSection,
    CommandSection,
    ProviderSection,
    SandboxMode,
    SandboxSection,
    WorkerSection,
)
from dsl.model.plan import Plan
from dsl.source.yaml_reader import Node
from dsl.values import Frozen

if TYPE_CHECKING:  # these load Temporal's library, which checking a document does not need
    from activities.notifications import Channel
    from activities.processes.bubblewrap import Bubblewrap
    from activities.providers.provider import ProviderSettings
    from activities.user_code.child_pool import UserCode
    from activities.workspace.skill_base import Workspace


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


def provider_settings(trusted: TrustedConfig, settings: Settings) -> "dict[str, ProviderSettings]":
    """The providers with their keys, for the worker alone."""
    from activities.providers.provider import ProviderSettings

    return {
        name: ProviderSettings(
            name=name,
            kind=_kind(name, section),
            api_base=section.api_base,
            api_key=settings.secret(key) if (key := _key_name(name, section)) else None,
            api_key_env=key,
            answers=section.answers,
            log=section.log,
            prices=section.prices,
        )
        for name, section in (trusted.providers | trusted.scoped).items()
    }


def key_names(plan: Plan, trusted: TrustedConfig) -> dict[str, str]:
    """`{provider: name of the variable with its key}` for each provider of the plan."""
    used = dict.fromkeys(persona.provider for persona in plan.personas.values())
    return {
        name: key
        for name in used
        if (section := trusted.providers.get(name)) and (key := _key_name(name, section))
    }


def missing_keys(keys: dict[str, str], settings: Settings) -> list[str]:
    """One sentence for each key that the environment lacks."""
    return [
        f"the provider {name!r} needs an API key in the environment variable {key}, which is not "
        "set; export it, or choose another model with --model provider/model"
        for name, key in keys.items()
        if settings.secret(key) is None
    ]


def channels_of(trusted: TrustedConfig, settings: Settings) -> "dict[str, Channel]":
    """The channels to people, with their secrets, for the worker alone."""
    return {name: _channel(section, settings) for name, section in trusted.notify.items()}


def _channel(section: ChannelSection, settings: Settings) -> "Channel":
    from activities.notifications import NoticeCommand, Webhook

    if section.run:
        # Coterie's own: the project's may be changed by what commands do, and this one has secrets.
        run = tuple(part.replace("{python}", sys.executable) for part in section.run)
        return NoticeCommand(run, section.timeout, section.env)
    names = (section.url_env, section.secret_env)
    address, secret = (settings.secret(name) if name is not None else None for name in names)
    missing = (name for name in names if name is not None and settings.secret(name) is None)
    return Webhook(section.url or address, secret, section.timeout, next(missing, None))


def workspace_of(
    trusted: TrustedConfig, settings: Settings, sandbox: "Bubblewrap | None" = None
) -> "Workspace":
    """The project that skills work on.

    Args:
        trusted: what the worker's configuration says.
        settings: the environment.
        sandbox: what commands run in.
    """
    from activities.processes.process_group import Limits
    from activities.workspace.skill_base import Command, Workspace

    limits = trusted.sandbox
    return Workspace(
        root=Path(trusted.workspace),
        commands={
            name: Command(name, one.run, one.timeout, one.cwd, one.env, one.once, one.network)
            for name, one in trusted.commands.items()
        },
        environment=settings.environment,
        protected=protected_paths(trusted, settings),
        sandbox=sandbox,
        readable=tuple(map(Path, trusted.sandbox.read)),
        hidden=hidden_paths(settings),
        limits=Limits(
            cpu=ceil(limits.max_cpu),
            memory=limits.max_memory_mb << 20,
            processes=limits.max_processes,
            output=limits.max_output_mb << 20,
        ),
    )


def user_code_of(trusted: TrustedConfig, settings: Settings) -> "UserCode":
    """Where classes of the user's packages run: they see what a command sees, and what is named."""
    from activities.user_code.child_pool import UserCode
    from activities.workspace.command_start import PASSED_ON

    names = {*PASSED_ON, *trusted.agent_env}
    environment = {
        key: value
        for key, value in settings.environment.items()
        if key in names or key.startswith("LC_")
    }
    return UserCode(settings.project, environment, (str(settings.project),))


def _kind(name: str, section: ProviderSection) -> str:
    return section.kind or name.partition("@")[0]


def _key_name(name: str, section: ProviderSection) -> str | None:
    """Where the key is; a server at an `api_base` of its own gets only a key named for it."""
    if section.api_key_env is not None:
        return section.api_key_env
    return KEY_NAMES.get(_kind(name, section)) if section.api_base is None else None
