"""Checks of a whole document that need no plan: secrets, templates, keys, terms, sessions."""

import re

from coterie.dsl.checks.agents.agent_checks import check_persona_names
from coterie.dsl.checks.agents.agent_classes import check_agent_classes
from coterie.dsl.checks.approval_checks import check_approvals
from coterie.dsl.checks.keys_without_effect import check_unread_keys, check_without_effect
from coterie.dsl.checks.session_checks import check_sessions
from coterie.dsl.checks.shown_texts import check_shown_texts
from coterie.dsl.checks.tools.tool_names import (
    check_exclusions,
    check_tool_names,
    check_unused_tools,
)
from coterie.dsl.checks.unexpanded_templates import refuse_texts
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.document import Orchestration, SystemDocument
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.redaction import KEY_SHAPES
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import NodePath


@rule("E504")
def orchestration_disabled() -> ProblemText:
    return ProblemText("orchestration is disabled", fix="set `enabled: true` to run it")


def check_document(
    document: SystemDocument,
    orchestration: Orchestration,
    tree: Node,
    problems: Problems,
    capabilities: Capabilities,
) -> None:
    """Note every problem of the document that does not depend on what its steps do."""
    refuse_secrets(tree, problems)
    if not orchestration.enabled:
        path = ("orchestration", "enabled")
        problems.report(orchestration_disabled(), tree.value_at(path))
    refuse_texts(document, tree, problems)
    check_without_effect(document, tree, problems)
    check_unread_keys(document, tree, problems)
    check_shown_texts(document, tree, problems)
    check_persona_names(document, tree, problems)
    check_agent_classes(document, tree, problems, capabilities)
    check_approvals(document, orchestration, tree, problems, capabilities.channels)
    check_tool_names(document, tree, problems)
    check_exclusions(document, tree, problems)
    check_unused_tools(document, tree, problems)
    check_sessions(orchestration, document.steps, tree, problems)


_SECRETS = re.compile(KEY_SHAPES)


@rule("E602")
def plain_secret() -> ProblemText:
    return ProblemText(
        "this text is a secret, and the file stores it in plain text",
        "the NAME of an environment variable of the worker",
        "revoke the key where it was issued, and write `api_key_env: NAME`",
    )


def refuse_secrets(tree: Node, problems: Problems) -> None:
    """Note every text that looks like a key; the message does not repeat it."""
    for node, path in _texts_like_keys(tree, ()):
        problems.report(plain_secret(), Place(node.mark, path))


def _texts_like_keys(node: Node, path: NodePath) -> list[tuple[Node, NodePath]]:
    match node.value:
        case str() as text:
            return [(node, path)] if _SECRETS.search(text) else []
        case dict() as entries:
            below = ((key, inner) for key, inner in entries.items())
        case list() as items:
            below = enumerate(items)
        case _:
            return []
    return [pair for segment, inner in below for pair in _texts_like_keys(inner, (*path, segment))]
