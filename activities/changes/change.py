"""A change to one file, as models propose it and as `AssetManager` applies it."""

from pathlib import PurePosixPath
from typing import Literal, cast

from pydantic import AliasChoices, Field, field_validator, model_validator

from coterie.dsl.values import Documented, form_mismatch

ChangeType = Literal["create", "modify", "delete"]


class Change(Documented):
    """One file to create, modify or delete. All but `delete` need `diff` or `content`."""

    file_path: str = Field(min_length=1, validation_alias=AliasChoices("file_path", "file", "path"))
    """Relative to the workspace."""
    type: ChangeType = Field(validation_alias=AliasChoices("type", "change_type", "action"))
    """What happens to the file."""
    description: str = ""
    """For people; the tool function does not use it."""
    diff: str | None = None
    """A unified diff. Line numbers and counts may be wrong or missing. Excludes `content`."""
    content: str | None = None
    """The whole new file. Excludes `diff`."""

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, value: object) -> object:
        """Treat an empty value as absent: strict output schemas make models fill every key."""
        if not isinstance(value, dict):
            return value
        fields = dict(cast("dict[str, object]", value))
        if not str(fields.get("diff") or "").strip():
            fields.pop("diff", None)
        kind = fields.get("type", fields.get("change_type", fields.get("action")))
        if fields.get("content") == "" and ("diff" in fields or kind == "delete"):
            del fields["content"]
        return fields

    @field_validator("file_path")
    @classmethod
    def _normal(cls, path: str) -> str:
        """Normalise the path: `./a//b.py` and `a/b.py` are the same file."""
        return str(PurePosixPath(path.strip())) if path.strip() else path

    @field_validator("type", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_its_text(self) -> "Change":
        if self.diff is not None and self.content is not None:
            raise form_mismatch("change", "a change has a diff or a content, not both")
        if self.type == "delete" and self.content is not None:
            raise form_mismatch("change", "a deleted file has no content")
        if self.type != "delete" and self.diff is None and self.content is None:
            raise form_mismatch(
                "change", "to {type} a file, a diff or a content is needed", type=self.type
            )
        return self


def repeated(changes: "list[Change]") -> list[str]:
    """Return the paths that more than one change names, each once, in order."""
    paths: set[str] = set()
    twice: dict[str, None] = {}
    for change in changes:
        if change.file_path in paths:
            twice[change.file_path] = None
        paths.add(change.file_path)
    return list(twice)
