"""The section `llm_config`: model providers, their rates and prices, and personas."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AliasChoices, Field, JsonValue, field_validator, model_validator

from coterie.dsl.model.model_defaults import ModelDefaults
from coterie.dsl.model.model_options import Cloud
from coterie.dsl.model.price import Price
from coterie.dsl.model.sections.mcp_document import HeaderName
from coterie.dsl.model.sections.variable_names import VariableName
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.model.vendors.vendors import (
    BUILT_IN_KINDS,
    VENDORS,
    OpenAIApi,
    VendorApi,
    vendor_api,
)
from coterie.dsl.values import Frozen, Json, form_mismatch


class RateLimitPolicy(Frozen):
    """How fast all workers together may call a provider, and how runs share that."""

    requests_per_second: float | None = Field(default=None, gt=0, le=100_000, allow_inf_nan=False)
    requests_per_minute: float | None = Field(default=None, gt=0, le=6_000_000, allow_inf_nan=False)
    """One of the two; attempts after a failure count like first ones."""
    requests_per_minute_per_key: float | None = Field(
        default=None, gt=0, le=6_000_000, allow_inf_nan=False
    )
    """For each run, or each value of `fair_by`, alone."""
    fair_by: str = "run"
    """Who shares the rate in turns: `run`, each run; or a dotted path of the context, like
    `tenant`.
    """

    @field_validator("fair_by")
    @classmethod
    def _is_a_path(cls, value: str) -> str:
        if not all(part.isidentifier() for part in value.split(".")):
            raise form_mismatch("fair_by", "`run`, or a dotted path of the context like `tenant`")
        return value

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        if (self.requests_per_second is None) == (self.requests_per_minute is None):
            raise form_mismatch(
                "rate", "exactly one of requests_per_second and requests_per_minute"
            )
        return self

    @property
    def per_second(self) -> float:
        """The rate per second."""
        return self.requests_per_second or (self.requests_per_minute or 0) / 60

    @property
    def per_second_per_key(self) -> float | None:
        """The rate of each run, or of each value of `fair_by`, per second."""
        rate = self.requests_per_minute_per_key
        return None if rate is None else rate / 60


ProviderKind = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*(:[A-Za-z_][A-Za-z0-9_]*)?$",
        json_schema_extra={"examples": [*BUILT_IN_KINDS]},
    ),
]
"""A name; packages that the worker allows add names, and `package.module:name` needs none."""


class ProviderSection(Frozen):
    """How a model provider is reached; the worker's own configuration only."""

    kind: ProviderKind | None = None
    """The adapter; the provider's own name when that is one of Coterie's. Anything
    OpenAI-compatible is `openai` with an `api_base`."""
    api: OpenAIApi | None = None
    """`openai` only: the API to call. Default: Responses; Chat Completions with an `api_base`."""
    reasoning: bool | None = None
    """`openai` with `api: responses` only: whether its models reason, so that Coterie asks for
    their encrypted reasoning and returns it. Default: by the name of the model."""
    cloud: Cloud | None = None
    """`anthropic` only: the cloud that serves Claude. Default: Anthropic itself."""
    region: str | None = None
    """Of the cloud: `bedrock` and `vertex` only."""
    project: str | None = None
    """Of the cloud, `vertex` only; or the project at OpenAI that pays."""
    organization: str | None = None
    """`openai` only: the organization at OpenAI that pays. Default: the key's own."""
    headers: dict[HeaderName, VariableName] = Field(default_factory=dict[HeaderName, VariableName])
    """`{header: the NAME of the environment variable with its value}`, sent with each call."""
    api_base: str | None = None
    api_key_env: str | None = Field(
        default=None, validation_alias=AliasChoices("api_key_env", "env_var")
    )
    """The NAME of the environment variable that holds the key; never the key."""
    default_model: str | None = None
    valid_models: tuple[str, ...] = ()
    """If set, personas may name no other model."""
    context_window: int | None = Field(default=None, ge=1)
    """Tokens that its models take with their answers. Default: the public figure of each model."""
    rate_limit_policy: RateLimitPolicy | None = None
    """How fast all workers together may call it. Default: no limit."""
    answers: str | None = None
    """Scripted only: the file of answers, relative to this file."""
    mock: Literal["schema"] | None = None
    """Scripted only: how calls without an entry are answered: by the persona's output schema."""
    log: str | None = None
    """Scripted only: a file that gets one line per call."""
    prices: dict[str, Price] = Field(default_factory=dict[str, Price])
    """`{model: price}`, for budgets and `coterie cost`; overrides public prices."""
    options: Json = Field(default_factory=dict[str, JsonValue])
    """Of a package's own kind only: what its adapter needs besides."""

    @field_validator("region")
    @classmethod
    def _is_part_of_an_address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS_PART.fullmatch(value):
            raise form_mismatch(
                "cloud", "lowercase letters, digits and hyphens, as in europe-west1"
            )
        return value

    @field_validator("project", "organization")
    @classmethod
    def _is_an_id(cls, value: str | None) -> str | None:
        if value is not None and not _ID.fullmatch(value):
            raise form_mismatch(
                "cloud", "letters, digits, hyphens and underscores, as in proj_1a2B"
            )
        return value

    @model_validator(mode="after")
    def _fits_the_cloud(self) -> Self:
        rule = _CLOUD_KEYS[self.cloud]
        keys = {
            key for key in ("region", "project", "api_base", "api_key_env") if getattr(self, key)
        }
        if not rule.required <= keys or keys & rule.refused:
            raise form_mismatch("cloud", rule.words)
        return self

    def vendor_api(self, name: str) -> VendorApi | None:
        """Return the API whose rules hold for the provider of this name."""
        return vendor_api(provider_kind(name, self), self.api, self.api_base, self.cloud)

    def takes_batches(self, name: str) -> bool:
        """Return whether the provider of this name has a batch API that Coterie uses."""
        kind = self.kind or name
        vendor = VENDORS.get(kind) if self.api_base is None else None
        return kind == "scripted" or (vendor is not None and vendor.has_batches)


