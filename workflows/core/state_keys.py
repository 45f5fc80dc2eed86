"""Keys of what a run remembers. Only these types format and parse them.

A StateKey says where in a run something is:

    main                      the run's own track
    main>review               the track of a fan-out branch: TRACK>team
    on_cancel cleanup         the track of a team that cleans up after a cancelled run
    main:plan#2               a visit, and its frame: TRACK:team#visit
    main:plan#2/code/apply    the location of a step, and the frame of its own plan: VISIT/path
    main:plan#2/both|left     the frame of a concurrent branch or round: PLACE|name
    main:plan#2/code:catch    one of the step lists at a location: LOCATION:part
    main:plan#2/ask!          the track of a team that a step calls: PLACE!

A StepKey names a step, whichever track and visit it runs in: `plan/code/apply`. The call that the
model of an agent makes is named by tool, turn and place in the turn: `plan/code/search@2.1`.
"""

from collections.abc import Iterator, Set

from coterie.dsl.tool_loop.call_names import calls_in, without_calls

_ENDS = "/|!:>"
_ONE_END = str.maketrans(_ENDS, ":" * len(_ENDS))


class StateKey(str):
    """Where in a run something is: a track, a visit, a location in it, or a frame or list there."""

    __slots__ = ()

    @classmethod
    def visit(cls, track: str, team: str | None, number: int) -> "StateKey":
        """Return the key of a visit of a team on a track."""
        return cls(f"{track}:{team}#{number}")

    @classmethod
    def at(cls, track: str, team: str, visit: int, path: str) -> "StateKey":
        """Return the key of a step, or of the visit itself if the path is empty."""
        return cls(f"{track}:{team}#{visit}/{path}" if path else f"{track}:{team}#{visit}")

    @classmethod
    def cleanup(cls, team: str) -> "StateKey":
        """Return the track of a team that cleans up after a cancelled run."""
        return cls(f"on_cancel {team}")

    def fan_out_branch(self, team: str) -> "StateKey":
        """Return the track of a branch of this track's fan-out."""
        return StateKey(f"{self}>{team}")

    def called_team(self) -> "StateKey":
        """Return the track of the team that the step at this location calls."""
        return StateKey(f"{self}!")

    def frame_of(self, branch: str) -> "StateKey":
        """Return the frame of a concurrent branch or round at this location."""
        return StateKey(f"{self}|{branch}")

    def part(self, name: str) -> "StateKey":
        """Return the key of one of the step lists at this location."""
        return StateKey(f"{self}:{name}")

    @property
    def list_owner(self) -> "StateKey":
        """Of the key of a step list: the key of the step that has it."""
        return StateKey(self.rpartition(":")[0])

    @property
    def is_of_branch(self) -> bool:
        """Whether this is within the frame of a concurrent branch or round."""
        return "|" in self

    @property
    def step(self) -> "StepKey":
        """The step at this location, whichever track and visit it runs in."""
        above, _, within = self.rpartition("#")
        return StepKey.of(above.rpartition(":")[2], within.partition("/")[2])

    @property
    def visit_number(self) -> str:
        """The number of the visit that this belongs to."""
        return self.rpartition("#")[2].partition("/")[0]

    @property
    def branch_name(self) -> str:
        """The first team of a fan-out branch."""
        return self.rpartition(">")[2]

    @property
    def nested_calls(self) -> int:
        """How many team calls are nested here."""
        return self.count("!")

    def part_of(self, above: str) -> "StateKey":
        """Return the part directly below another key that holds this one: `TRACK:t#1/both/left`."""
        name = self[len(above) + 1 :].translate(_ONE_END).partition(":")[0]
        return StateKey(self[: len(above) + 1 + len(name)])

    def holds(self, other: str) -> bool:
        """Return whether another key is this one, or lies within it.

        `main:a#1/code` does not hold `main:a#1/code_review`.
        """
        if not other.startswith(self):
            return False
        return len(other) == len(self) or other[len(self)] in _ENDS

    def within_steps(self, names: Set[str], other: str) -> bool:
        """Return whether another key lies in one of the named steps, branches or rounds."""
        return _first_name(f"{self}/", other) in names

    def within_fan_out(self, branches: Set[str], other: str) -> bool:
        """Return whether another key lies in one of this track's named fan-out branches."""
        return _first_name(f"{self}>", other) in branches

    def frame_serves(self, location: str) -> bool:
        """Return whether a step there writes to the frame of this key, or to one within it."""
        at = self.rpartition("|")[0] or self
        return location == at or location.startswith(f"{at}/")

    def led_through(self, visit: str) -> bool:
        """Return whether this track belongs to a step of a visit (`team#2`), on any track."""
        return f":{visit}/" in self


