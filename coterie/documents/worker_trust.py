"""Define what a worker may touch and reach: from its own configuration, never from a run.

Paths are absolute here, and secrets are still names. Two workers with the same digest may serve the
same runs.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from pydantic import Field

from coterie.documents.product_capabilities import BUILT_IN_PROVIDERS
from coterie.dsl.egress.channel_labels import open_commands
from coterie.dsl.model.capabilities import Reach
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.sections.api_document import ApiSection
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.model.sections.provider_document import ProviderSection, provider_kind
from coterie.dsl.model.sections.temporal_document import (
    ActivitySection,
    NexusSection,
    TemporalEntry,
    WorkflowSection,
)
from coterie.dsl.model.sections.worker_document import (
    ChannelSection,
    CommandSection,
    SandboxMode,
    SandboxSection,
    WebSection,
    WorkerMemorySection,
    WorkerSection,
)
from coterie.dsl.model.vendors.vendors import VENDORS
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.settings import Settings


def documents_of(tree: Node, settings: Settings) -> tuple[str, ...]:
    """List the files of a merged document, absolute and sorted."""
    files = {settings.cwd / file for file in _files(tree)}
    return tuple(sorted(str(file) for file in files if file.is_file()))


def _files(tree: Node) -> set[str]:
    files = {tree.mark.file}
    for below in (*tree.entries().values(), *tree.items()):
        files |= _files(below)
    return files


class TrustedConfig(Frozen):
    """The effective `worker` and `llm_config.providers` sections of one worker."""

    workspace: str
    """Absolute path of the only folder that tool functions may touch."""
    trusted_paths: tuple[str, ...] = ()
    commands: dict[str, CommandSection] = Field(default_factory=dict[str, CommandSection])
    sandbox: SandboxSection = SandboxSection()
    """Paths are absolute."""
    agent_packages: tuple[str, ...] = ()
    agent_env: tuple[str, ...] = ()
    provider_packages: tuple[str, ...] = ()
    tool_packages: tuple[str, ...] = ()
    offline_tools: tuple[str, ...] = ()
    tool_env: tuple[str, ...] = ()
    mcp_servers: dict[str, McpServerSection] = Field(default_factory=dict[str, McpServerSection])
    apis: dict[str, ApiSection] = Field(default_factory=dict[str, ApiSection])
    """Paths are absolute."""
    activities: dict[str, ActivitySection] = Field(default_factory=dict[str, ActivitySection])
    workflows: dict[str, WorkflowSection] = Field(default_factory=dict[str, WorkflowSection])
    nexus: dict[str, NexusSection] = Field(default_factory=dict[str, NexusSection])
    notify: dict[str, ChannelSection] = Field(default_factory=dict[str, ChannelSection])
    web: WebSection = WebSection()
    memory: WorkerMemorySection | None = None
    accept_plans: bool = True
    """Run plans that this worker did not compile."""
    decisions_root: str | None = None
    """The public root key of signed decisions; None: decisions need no signature."""
    search_attributes: bool = False
    event_groups: bool = False
    providers: dict[str, ProviderSection] = Field(default_factory=dict[str, ProviderSection])
    scoped: dict[str, ProviderSection] = Field(default_factory=dict[str, ProviderSection])
    """Providers that one document of a catalog configures differently: `name@document`."""
    documents: tuple[str, ...] = ()
    """The files with this configuration, absolute: no tool function changes them."""

    @property
    def on_temporal(self) -> dict[str, TemporalEntry]:
        """What runs may call of what already runs on Temporal."""
        return {**self.activities, **self.workflows, **self.nexus}

    @property
    def sets_visibility(self) -> bool:
        """Whether its runs get visibility settings."""
        return self.search_attributes or self.event_groups

    def reach(self, *, sandboxed: bool) -> Reach:
        """Return what calls reach; `sandboxed`: commands run in a sandbox."""
        return Reach(
            commands=open_commands(self.commands, sandboxed=sandboxed),
            offline_tools=self.offline_tools,
            trusted_paths=self.trusted_paths,
        )

    @property
    def digest(self) -> str:
        """A digest that is equal for interchangeable workers."""
        return sha256(self.model_dump_json().encode()).hexdigest()[:12]


def resolved(
    worker: WorkerSection,
    providers: dict[str, ProviderSection],
    tree: Node,
    settings: Settings,
    workspace: str | None = None,
) -> TrustedConfig:
    """Make the paths in the sections of a merged document absolute.

    Args:
        worker: The document's section, or the defaults.
        providers: The document's section.
        tree: The merged document, which knows the file of each value.
        settings: Environment of the command.
        workspace: Given on the command line; relative to the current folder, and takes precedence.

    Raises:
        CommandError: The workspace is not a folder.
    """
    return TrustedConfig(
        workspace=str(_workspace_folder(worker, tree, settings, workspace)),
        trusted_paths=worker.trusted_paths,
        commands=worker.commands,
        sandbox=_sandbox(worker.sandbox, tree, settings),
        agent_packages=worker.agent_packages,
        agent_env=worker.agent_env,
        provider_packages=worker.provider_packages,
        tool_packages=worker.tool_packages,
        offline_tools=worker.offline_tools,
        tool_env=worker.tool_env,
        mcp_servers=worker.mcp_servers,
        apis={name: _api(name, api, tree, settings) for name, api in worker.apis.items()},
        activities=worker.activities,
        workflows=worker.workflows,
        nexus=worker.nexus,
        notify=worker.notify,
        web=worker.web or WebSection(),
        memory=worker.memory,
        accept_plans=settings.address is None
        if worker.accept_plans is None
        else worker.accept_plans,
        decisions_root=None if worker.decisions is None else worker.decisions.root,
        search_attributes=worker.search_attributes,
        event_groups=worker.event_groups,
        providers=BUILT_IN_PROVIDERS | absolute_providers(providers, tree, settings),
        documents=documents_of(tree, settings),
    )


def _workspace_folder(
    worker: WorkerSection, tree: Node, settings: Settings, workspace: str | None
) -> Path:
    """Return the folder that tool functions may touch, absolute; it must exist."""
    if workspace is not None:
        folder = settings.cwd / workspace
    else:
        folder = _beside(tree, ("worker", "workspace"), worker.workspace, settings)
    if not folder.is_dir():
        raise CommandError(f"the workspace {folder} is not a folder; create it, or name another")
    return folder.resolve()


def _sandbox(
    sandbox: SandboxSection | SandboxMode, tree: Node, settings: Settings
) -> SandboxSection:
    if not isinstance(sandbox, SandboxSection):
        return SandboxSection(mode=sandbox)
    home = settings.environment.get("HOME") or "~"
    readable_paths = tuple(
        str(_beside(tree, ("worker", "sandbox", "read", number), _in_home(path, home), settings))
        for number, path in enumerate(sandbox.read)
    )
    return sandbox.model_copy(update={"read": readable_paths})


def _in_home(path: str, home: str) -> str:
    return f"{home}{path[1:]}" if path == "~" or path.startswith("~/") else path


def absolute_providers(
    providers: dict[str, ProviderSection], tree: Node, settings: Settings
) -> dict[str, ProviderSection]:
    """Return the providers of a merged document with absolute paths."""
    return {name: _absolute(name, section, tree, settings) for name, section in providers.items()}


def _absolute(
    name: str, section: ProviderSection, tree: Node, settings: Settings
) -> ProviderSection:
    key_path = ("llm_config", "providers", name)
    update = {
        key: str(_beside(tree, (*key_path, key), path, settings))
        for key, path in (("answers", section.answers), ("log", section.log))
        if path is not None
    }
    return section.model_copy(update=update)


def _api(name: str, section: ApiSection, tree: Node, settings: Settings) -> ApiSection:
    if section.openapi is None:
        return section
    path = _beside(tree, ("worker", "apis", name, "openapi"), section.openapi, settings)
    return section.model_copy(update={"openapi": str(path)})


def _beside(tree: Node, key_path: Sequence[str | int], path: str, settings: Settings) -> Path:
    """Resolve a path relative to the folder of its file; one from no file, to the project."""
    is_set = tree.has(key_path)
    folder = (settings.cwd / tree.find(key_path).mark.file).parent if is_set else settings.project
    return folder / path


def key_names(plan: Plan, trusted: TrustedConfig) -> dict[str, str]:
    """Return `{provider: environment variable with its key}` for each that the plan asks."""
    return {
        name: key
        for name in plan.providers
        if (section := trusted.providers.get(name)) and (key := key_name(name, section))
    }


def missing_keys(keys: dict[str, str], settings: Settings) -> list[str]:
    """Return one sentence for each key that the environment lacks."""
    return [
        f"provider {name!r} needs an API key in the environment variable {key}, which is not "
        "set: export it, or choose another model with --model provider/model (in `fallback` and "
        "`compaction`, in the document)"
        for name, key in keys.items()
        if settings.secret(key) is None
    ]


def key_name(name: str, section: ProviderSection) -> str | None:
    """Return the variable of the key; a cloud, and a server at its own `api_base`, name theirs."""
    if section.api_key_env is not None or section.cloud is not None:
        return section.api_key_env
    vendor = VENDORS.get(provider_kind(name, section)) if section.api_base is None else None
    return None if vendor is None else vendor.key_env
