"""Workflow templates of the team `agent_loop`, and the context of a run that follows one.

A template is a setting of the team: `settings.templates.NAME`, in a file that it includes or in the
project's `coterie.yml`.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field, JsonValue, ValidationError

from coterie.dsl.errors import listed, nearest
from coterie.dsl.values import Frozen, Json
from coterie.failures import CommandError

AGENT_TEAM = "agent_loop"
FILES = "files"
"""The detail that lists paths, and never a person's words."""


class WorkflowTemplate(Frozen):
    """Steps that a planner follows, and the details that it needs for them."""

    name: str
    description: str
    needs: tuple[str, ...] = ()
    """Keys that `details` must have."""
    steps: tuple[str, ...] = Field(min_length=1)


def templates_of(team_settings: Mapping[str, JsonValue]) -> dict[str, WorkflowTemplate]:
    """Read the templates of a team.

    Raises:
        CommandError: A template is malformed.
    """
    section = team_settings.get("templates")
    templates: dict[str, WorkflowTemplate] = {}
    for key, value in (section if isinstance(section, dict) else {}).items():
        try:
            templates[key] = WorkflowTemplate.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            setting = ".".join(map(str, ("settings", "templates", key, *first["loc"])))
            raise CommandError(f"{setting}: {first['msg']}") from None
    return templates


def named_template(
    templates: Mapping[str, WorkflowTemplate], name: str | None
) -> tuple[str, WorkflowTemplate]:
    """Return the template of this name, with the name.

    Raises:
        CommandError: It is missing, or there is no such template.
    """
    if name is None:
        raise CommandError(f"name the workflow; there are: {listed(templates)}")
    if name not in templates:
        hint = nearest(name, templates)
        message = f"Unknown workflow: {name}. There are: {listed(templates)}. {hint}"
        raise CommandError(message.rstrip(". "))
    return name, templates[name]


def workflow_context(
    name: str, template: WorkflowTemplate, text: str | None, details: Json, files: Sequence[str]
) -> Json:
    """Return the context of a run that follows a template.

    Args:
        name: Of the template.
        template: The template.
        text: What the person wrote: the goal, and the first needed detail except `files`.
        details: What else is known.
        files: Files that the work is about.

    Raises:
        CommandError: A detail that the template needs is missing.
    """
    all_details = with_files(details, files)
    key_of_text = next((key for key in template.needs if key != FILES), None)
    if text is not None and key_of_text is not None:
        all_details.setdefault(key_of_text, text)
    missing = [key for key in template.needs if key not in all_details]
    if missing:
        example = ", ".join(
            f'"{key}": ' + ('["..."]' if key == FILES else '"..."') for key in missing
        )
        message = f"the workflow {name} needs {listed(missing)}: --context '{{{example}}}'"
        raise CommandError(message)
    return {"goal": text or template.description, "workflow": name, "details": all_details}


def with_files(details: Json, files: Sequence[str]) -> Json:
    """Return the details with the files that a person names beside them."""
    file_details: Json = {FILES: list(files)} if files else {}
    return {**file_details, **details}


def template_text(name: str, template: WorkflowTemplate) -> str:
    """Return a template for a person to read."""
    steps = [f"  {number}. {step}" for number, step in enumerate(template.steps, 1)]
    needs = listed(template.needs) if template.needs else "nothing"
    return "\n".join([f"{name}: {template.name}", template.description, f"needs {needs}", *steps])
