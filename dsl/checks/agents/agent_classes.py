"""Code of packages that a document names: agent classes, agent types and kinds of providers.

Whether a worker imports it, and which sections of legacy agents are unread.
"""

from collections.abc import Collection

from coterie.dsl.errors import listed
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.steps import LegacyAgentStep, PersonaStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import NodePath


@rule("W514")
def unimportable_class(name: str, allowed: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the agent class {name!r} is in no package that this project's worker allows",
        listed(allowed),
        f"add `agent_packages: [{name.split('.')[0]}]` to `worker:` in coterie.yml",
    )


def check_agent_classes(
    document: SystemDocument,
    tree: Node,
    problems: Problems,
    capabilities: Capabilities,
) -> None:
    """Warn of code whose package the worker does not allow; check the sections of `agents`."""
    _sections(document, tree, problems)
    _agent_types(document, tree, problems, capabilities)
    _provider_kinds(document, tree, problems, capabilities)
    own = None if document.worker is None else document.worker.agent_packages
    if capabilities.agent_packages is None and own is None:
        return  # the worker's packages are not known here
    allowed = (*(capabilities.agent_packages or ()), *(own or ()))
    for step, path in document.steps:
        if not isinstance(step, LegacyAgentStep):
            continue
        name = step.agent_class
        if any(f"{name}.".startswith(f"{package}.") for package in allowed):
            continue
        key_path = (*path, "agent_class")
        problems.report(unimportable_class(name, allowed), tree.value_at(key_path))


@rule("W514")
def unimportable(
    what: str, name: str, module: str, key: str, allowed: Collection[str]
) -> ProblemText:
    return ProblemText(
        f"the {what} {name!r} comes from {module!r}, which is in no package that this project's "
        "worker allows",
        listed(allowed),
        f"add `{key}: [{module.split('.')[0]}]` to `worker:` in coterie.yml",
    )


def _agent_types(
    document: SystemDocument,
    tree: Node,
    problems: Problems,
    capabilities: Capabilities,
) -> None:
    own = () if document.worker is None else document.worker.agent_packages
    if capabilities.agent_packages is None and not own:
        return  # the worker's packages are not known here
    allowed = (*(capabilities.agent_packages or ()), *own)
    for step, path in document.steps:
        name = step.agent_type if isinstance(step, PersonaStep) else None
        if name is None or name in capabilities.agent_types:
            continue
        module = package_path(name, capabilities.agent_paths)
        if module is not None and not is_allowed(module, allowed):
            key_path = (*path, "agent_type")
            details = unimportable("agent type", name, module, "agent_packages", allowed)
            problems.report(details, tree.value_at(key_path))


def _provider_kinds(
    document: SystemDocument, tree: Node, problems: Problems, capabilities: Capabilities
) -> None:
    kinds = capabilities.provider_kinds
    if kinds is None:
        return
    own = () if document.worker is None else document.worker.provider_packages
    allowed = (*(capabilities.provider_packages or ()), *own)
    for provider, section in document.llm_config.providers.items():
        kind = section.kind
        if kind is None or kind in kinds:
            continue
        path: NodePath = ("llm_config", "providers", provider, "kind")
        module = package_path(kind, capabilities.provider_paths)
        if module is None:
            names = (*kinds, *capabilities.provider_paths)
            unknown(problems, tree.value_at(path), "provider kind", kind, names)
        elif (own or capabilities.provider_packages is not None) and not is_allowed(
            module, allowed
        ):
            details = unimportable("provider kind", kind, module, "provider_packages", allowed)
            problems.report(details, tree.value_at(path))


def package_path(name: str, installed: dict[str, str]) -> str | None:
    """Return the module of a name that a package gives, or of `module:name`; None if unknown."""
    path = name if ":" in name else installed.get(name)
    return None if path is None else path.partition(":")[0]


def is_allowed(module: str, packages: Collection[str]) -> bool:
    """Return whether a module lies in one of the packages."""
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _sections(document: SystemDocument, tree: Node, problems: Problems) -> None:
    for name, section in document.llm_config.agents.items():
        key = section.get("persona_key") if isinstance(section, dict) else None
        if isinstance(key, str) and key not in document.llm_config.personas:
            path: NodePath = ("llm_config", "agents", name, "persona_key")
            unknown(problems, tree.value_at(path), "persona", key, document.llm_config.personas)
