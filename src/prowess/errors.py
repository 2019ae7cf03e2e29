"""Every exception of Prowess.

What is expected is a value (a broken skill is a `Diagnostic`, an ineligible one a `Verdict`).
An exception is for the caller who must act, so each says what to do next and carries a code.

    ProwessError
    ├── ConfigError                  the config file cannot be read or written
    │   └── ConfigSyntaxError        it is not JSON5
    ├── ConfigKeyError               a key that does not exist, or a value of the wrong type
    ├── UnknownAgentError            no such agent in `agents.list`
    ├── SkillNotFoundError           no skill of that name
    ├── PathError                    a path given by the user cannot be used
    │   └── ContainmentError         a path leaves the folder it must stay in
    ├── StoreError                   the embedded store cannot be opened or used
    ├── EncoderError                 the routing encoder cannot be loaded or does not answer
    ├── SuiteError                   an evaluation suite cannot be read
    ├── ModelError                   the user's own language model does not answer
    └── WatchUnavailableError        the system cannot watch these folders
"""

from collections.abc import Sequence


class ProwessError(Exception):
    """The root of all exceptions that Prowess raises on purpose."""

    code = "prowess"


class ConfigError(ProwessError):
    """The config file cannot be read or written."""

    code = "config"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class ConfigSyntaxError(ConfigError):
    """The config file is not JSON5."""

    code = "config.syntax"


class ConfigKeyError(ProwessError):
    """A config key does not exist, or its value has the wrong type."""

    code = "config.key"

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key, self.problem = key, problem


class UnknownAgentError(ProwessError):
    """No agent of that id is configured."""

    code = "agent.unknown"

    def __init__(self, agent_id: str, known: Sequence[str]) -> None:
        names = ", ".join(known)
        super().__init__(
            f'unknown agent id "{agent_id}": use one of {names}, or add it to agents.list.'
        )
        self.agent_id, self.known = agent_id, tuple(known)


class SkillNotFoundError(ProwessError):
    """No skill answers to that name, or several do."""

    code = "skill.not_found"

    def __init__(
        self, name: str, candidates: Sequence[str] = (), *, ambiguous: bool = False
    ) -> None:
        hint = "run `prowess list` to see all names."
        if candidates:
            names = ", ".join(candidates)
            hint = (
                f"it could be {names}: give the exact name."
                if ambiguous
                else f"did you mean {names}?"
            )
        super().__init__(f'Skill "{name}" not found: {hint}')
        self.name, self.candidates, self.ambiguous = name, tuple(candidates), ambiguous


class PathError(ProwessError):
    """A path given by the user cannot be used."""

    code = "path"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class ContainmentError(PathError):
    """A path leaves the folder that it must stay in."""

    code = "path.escape"


class StoreError(ProwessError):
    """The embedded store cannot be opened or used."""

    code = "store"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class EncoderError(ProwessError):
    """The routing encoder cannot be loaded or does not answer; words alone still route."""

    code = "encoder"

    def __init__(self, encoder: str, problem: str) -> None:
        super().__init__(f"{encoder}: {problem}")
        self.encoder, self.problem = encoder, problem


class SuiteError(ProwessError):
    """An evaluation suite cannot be read."""

    code = "suite"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class ModelError(ProwessError):
    """The user's own language model is not configured or does not answer."""

    code = "model"

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(f"{model}: {problem}")
        self.model, self.problem = model, problem


class WatchUnavailableError(ProwessError):
    """The system's limits do not allow watching."""

    code = "watch.unavailable"