def _first_name(above: str, key: str) -> str | None:
    """Return the name that follows `above` in a key."""
    if not key.startswith(above):
        return None
    return key[len(above) :].translate(_ONE_END).partition(":")[0]


MAIN = StateKey("main")
"""The run's own track."""

FAILED = "failed"
"""The last part of the key under which a failed task waits for a person."""

INPUT = "input"
"""The last part of the key under which a call of a tool waits for what a person answers."""

_SKIPPED = "skipped"


class StepKey(str):
    """`team/path` of a step: how people, calls and requests name it."""

    __slots__ = ()

    @classmethod
    def of(cls, team: str, path: str) -> "StepKey":
        """Return the key of the step at a path of a team."""
        return cls(f"{team}/{path}")

    @classmethod
    def of_request(cls, id: str) -> "StepKey":
        """Return the key that the request with this id belongs to."""
        return cls(id.rpartition("#")[0])

    @classmethod
    def of_failed(cls, id: str) -> "StepKey":
        """Return the failed step that the request with this id asks about; empty if none."""
        return cls(id.rpartition(f"/{FAILED}#")[0])

    @property
    def team(self) -> str:
        """The team that the step belongs to."""
        return self.partition("/")[0]

    @property
    def path(self) -> str:
        """The path of the step within its team."""
        return self.partition("/")[2]

    @property
    def task(self) -> str:
        """The step of the team's own list that is or contains this step."""
        return self.path.partition("/")[0]

    @property
    def counter(self) -> str:
        """The key under which the state counts this step's requests."""
        return f"?{self}"

    @property
    def failed(self) -> "StepKey":
        """The key of the request about this step's failure."""
        return StepKey(f"{self}/{FAILED}")

    @property
    def input(self) -> "StepKey":
        """The key of the request for input of the tool that this step calls."""
        return StepKey(f"{self}/{INPUT}")

    @property
    def asks_for_input(self) -> bool:
        """Whether this is the key of a tool's request for input."""
        return self.endswith(f"/{INPUT}")

    @property
    def skipped(self) -> "StepKey":
        """The key of a decision that skips this step while no request waits."""
        return StepKey(f"{self}/{_SKIPPED}")

    def request(self, number: int) -> str:
        """Return the id of a request of this step."""
        return f"{self}#{number}"

    def holds(self, other: str) -> bool:
        """Return whether another step is inside this one."""
        return other.startswith(f"{self}/")

    def is_called(self, name: str) -> bool:
        """Return whether a name is an end of this key: `apply`, `code/apply` of `p/code/apply`."""
        return self.endswith(f"/{name}")

    def names(self) -> Iterator[str]:
        """Yield what people may call the step: the key and its ends, the longest first."""
        name: str = str(self)
        while name:
            yield name
            name = name.partition("/")[2]

    @property
    def is_model_call(self) -> bool:
        """Whether this is a call that a model makes."""
        return calls_in(self.rpartition("/")[2]) > 0

    @property
    def model_calls_around(self) -> int:
        """How many calls of models contain this step, or are it."""
        return calls_in(self)

    def without_model_calls(self) -> "StepKey":
        """Return the step without turns and places in a turn: `plan/code/search`."""
        return StepKey(without_calls(self)) if "@" in self else self

    def without_rounds(self) -> "StepKey":
        """Return the step without the numbers of concurrent rounds."""
        return StepKey("/".join(part for part in self.split("/") if not part.isdigit()))


class FunctionCallKey(str):
    """`run/execution/team/path#count`: the call of a function that an execution of a step makes.

    It is the same in retries, and when the run continues as new or is reset. It differs from the
    keys of every other run, also of one with the same id. The id of a run has no slash, and the
    count of executions of the step starts at 1.
    """

    __slots__ = ()

    @classmethod
    def of(cls, run: str, execution: str, step: str, count: int) -> "FunctionCallKey":
        """Return the key of the call that an execution of a step makes."""
        return cls(f"{run}/{execution}/{step}#{count}")

    @property
    def step(self) -> StepKey:
        """The step that calls."""
        return StepKey(self.rpartition("#")[0].partition("/")[2].partition("/")[2])

    @property
    def execution(self) -> int:
        """The number of the step's execution; 1 if the key is of another form."""
        digits = self.rpartition("#")[2]
        return int(digits) if digits.isdecimal() and len(digits) < 10 else 1
