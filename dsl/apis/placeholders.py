"""Fill templates of the worker's configuration, in which `"{name}"` stands for an argument."""

from coterie.dsl.model.sections.api_document import PLACEHOLDER
from coterie.dsl.values import Json, JsonValue


def fill_placeholders(template: JsonValue, arguments: Json) -> JsonValue:
    """Return a template with its arguments; an entry or item without its argument is left out."""
    match template:
        case str() if found := PLACEHOLDER.fullmatch(template):
            return arguments.get(found[1])
        case dict():
            return {
                key: fill_placeholders(item, arguments)
                for key, item in template.items()
                if not _lacks(item, arguments)
            }
        case list():
            return [
                fill_placeholders(item, arguments)
                for item in template
                if not _lacks(item, arguments)
            ]
        case _:
            return template


def _lacks(template: JsonValue, arguments: Json) -> bool:
    found = PLACEHOLDER.fullmatch(template) if isinstance(template, str) else None
    return found is not None and found[1] not in arguments
