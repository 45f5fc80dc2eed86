"""Determine the visibility settings of a worker's runs, as far as its server supports them.

An attribute that is not registered would block a run forever (Temporal rejects the workflow task
each time), so the worker's configuration is compared with the server.
"""

import logging
from datetime import timedelta

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError

from coterie.activities.contracts import VisibilitySettings
from coterie.documents.worker_trust import TrustedConfig
from coterie.workflows.temporal.attribute_kinds import KINDS

_TYPES = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}
_SOME_SECONDS = timedelta(seconds=10)
_log = logging.getLogger("coterie")


async def visibility_settings(client: Client, trusted: TrustedConfig) -> VisibilitySettings | None:
    """Return the settings for runs; log a warning for each that the server lacks."""
    if not trusted.sets_visibility:
        return None
    registered = trusted.search_attributes and await _register_attributes(client)
    return VisibilitySettings(search_attributes=registered, event_groups=trusted.event_groups)


async def _register_attributes(client: Client) -> bool:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        known = await client.operator_service.list_search_attributes(request, timeout=_SOME_SECONDS)
    except RPCError as error:
        _log.warning(
            "search attributes are left off: the server does not list them (%s)", error.message
        )
        return False
    missing = {
        name: kind
        for name, kind in KINDS.items()
        if known.custom_attributes.get(name) != _TYPES[kind]
    }
    if missing:
        options = " ".join(f"--name {name} --type {kind}" for name, kind in missing.items())
        _log.warning(
            "search attributes are left off: the namespace %r lacks %s; register them and start "
            "the worker again: temporal operator search-attribute create --namespace %s %s",
            client.namespace,
            ", ".join(missing),
            client.namespace,
            options,
        )
    return not missing
