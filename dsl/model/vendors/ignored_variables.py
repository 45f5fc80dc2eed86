"""Environment variables that the vendors' SDKs read and Coterie ignores: only the file counts."""

from collections.abc import Mapping

IGNORED_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "anthropic": {
        "ANTHROPIC_AUTH_TOKEN": "`headers` with `Authorization`",
        "ANTHROPIC_BASE_URL": "`api_base`",
        "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "`api_base`",
        "ANTHROPIC_CUSTOM_HEADERS": "`headers`",
        "ANTHROPIC_FOUNDRY_API_KEY": "`api_key_env`",
        "ANTHROPIC_FOUNDRY_BASE_URL": "`api_base`",
        "ANTHROPIC_FOUNDRY_RESOURCE": "`api_base`",
        "ANTHROPIC_PROFILE": "`api_key_env`",
        "ANTHROPIC_VERTEX_BASE_URL": "`api_base`",
        "ANTHROPIC_VERTEX_PROJECT_ID": "`project`",
        "CLOUD_ML_REGION": "`region`",
    },
    "openai": {
        "OPENAI_BASE_URL": "`api_base`",
        "OPENAI_CUSTOM_HEADERS": "`headers`",
        "OPENAI_ORG_ID": "`organization`",
        "OPENAI_PROJECT_ID": "`project`",
    },
}
"""`{kind of provider: {variable: the key of its section that counts instead}}`."""
