"""Errors in the configuration of an agent, explained so that the user can fix them."""


class AgentRefused(Exception):
    """This worker cannot build the requested agent; a retry cannot help."""


class UnknownPersona(AgentRefused):
    """`llm_config.personas` does not have this `persona_key`."""


class UnknownAgentType(AgentRefused):
    """This `agent_type` is neither built in nor added by the worker."""
