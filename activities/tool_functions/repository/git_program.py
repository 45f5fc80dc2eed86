"""Run git on the workspace so that the repository's own configuration runs no program.

A repository can come from anywhere, and its `.git/config` names programs that git starts by itself:
hooks, monitors, filters, converters of diffs, transports of missing objects. All of them are
overridden for each call. Submodules, which have configurations of their own, are never entered.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coterie.activities.os_errors import reason_of
from coterie.activities.processes.command_user import CommandUser, command_user
from coterie.activities.processes.process_group import NotStarted
from coterie.activities.processes.search_path import path_outside
from coterie.activities.processes.short_program import ProgramOutput, ProgramTimeout, run_program
from coterie.activities.workspace.command_start import environment_of
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.project_files import read_file
from coterie.dsl.visible import shortened_text

MAX_OUTPUT = 2_000_000
"""Bytes of git's output that are read."""

_TIMEOUT = 30.0
_MAX_LINE = 10_000
"""Bytes of a path that a file of git holds."""

_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "",
    "core.quotePath": "false",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "safe.bareRepository": "explicit",
    "advice.addIgnoredFile": "false",
}
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ASKPASS": "false",
    "GIT_EDITOR": "false",
    "LC_ALL": "C",
}
_PROGRAMS = re.compile(
    rb"(?i)^(filter\..*\.(clean|smudge|process|required)|diff\..*\.(textconv|command)"
    rb"|merge\..*\.driver)$"
)
"""Keys of any name that run programs, so that each is overridden by name."""

_PARTS = (
    *("HEAD", "config", "index", "objects", "objects/info", "objects/pack"),
    *("packed-refs", "refs", "refs/heads", "refs/tags", "logs", "info", "worktrees"),
)
"""Files and folders of a repository that are never links."""

_REVISION = re.compile(r"[A-Za-z0-9_][\w./@^~{}+-]{0,200}")

_MAX_WORDS = 500
"""Characters of git's own words in a failure."""


@dataclass(frozen=True, slots=True)
class GitRepository:
    """The repository at the workspace's root, and how git is called on it."""

    root: Path
    git_dir: Path
    environment: Mapping[str, str]
    overrides: Mapping[str, str] = field(default_factory=lambda: _OVERRIDES)
    """Settings that hold instead of the repository's own."""
    filters: frozenset[str] = frozenset()
    """Names of filters that the configuration defines; none of them runs."""
    user: CommandUser | None = None
    """As whom git runs, if not as the worker: what it writes belongs to the owner."""

    async def run(
        self,
        *arguments: str,
        index: Path | None = None,
        given: bytes = b"",
        maximum: int = MAX_OUTPUT,
        seconds: float = _TIMEOUT,
    ) -> ProgramOutput:
        """Run git; return its output and exit code.

        Args:
            *arguments: The subcommand and its arguments.
            index: Another index than the repository's.
            given: Standard input.
            maximum: Bytes of output to read.
            seconds: Timeout.

        Raises:
            FunctionFailure: Git is missing, or does not end in time.
        """
        try:
            return await run_program(
                (*(() if self.user is None else self.user.prefix), "git", "--no-pager", *arguments),
                cwd=self.root,
                environment=self._variables(index),
                seconds=seconds,
                maximum=maximum,
                given=given,
            )
        except NotStarted as error:
            raise FunctionFailure(f"git cannot start: {error}; install git") from None
        except ProgramTimeout:
            raise FunctionFailure(
                f"git {arguments[0]} did not end within {seconds:g} s", may_pass=True
            ) from None

    def _variables(self, index: Path | None) -> Mapping[str, str]:
        """Return git's complete environment."""
        return {
            **self.environment,
            **_ENVIRONMENT,
            **_settings(self.overrides),
            "GIT_DIR": str(self.git_dir),
            "GIT_WORK_TREE": str(self.root),
            **({} if index is None else {"GIT_INDEX_FILE": str(index)}),
        }

    async def read(
        self, *arguments: str, index: Path | None = None, given: bytes = b""
    ) -> ProgramOutput:
        """Run git; return its output.

        Raises:
            FunctionFailure: Git failed; the message is its own.
        """
        result = await self.run(*arguments, index=index, given=given)
        if result.complete and result.exit_code != 0:
            raise failed(arguments[0], result)
        return result

    @contextmanager
    def temporary_folder(self) -> Generator[Path]:
        """Make a folder to which git may write."""
        with tempfile.TemporaryDirectory(prefix="coterie-git-") as name:
            self.give(Path(name))
            yield Path(name)

    def give(self, path: Path) -> None:
        """Let a path belong to the user as whom git runs."""
        if self.user is not None:
            os.chown(path, self.user.uid, self.user.gid)

    async def commit_id(self, revision: str) -> str:
        """Return the id of the commit that a revision names.

        Raises:
            FunctionRefusal: The text is not a revision.
            FunctionFailure: No such commit exists.
        """
        if _REVISION.fullmatch(revision) is None or ".." in revision:
            raise FunctionRefusal(
                f"{revision!r} is not a revision; give a commit id, a branch, a tag, or HEAD~1"
            )
        result = await self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
        if result.exit_code != 0:
            raise FunctionFailure(f"the repository has no commit {revision!r}")
        return result.output.decode().strip()

    async def head(self) -> str | None:
        """Return the id of the current commit; None before the first one."""
        result = await self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return result.output.decode().strip() if result.exit_code == 0 else None


