"""Compile agent skills: which persona offers which, and what the plan has of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coterie.dsl.checks.tools.tool_names import written_personas
from coterie.dsl.errors import listed
from coterie.dsl.model.agent_skills import (
    MAX_SKILLS,
    MAX_SKILLS_TEXT,
    SKILL_FUNCTION,
    USE_SKILL,
    AgentSkill,
    PlannedSkill,
    SkillFolder,
)
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.sections.worker_document import CommandSection
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.model.tools.tool_section import FunctionToolSection
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node, Place
from coterie.dsl.tool_loop.skill_texts import skill_list
from coterie.dsl.values import NodePath

Folders = Mapping[tuple[str, str], SkillFolder]
"""`{(file, entry of its agent_skills): what the folder has}`."""

SKILLS = "agent_skills"


@rule("E008")
def skills_unusable(entry: str, reason: str, fix: str) -> ProblemText:
    return ProblemText(f"the folder of agent skills {entry!r} {reason}", fix=fix)


@rule("E601")
def skills_inline(entry: str) -> ProblemText:
    return ProblemText(
        f"the folder of agent skills {entry!r} did not come with this document: the worker "
        "gets only its text",
        fix="start the run by the name of a team, or by its file with `coterie run FILE`",
    )


@rule("E208")
def skill_named_twice(name: str, other: str) -> ProblemText:
    return ProblemText(
        f"the agent skill {name!r} is also {other}, with another content",
        fix="rename one of the two skills, and its folder",
    )


@rule("E008")
def too_many_skills(number: int) -> ProblemText:
    return ProblemText(
        f"this document has {number:,} agent skills, and {MAX_SKILLS} are allowed",
        fix="name folders with fewer skills",
    )


@rule("E008")
def too_large_skills(size: int) -> ProblemText:
    return ProblemText(
        f"the texts of the agent skills have {size:,} bytes, and {MAX_SKILLS_TEXT:,} are allowed",
        fix="name folders with fewer skills, or shorten their files",
    )


@rule("W517")
def tools_not_offered(skill: str, tools: Sequence[str], offered: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"`allowed-tools` of the skill {skill!r} names {listed(tools)}, which its persona does not "
        "offer; a skill never adds tools",
        listed(offered),
        "offer a tool for that work, if the skill needs it",
    )


@rule("W536")
def script_not_run(skill: str, scripts: Sequence[str]) -> ProblemText:
    first = f"{skill}/{scripts[0]}"
    return ProblemText(
        f"no command runs {listed(scripts)} of the skill {skill!r}: the model is told not to try",
        fix=f'declare `run: ["{{python}}", FOLDER/{first}]` under `worker.commands`, and offer '
        "CommandRunner.run",
    )


@dataclass(frozen=True, slots=True)
class DocumentSkills:
    """The agent skills of one document."""

    by_path: Mapping[NodePath, tuple[AgentSkill, ...]] = field(
        default_factory=dict[NodePath, tuple[AgentSkill, ...]]
    )
    """`{where agent_skills is written: the skills}`."""
    commands: Mapping[str, CommandSection] = field(default_factory=dict[str, CommandSection])

    def of(self, path: NodePath) -> tuple[AgentSkill, ...]:
        """Return the skills that are named at the path of a persona or a `config`."""
        return self.by_path.get((*path, SKILLS), ())

    def planned(self, names: Iterable[str]) -> dict[str, PlannedSkill]:
        """Return what the plan has of the skills with these names."""
        known = {skill.name: skill for skills in self.by_path.values() for skill in skills}
        return {
            name: PlannedSkill(
                digest=known[name].digest,
                compatibility=known[name].compatibility,
                files=known[name].files,
                commands=script_commands(known[name], self.commands),
            )
            for name in sorted(set(names))
        }

    def listed(self, names: Sequence[str]) -> str:
        """Return what a system prompt says of the skills with these names."""
        known = {skill.name: skill for skills in self.by_path.values() for skill in skills}
        return skill_list(known[name] for name in names if name in known)


def skills_of(
    document: SystemDocument, folders: Folders, tree: Node, problems: Problems
) -> DocumentSkills:
    """Return the agent skills that the document's personas name; note what is wrong with them."""
    reader = _Reader(folders, tree, problems)
    by_path = {
        (*path, SKILLS): reader.skills(persona, (*path, SKILLS))
        for persona, path in written_personas(document)
        if persona.agent_skills
    }
    reader.check_sizes(by_path)
    commands = {} if document.worker is None else document.worker.commands
    for persona, path in written_personas(document):
        for skill in by_path.get((*path, SKILLS), ()):
            _check_scripts(skill, commands, problems)
            if path[-1] != "config":  # whose tools may be those of its persona
                _check_tools(skill, persona, problems)
    return DocumentSkills(by_path, commands)


