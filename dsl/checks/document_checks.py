"""Checks of a whole document that need no plan: secrets, templates, keys, terms, sessions."""

from dsl.checks.agents.agent_classes import check_agent_classes
from dsl.checks.approval_checks import check_approvals
from dsl.checks.document_steps import every_step
from dsl.checks.keys_without_effect import check_without_effect
from dsl.checks.session_checks import check_sessions
from dsl.checks.tools.stateful_tools import check_stateful_tools
from dsl.checks.tools.tool_names import check_tool_names
from dsl.checks.tools.unused_tools import check_unused_tools
from dsl.checks.unexpanded_templates import refuse_texts
from dsl.checks.unread_keys import check_unread_keys
from dsl.model.capabilities import Capabilities
from dsl.model.document import Orchestration, SystemDocument
from dsl.source.nodes import Node, Problems
from dsl.source.secrets import refuse_secrets


def check_document(
    document: SystemDocument,
    orchestration: Orchestration,
    tree: Node,
    problems: Problems,
    capabilities: Capabilities,
) -> None:
    """Note every problem of the document that does not depend on what its steps do."""
    refuse_secrets(tree, problems)
    refuse_texts(document, tree, problems)
    steps = tuple(every_step(document))
    check_without_effect(document, steps, tree, problems)
    check_agent_classes(document, steps, tree, problems, capabilities)
    check_unread_keys(document, steps, tree, problems)
    check_approvals(document, orchestration, steps, tree, problems, capabilities.channels)
    check_tool_names(document, tree, problems)
    check_unused_tools(document, tree, problems)
    check_stateful_tools(document, steps, tree, problems)
    check_sessions(orchestration, steps, tree, problems)