def _shorten(text: str) -> str:
    return shortened_text(text, _MAX_WORDS)


def failed(subcommand: str, result: ProgramOutput) -> FunctionFailure:
    """Return the failure of a git command, with git's own words."""
    words = result.errors.split("\nhint:")[0].strip().splitlines()
    why = next((line for line in words if line.startswith(("fatal:", "error:"))), None)
    reason = why or " ".join(words) or f"exit code {result.exit_code}"
    busy = "index.lock" in result.errors
    return FunctionFailure(f"git {subcommand} failed: {_shorten(reason)}", may_pass=busy)


async def repository(workspace: Workspace) -> GitRepository:
    """Open the repository of the workspace.

    Raises:
        FunctionFailure: The workspace's root is not the root of a repository, or git is missing.
        FunctionRefusal: `.git` leads to a repository elsewhere.
    """
    root = workspace.root
    try:
        git_dir = _git_dir(root)
    except OSError as error:
        raise FunctionFailure(f".git cannot be read: {reason_of(error)}") from None
    environment = environment_of((), workspace.environment)
    # git runs as the worker, not in the sandbox.
    environment["PATH"] = path_outside(environment["PATH"], root)
    bare = GitRepository(root, git_dir, environment)
    names = await bare.run("config", "--list", "--name-only", "-z", "--includes")
    if names.exit_code != 0 or not names.complete:
        raise failed("config", names)
    programs = [name for name in names.output.split(b"\0") if _PROGRAMS.match(name)]
    keys = [name.decode(errors="surrogateescape") for name in programs]
    blanks = {key: "false" if key.lower().endswith(".required") else "" for key in keys}
    filters = (key.partition(".")[2].rpartition(".")[0] for key in keys if key[0] in "fF")
    overrides = {**_OVERRIDES, **blanks}
    user = _owner(root, git_dir, environment["PATH"])
    if user is not None:
        overrides |= await _identity(bare)
    return GitRepository(root, git_dir, bare.environment, overrides, frozenset(filters), user)


def _owner(root: Path, git_dir: Path, path: str) -> CommandUser | None:
    """Return the user as whom commands run, if the repository is theirs and they reach git."""
    user, program = command_user(root, path), shutil.which("git", path=path)
    common = git_dir.parent.parent if git_dir.parent.name == "worktrees" else git_dir
    places = (root, git_dir, common)
    if user is None or program is None or any(place.stat().st_uid != user.uid for place in places):
        return None
    reaches = user.may_reach((*places, Path(program)))
    return user if reaches and user.may_use(places) else None


async def _identity(git: GitRepository) -> dict[str, str]:
    """Return who commits, as the worker's own settings say: the owner may have none."""
    identity: dict[str, str] = {}
    for key in ("user.name", "user.email"):
        value = (await git.run("config", "--get", key)).output.decode(errors="replace").rstrip("\n")
        if value:
            identity[key] = value
    return identity


def _settings(overrides: Mapping[str, str]) -> dict[str, str]:
    """Pass settings as variables: unlike `-c`, they allow any key, also one with a `=`."""
    variables = {"GIT_CONFIG_COUNT": str(len(overrides))}
    for number, (key, value) in enumerate(overrides.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def _git_dir(root: Path) -> Path:
    """Return the folder of the repository whose working tree is the workspace."""
    place = root / ".git"
    if place.is_symlink():
        raise FunctionRefusal(
            "the workspace's .git is a symlink, which tool functions do not follow"
        )
    if place.is_dir():
        _refuse_links(place)
        return place
    if not place.is_file():
        raise FunctionFailure(
            "the workspace is not the root of a git repository; run `git init` there"
        )
    return _linked_worktree(root, place)


def _refuse_links(place: Path) -> None:
    """Refuse a repository whose parts are elsewhere: it would show files of other projects."""
    linked = [name for name in _PARTS if (place / name).is_symlink()]
    if linked or (place / "commondir").exists():
        raise FunctionRefusal(
            f"the workspace's .git has its {linked[0] if linked else 'content'} elsewhere, where "
            "tool functions do not follow"
        )


def _linked_worktree(root: Path, place: Path) -> Path:
    """Return the folder of a worktree that `git worktree add` made, if its repository knows it."""
    named = re.fullmatch(r"gitdir: ([^\0\n]+)\n?", _line_of(place))
    if named is None:
        raise FunctionFailure("the workspace's .git file is not valid")
    elsewhere = Path(os.path.normpath(root / named[1]))
    if (
        elsewhere.parent.name != "worktrees"
        or Path(_line_of(elsewhere / "gitdir").strip()) != place
        or _line_of(elsewhere / "commondir").strip() != "../.."
    ):
        raise FunctionRefusal(
            "the workspace's .git file leads to a repository that does not know this working tree"
        )
    return elsewhere


def _line_of(file: Path) -> str:
    """Return the line of a small file, and never more of a large one; empty if it has none."""
    try:
        return read_file(file.parent, file.name, _MAX_LINE).decode(errors="replace")
    except OSError:
        return ""
