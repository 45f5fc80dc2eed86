"""The parts of which documents are made that are large in one direction."""

HEAD = """\
llm_config:
  default_provider: scripted
  default_model: demo
  providers: { scripted: { answers: answers.yml } }
  personas:
    writer: { prompts: { user: "Write about {{ input.topic }}." } }
"""
ASK = "agent_type: generic_single_shot, persona_key: writer, input: { topic: a }"


def lines(size: int, line: str) -> str:
    """Return the line once for each number below the size: N is the number, M the one before."""
    return "".join(
        line.replace("NNN", str(number))
        .replace("MMM", str(max(0, number - 1)))
        .replace("PPP", str(min(size - 1, number + 1)))
        for number in range(size)
    )


def team(tasks: str, routing: str = "") -> str:
    """Return the teams of a document with one team."""
    return (
        "orchestration:\n  entry_team: main\n  teams:\n    main:\n      tasks:\n" + tasks + routing
    )
