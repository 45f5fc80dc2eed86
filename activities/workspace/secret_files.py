"""Files whose names suggest secrets: no tool function shows them to a model."""

from fnmatch import fnmatchcase
from pathlib import PurePosixPath

_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "credentials",
    "credentials.json",
    "service-account*.json",
    "secrets.*",
    ".secrets",
    "kubeconfig",
    "*.tfstate",
    "*.tfvars",
)
_HARMLESS = ("*.example", "*.sample", "*.template", "*.dist", "*.pub", "*.py", "*.md")
"""Templates, public keys, code."""
_FOLDERS = (".ssh", ".gnupg", ".aws", ".kube", ".docker")


def holds_secrets(path: str) -> bool:
    """Return whether a file with this path, relative to the project, may contain secrets."""
    parts = [part.casefold() for part in PurePosixPath(path).parts]
    if any(part in _FOLDERS for part in parts[:-1]):
        return True
    name = parts[-1] if parts else ""
    if any(fnmatchcase(name, pattern) for pattern in _HARMLESS):
        return False
    return any(fnmatchcase(name, pattern) for pattern in _NAMES)
