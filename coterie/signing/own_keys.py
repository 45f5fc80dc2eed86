"""The key of the person at the terminal, as `--key` names it."""

from coterie.failures import CommandError
from coterie.settings import Settings
from coterie.signing.key_files import read_key
from coterie.signing.signers import Signer


def signer_of(settings: Settings, file: str | None) -> Signer | None:
    """Return who signs with the key in a file; None without one.

    Raises:
        CommandError: It is not the key of a person.
    """
    if file is None:
        return None
    key = read_key(settings.cwd / file)
    if key.coterie_key != "person":
        raise CommandError(
            f"{file} is the key of a gateway, which signs for people that it has verified; use the "
            "key of a person"
        )
    return Signer(key)
