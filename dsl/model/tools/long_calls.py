"""Which calls may take more than ten minutes: they continue in a process of their own."""

from coterie.dsl.model.capabilities import SkillContract
from coterie.dsl.values import MAX_CALL_SECONDS


def continues_long(contract: SkillContract) -> bool:
    """Return whether a long call of the skill outlives its worker: of a command, or of Python."""
    return contract.startup > 0 or contract.timeout > MAX_CALL_SECONDS
