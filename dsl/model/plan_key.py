"""Keys of the personas in a plan. Only this type formats and parses them.

    writer                     the persona as the document has it
    writer@draft.write         with the `config` of the task `write` of the team `draft`
    writer@editor/write        with the `config` of the step `write` of the plan of `editor`
    writer@editor@a.b/write    the same, where the task `a.b` has a `config` over `editor`

No persona has an `@` in its name, and no step a `/`. A dot or a `/` in the name of a team is
escaped, so two different tasks never share a key. Plans in older histories have a dot for `/`.
"""

_MARK = "@"
_ESCAPED = str.maketrans({"%": "%25", ".": "%2E", "/": "%2F"})


class PlanKey(str):
    """The key of a persona in a plan: its name, and the task whose `config` it has."""

    __slots__ = ()

    @classmethod
    def of_task(cls, team: str, persona: str, task: str) -> "PlanKey":
        """Return the key of a persona with the `config` of a team's task."""
        return cls(f"{persona}{_MARK}{team.translate(_ESCAPED)}.{task}")

    @classmethod
    def of_plan_step(cls, plan: str, persona: str, step: str) -> "PlanKey":
        """Return the key of a persona with the `config` of a step.

        Args:
            plan: The key of the persona whose execution plan has the step.
            persona: The name of the persona.
            step: The name of the step.
        """
        return cls(f"{persona}{_MARK}{plan}/{step}")

    @property
    def persona(self) -> str:
        """The persona, as the document names it."""
        return self.partition(_MARK)[0]

    @property
    def task(self) -> str:
        """The task whose `config` it has: `draft.write`; empty without one."""
        return self.partition(_MARK)[2]


def can_be_persona(name: str) -> bool:
    """Return whether a persona may have a name."""
    return _MARK not in name