_ADDRESS_PART = re.compile(r"[a-z0-9][a-z0-9.:-]{0,99}")
"""A region."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")
"""A project or an organization; projects of some domains have a dot and a colon."""


class _CloudKeys(NamedTuple):
    required: frozenset[str]
    refused: frozenset[str]
    words: str


_CLOUD_KEYS: Mapping[Cloud | None, _CloudKeys] = {
    None: _CloudKeys(
        frozenset(),
        frozenset({"region"}),
        "`region`, and Vertex's `project`, belong to a `cloud`: bedrock, vertex or foundry",
    ),
    "bedrock": _CloudKeys(
        frozenset({"region"}),
        frozenset({"project"}),
        "`cloud: bedrock` needs a `region` like us-east-1, and no `project`",
    ),
    "vertex": _CloudKeys(
        frozenset({"region", "project"}),
        frozenset(),
        "`cloud: vertex` needs a `region` like europe-west1, or `global`, and a `project`",
    ),
    "foundry": _CloudKeys(
        frozenset({"api_base", "api_key_env"}),
        frozenset({"region", "project"}),
        "`cloud: foundry` needs the `api_base` of the resource and an `api_key_env`, and neither "
        "`region` nor `project`",
    ),
}
"""What each cloud needs, and what it does not know."""


def provider_kind(name: str, section: ProviderSection | None) -> str:
    """Return the API that a provider speaks: `kind`, else its name up to an `@`."""
    kind = None if section is None else section.kind
    return kind or name.partition("@")[0]


class LlmConfig(Frozen):
    """Providers, personas and the sections of legacy agents."""

    providers: dict[str, ProviderSection] = Field(default_factory=dict[str, ProviderSection])
    default_provider: str | None = None
    default_model: str | None = None
    personas: dict[str, PersonaDocument] = Field(default_factory=dict[str, PersonaDocument])
    agents: Json = Field(default_factory=dict[str, JsonValue])
    """Legacy: read by the legacy agent classes themselves, in whatever shape they know."""

    @property
    def defaults(self) -> ModelDefaults:
        """The provider and the models of personas that name none."""
        named = {name: provider.default_model for name, provider in self.providers.items()}
        own = {name: model for name, model in named.items() if model is not None}
        return ModelDefaults(self.default_provider, self.default_model, own)
