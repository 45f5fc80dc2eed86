"""The names that a document may use: what the worker offers, and what the document declares."""

from dsl.compile.mcp.server_offers import with_servers
from dsl.model.capabilities import Capabilities
from dsl.model.document import SystemDocument


def with_declarations(capabilities: Capabilities, document: SystemDocument) -> Capabilities:
    """Return the capabilities with the document's own providers, commands, servers and channels."""
    update: dict[str, object] = {}
    if document.worker is not None:
        known = capabilities.commands or ()
        own = document.worker.commands
        once = (name for name, command in own.items() if command.once)
        update["commands"] = tuple(dict.fromkeys((*known, *own)))
        update["once_commands"] = (*capabilities.once_commands, *once)
        if document.worker.mcp_servers:
            capabilities = with_servers(capabilities, document.worker.mcp_servers)
        if document.worker.notify:
            known = (*(capabilities.channels or ()), *document.worker.notify)
            update["channels"] = tuple(dict.fromkeys(known))
    providers = (*capabilities.providers, *document.llm_config.providers)
    update["providers"] = tuple(dict.fromkeys(providers))
    return capabilities.model_copy(update=update)
