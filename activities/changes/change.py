"""A change to one file, as models propose it and as `AssetManager` applies it."""

from pathlib import PurePosixPath
from typing import Literal, cast

from pydantic import AliasChoices, Field, field_validator, model_validator

from dsl.values import Frozen, misfit

ChangeType = Literal["create", "modify", "delete"]


class Change(Frozen):
    """One file to create, modify or delete."""

    file_path: str = Field(min_length=1, validation_alias=AliasChoices("file_path", "file", "path"))
    """Relative to the project's root; also taken as `file` or `path`."""
    type: ChangeType = Field(validation_alias=AliasChoices("type", "change_type", "action"))
    """Also taken as `change_type` or `action`."""
    description: str = ""
    diff: str | None = None
    """A unified diff; line numbers and counts in it may be wrong or absent."""
    content: str | None = None
    """The whole new file, instead of a diff."""

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, value: object) -> object:
        """Strict output schemas make models fill every key: an empty one then means none."""
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
        """`./a//b.py` and `a/b.py` are one file."""
        return str(PurePosixPath(path.strip())) if path.strip() else path

    @field_validator("type", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_its_text(self) -> "Change":
        if self.diff is not None and self.content is not None:
            raise misfit("change", "a change has a diff or a content, not both")
        if self.type == "delete" and self.content is not None:
            raise misfit("change", "a deleted file has no content")
        if self.type != "delete" and self.diff is None and self.content is None:
            raise misfit(
                "change", "to {type} a file, a diff or a content is needed", type=self.type
            )
        return self


def repeated(changes: "list[Change]") -> list[str]:
    """Paths that more than one change names, each once, in order."""
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for change in changes:
        if change.file_path in seen:
            twice[change.file_path] = None
        seen.add(change.file_path)
    return list(twice)
