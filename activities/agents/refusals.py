"""Why an agent cannot be built: mistakes of a configuration, told so that they can be mended."""


class AgentRefused(Exception):
    """What was asked for is no agent that this worker builds; trying again cannot help."""


class UnknownPersona(AgentRefused):
    """A `persona_key` that `llm_config.personas` does not have."""


class UnknownAgentType(AgentRefused):
    """An `agent_type` that is neither built in nor added by the worker."""
