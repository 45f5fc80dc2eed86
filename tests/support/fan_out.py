"""A fan-out to many branches: most answer, one asks a person, one fails, one is too late."""

from textwrap import indent

import yaml

ASKS, FAILS, LATE = 10, 20, 30
"""The branches that do something else than answer."""

_HEAD = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas:
    worker: { prompts: { user: "Do part {{ input.part }}." } }
orchestration:
  entry_team: spread
  max_total_teams: 200
  teams:
    spread:
      tasks: [{ name: begin, type: set, values: { begun: true } }]
      routing: { rules: [{ condition: all_success, next_team: [%(branches)s] }] }
    gather:
      type: concentrator
      tasks:
        - name: sum_up
          type: set
          values:
            arrived: "{{ aggregate | length }}"
            failed: >-
              {{ branches.values() | selectattr("error") | map(attribute="error.type") | list }}
      routing:
        rules:
          - condition: all_success
            next_team: null
            context_updates: { arrived: "{{ arrived }}", failed: "{{ failed }}" }
%(teams)s
"""
_BRANCH = """
b%(number)03d:
  tasks:
    - name: work
      agent_type: generic_single_shot
      persona_key: worker
      input: { part: %(number)d }
%(more)s
  routing:
    rules:
      - condition: all_success
        next_team: gather
        context_updates: { parts.p%(number)03d: "{{ tasks.work.data.text }}" }
"""
_ASK = '- { name: consent, type: approval, prompt: "Part %d?", deadline: 5d }\n'
_WAIT = "- { name: linger, type: wait, duration: 2d, timeout: %s }\n"


def team(branches: int, patience: str = "1h") -> str:
    """The document.

    Args:
        branches: how many there are.
        patience: how long the branch that is too late is waited for.
    """
    teams = "".join(_branch(number, patience) for number in range(branches))
    names = ", ".join(f"b{number:03}" for number in range(branches))
    return _HEAD % {"branches": names, "teams": indent(teams, "    ")}


def tests(branches: int, **case: object) -> str:
    """A file with one case, everything in it as it must be.

    Args:
        branches: how many there are.
        case: more of the case, like `crash_after`.
    """
    good = [n for n in range(branches) if n not in (FAILS, LATE)]
    expect = {
        "context": {
            "arrived": len(good),
            "failed": {"equals": ["TeamFailed", "TeamFailed"]},
            **{f"parts.p{number:03}": f"part {number}" for number in good},
            f"parts.p{FAILS:03}": {"exists": False},
            f"parts.p{LATE:03}": {"exists": False},
        },
        "teams_run": branches + 2,
        "model_calls": branches,
        "trail": [
            {"event": "approval", "team": f"b{ASKS:03}", "because": {"contains": "by ada"}},
            {"step": f"b{FAILS:03}", "status": "failed", "because": {"contains": "Not today"}},
            {"step": f"b{LATE:03}", "status": "failed", "because": {"contains": "Timeout"}},
        ],
        "duration": {"in_range": ["1d", "2d"]},
    }
    decisions = [{"approval": f"b{ASKS:03}/*", "decision": "approve", "by": "ada", "after": "1d"}]
    one = {"name": "fan-out", "decisions": decisions, "expect": expect, **case}
    return yaml.safe_dump({"answers": answers(branches), "cases": [one]}, sort_keys=False)


def answers(branches: int, seconds: float = 0) -> list[dict[str, object]]:
    """The model's part: one of its calls fails."""
    entries: list[dict[str, object]] = [
        {"task": f"b{n:03}/work", "answer": f"part {n}", "seconds": seconds}
        for n in range(branches)
    ]
    entries[FAILS] = {"task": f"b{FAILS:03}/work", "error": {"message": "Not today"}}
    return entries


def _branch(number: int, patience: str) -> str:
    more = {ASKS: _ASK % number, LATE: _WAIT % patience}.get(number, "")
    return _BRANCH % {"number": number, "more": indent(more, "    ").rstrip()}
