"""A project whose one team is made of several files, each with a word in it."""

from pathlib import Path

FILES = {
    "config/system_config.yml": """\
llm_config:
  default_provider: scripted
  default_model: never-used
  providers:
    scripted: { default_model: of-the-provider, answers: answers.yml }
    openai: { api_key_env: SOME_KEY }
worker:
  commands:
    test: { run: [pytest], timeout: 90s }
    lint: { run: [ruff] }
""",
    "config/personas/writer.yml": """\
temperature: 0.2
max_tokens: 1000
prompts:
  system: |
    You write.
    You write well.
  user: "Write about {{ context.topic }}."
output_schema:
  type: object
  properties:
    text: { type: string }
""",
    "config/personas/planner.yml": """\
execution_plan:
  - name: look
    skill: Discovery.collect
    input: { path: ".", max_bytes: 5 }
  - name: rounds
    type: loop
    until: { task: write, status: success }
    max_iterations: 3
    body:
      - name: write
        agent_type: generic_single_shot
        persona_key: writer
        config: { model: of-the-plan, temperature: null }
""",
    "config/teams/report.yml": """\
orchestration:
  entry_team: draft
  max_recursion_depth: 7
  teams:
    draft:
      max_recursion_depth: 2
      tasks:
        - name: first
          agent_type: generic_single_shot
          persona_key: writer
          config:
            max_tokens: 50
            prompts: { system: "You write briefly." }
          timeout: 2m
          retry: { retries: 1 }
        - name: plan
          agent_type: generic_orchestrating
          persona_key: planner
        - name: sign_off
          type: approval
          prompt: Good?
      routing:
        rules:
          - condition: all_success
            next_team: gather
            context_updates: { timeout: 5 }
        default: null
    gather:
      tasks:
        - { name: over_all, type: loop, iterate_on: "{{ [1, 2] }}", loop_variable: item, body: [
            { name: note, type: set, values: { deadline: 1 } } ] }
        - { name: signalled, type: wait, signal: go, deadline: 1h }
""",
    "coterie.yml": """\
llm_config:
  personas:
    writer: { max_tokens: 2000, retries: 9 }
orchestration:
  max_total_teams: 12
""",
}


def layered(folder: Path) -> Path:
    """The project, written into a folder."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def place(file: str, text: str) -> str:
    """`file:line` of the one line of a file that has the text."""
    lines = [number for number, line in enumerate(FILES[file].splitlines(), 1) if text in line]
    assert len(lines) == 1, (file, text, lines)
    return f"{file}:{lines[0]}"