def with_skill_tool(document: SystemDocument, skills: DocumentSkills) -> SystemDocument:
    """Return the document with the tool that reads skills, unless it declares one of its name."""
    if not skills.by_path or USE_SKILL in document.tools:
        return document
    tool = FunctionToolSection(skill=SKILL_FUNCTION)
    return document.model_copy(update={"tools": {**document.tools, USE_SKILL: tool}})


def script_commands(skill: AgentSkill, commands: Mapping[str, CommandSection]) -> dict[str, str]:
    """Return `{script of the skill: the first command whose arguments name it}`."""
    found: dict[str, str] = {}
    for script in skill.scripts:
        ending = f"/{skill.name}/{script}"
        names = (
            name
            for name, command in commands.items()
            if any(f"/{argument}".endswith(ending) for argument in command.run)
        )
        if (name := next(names, None)) is not None:
            found[script] = name
    return found


def _check_scripts(
    skill: AgentSkill, commands: Mapping[str, CommandSection], problems: Problems
) -> None:
    known = script_commands(skill, commands)
    scripts = tuple(path for path in skill.scripts if path not in known)
    if scripts:
        problems.report(script_not_run(skill.name, scripts), _head_of(skill))


def _check_tools(skill: AgentSkill, persona: PersonaDocument, problems: Problems) -> None:
    offered = (*(persona.tools or ()), *(persona.subagents or ()), USE_SKILL)
    unknown = tuple(name for name in skill.allowed_tools if name not in offered)
    if unknown:
        problems.report(tools_not_offered(skill.name, unknown, offered), _head_of(skill))


def _head_of(skill: AgentSkill) -> Place:
    return Place(Mark(skill.file, 1, 1), ())


@dataclass(frozen=True, slots=True)
class _Reader:
    folders: Folders
    tree: Node
    problems: Problems

    def skills(self, persona: PersonaDocument, path: NodePath) -> tuple[AgentSkill, ...]:
        """Return the skills of all folders that a persona names, each once."""
        entries = persona.agent_skills or ()
        named = (
            [(entries, path)]
            if isinstance(entries, str)
            else [(entry, (*path, index)) for index, entry in enumerate(entries)]
        )
        skills: dict[str, AgentSkill] = {}
        for entry, place in named:
            for skill in self._folder(entry, place):
                self._add(skill, skills, place)
        return tuple(skills.values())

    def _folder(self, entry: str, path: NodePath) -> tuple[AgentSkill, ...]:
        place = self.tree.value_at(path)
        folder = self.folders.get((place.mark.file, entry))
        if folder is None:
            self.problems.report(skills_inline(entry), place)
            return ()
        if folder.unusable:
            self.problems.report(skills_unusable(entry, folder.unusable, folder.fix), place)
        self.problems.take(folder.problems)
        return folder.skills

    def _add(self, skill: AgentSkill, skills: dict[str, AgentSkill], path: NodePath) -> None:
        other = skills.setdefault(skill.name, skill)
        if other.digest != skill.digest:
            self.problems.report(
                skill_named_twice(skill.name, other.file), self.tree.value_at(path)
            )

    def check_sizes(self, by_path: Mapping[NodePath, Sequence[AgentSkill]]) -> None:
        """Note skills of different personas with one name, and more than a plan may carry."""
        together: dict[str, AgentSkill] = {}
        for path, skills in by_path.items():
            for skill in skills if not any(self.problems.below(path)) else ():
                self._add(skill, together, path)
        size = sum(skill.text_size for skill in together.values())
        if len(together) > MAX_SKILLS:
            self._refuse(too_many_skills(len(together)), by_path)
        if size > MAX_SKILLS_TEXT:
            self._refuse(too_large_skills(size), by_path)

    def _refuse(self, details: Details, by_path: Mapping[NodePath, object]) -> None:
        self.problems.report(details, self.tree.value_at(next(iter(by_path))))
