"""Every exception of Prowess.

What is expected is a value (a broken skill is a `Diagnostic`, an ineligible one a `Verdict`).
An exception is for the caller who must act, so each says what to do next and carries a code.

    ProwessError
    ├── ConfigError                  the config file cannot be read or written
    │   ├── ConfigSyntaxError        it is not JSON5
    │   └── ConfigConflictError      it is not, or not known to be, the one that was read
    ├── ConfigKeyError               a key that does not exist, or a value of the wrong type
    ├── UnknownAgentError            no such agent in `agents.list`
    ├── SkillNotFoundError           no skill of that name
    ├── PathError                    a path given by the user cannot be used
    │   └── ContainmentError         a path leaves the folder it must stay in
    ├── ArchiveError                 an archive breaks a rule, so nothing of it was taken
    ├── StoreError                   the store, a file or a database, cannot be opened or used
    │   └── DatabaseLostError        the database of a fleet cannot be reached at the moment
    ├── EncoderError                 the routing encoder cannot be loaded or does not answer
    ├── SuiteError                   an evaluation suite cannot be read
    ├── ProofError                   a skill cannot be put to the proof
    ├── ModelError                   the user's own language model does not answer
    ├── StaleChangeError             a change was made or reviewed against something else
    ├── QuarantinedError             a change would leave a skill that the scanner refuses
    ├── UnsafeSkillError             a skill is not handed out: the scanner refuses it
    ├── AcceptanceError              a finding cannot be accepted, or was not
    ├── RemovalError                 a skill cannot be removed, restored or found in the trash
    ├── InstallArgumentError         an install entry is not safe to put on a command line
    ├── DownloadError                a download is refused, or fails
    ├── SecretError                  a secret reference leads to no secret
    ├── SharingError                 a skill cannot be added, updated or published
    │   ├── LockError                the lock of skills cannot be read, or is not one of ours
    │   ├── SourceError              a source gives no skill, or not the one that was promised
    │   ├── PolicyError              a policy refuses a skill, or cannot be read
    │   └── HubError                 a hub does not take or give what is asked of it
    │       ├── HubDeniedError       the token is missing, wrong, or has no right to it
    │       ├── HubNotFoundError     there is no such skill, version or namespace
    │       └── HubConflictError     it is there already, and is another one
    ├── ProposalError                a proposal cannot be made, changed or applied
    │   ├── WorkshopDisabledError    the workshop is switched off
    │   ├── ProposalInputError       what was asked for is incomplete or cannot be done
    │   ├── ProposalNotFoundError    no such proposal, or no such skill to change
    │   ├── ProposalStateError       a proposal is in no state for that
    │   ├── ProposalStaleError       what was reviewed is no longer what would be written
    │   ├── ProposalUnsafeError      the scanner refuses what would come out
    │   ├── ProposalSecretError      the text holds something that looks like a credential
    │   └── ProposalFolderError      the skill's folder cannot be read or written
    ├── DraftError                   a draft cannot be found, promoted or removed
    ├── GatewayBusyError             another gateway uses the same state folder
    ├── GatewayStartError            the gateway cannot listen where it was told to
    └── WatchUnavailableError        the system cannot watch these folders
"""

import errno
from collections.abc import Sequence

from prowess.data import compile_late


class ProwessError(Exception):
    """The root of all exceptions that Prowess raises on purpose."""

    code = "prowess"

    def __str__(self) -> str:
        """Return the message on one line, without what moves a cursor or turns text around."""
        # It may quote a skill, a tool or a server, and goes to terminals, logs and clients.
        return _UNSAFE.sub(" ", super().__str__())


_UNSAFE = compile_late(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]+"
)


class ConfigError(ProwessError):
    """The config file cannot be read or written."""

    code = "config"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class ConfigSyntaxError(ConfigError):
    """The config file, or what shall replace it, is not JSON5."""

    code = "config.syntax"

    def __init__(self, path: str, problem: str, *, field: str = "") -> None:
        super().__init__(path, problem)
        # Of a call that brought the text; empty where it is the file's own.
        self.field = field


class ConfigConflictError(ConfigError):
    """The config file is not, or is not known to be, the one that the caller read."""

    code = "config.conflict"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        # Without the path: clients know by how the message begins that they may try again.
        self.args = (problem,)


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
        most = 10
        names = ", ".join(known[:most]) + (f" and {len(known) - most} more" * (len(known) > most))
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


class ArchiveError(ProwessError):
    """An archive or one of its members breaks a rule; nothing of it was taken."""

    code = "archive"

    def __init__(self, member: str, reason: str, problem: str) -> None:
        super().__init__(f"{member or 'archive'}: {problem} Nothing was unpacked ({reason}).")
        self.member, self.reason, self.problem = member, reason, problem


class StoreError(ProwessError):
    """The store, a file or a database, cannot be opened or used."""

    code = "store"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class DatabaseLostError(StoreError):
    """The database of a fleet cannot be reached at the moment: reads may go on, writes cannot."""

    code = "store.lost"


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


class ProofError(ProwessError):
    """A skill cannot be put to the proof: no agent, no task that can be graded, no money for it."""

    code = "proof"


class ModelError(ProwessError):
    """The user's own language model is not configured or does not answer."""

    code = "model"

    def __init__(self, model: str, problem: str) -> None:
        super().__init__(f"{model}: {problem}")
        self.model, self.problem = model, problem


class StaleChangeError(ProwessError):
    """What a change was made or reviewed against is no longer there; nothing was written."""

    code = "change.stale"

    def __init__(self, skill: str, problem: str, *, expected: str, found: str) -> None:
        super().__init__(
            f"{skill}: {problem} (expected {expected[:12]}, found {found[:12]}):"
            " nothing was written; look at it again and decide again."
        )
        self.skill, self.problem, self.expected, self.found = skill, problem, expected, found


class QuarantinedError(ProwessError):
    """The skill that a change leads to does not pass the scanner; nothing was written."""

    code = "change.quarantined"

    def __init__(self, skill: str, problem: str, findings: Sequence[object] = ()) -> None:
        # One finding and no list: the whole report would teach an author how to get around it.
        super().__init__(
            f"unsafe skill content: {problem} Nothing was written to {skill}:"
            " look at the findings and reject the change."
        )
        self.skill, self.problem, self.findings = skill, problem, tuple(findings)


class UnsafeSkillError(ProwessError):
    """A skill is not handed to an agent, since the scanner refuses it."""

    code = "skill.unsafe"

    def __init__(self, name: str, problem: str, findings: Sequence[object] = ()) -> None:
        super().__init__(
            f"{name} is not used: {problem} Look at it with `prowess scan {name}`; accept what is"
            " fine with `prowess scan accept`."
        )
        self.name, self.problem, self.findings = name, problem, tuple(findings)


class AcceptanceError(ProwessError):
    """A finding of the scanner cannot be accepted, or there is no such acceptance."""

    code = "acceptance"

    def __init__(self, skill: str, problem: str) -> None:
        super().__init__(f"{skill}: {problem}")
        self.skill, self.problem = skill, problem


class RemovalError(ProwessError):
    """A skill cannot be removed or restored."""

    code = "removal"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class InstallArgumentError(ProwessError):
    """An install entry holds a value that is not safe to put on a command line."""

    code = "install.argument"

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"{kind}: {problem}")
        self.kind, self.problem = kind, problem


class DownloadError(ProwessError):
    """A download is refused, or fails; nothing of it is kept."""

    code = "download"

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"{url}: {problem}")
        self.url, self.problem = url, problem


class SecretError(ProwessError):
    """A secret reference leads to no secret; the message names the reference, never a value."""

    code = "secret"

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name, self.problem = name, problem


class SharingError(ProwessError):
    """A skill cannot be added, updated, removed or published."""

    code = "sharing"

    def __init__(self, subject: str, problem: str) -> None:
        super().__init__(f"{subject}: {problem}")
        self.subject, self.problem = subject, problem


class LockError(SharingError):
    """The lock cannot be read, or says what no lock of this version says."""

    code = "sharing.lock"


class SourceError(SharingError):
    """A source cannot be reached, holds no such skill, or is not what it says it is."""

    code = "sharing.source"


class PolicyError(SharingError):
    """A policy refuses a skill, or cannot be read where that closes the gate."""

    code = "sharing.policy"


class HubError(SharingError):
    """A hub does not take or give what is asked of it."""

    code = "hub"


class HubDeniedError(HubError):
    """Nobody said who asks, or whoever it is has no right to it."""

    code = "hub.denied"

    def __init__(self, subject: str, problem: str, *, is_unknown: bool = False) -> None:
        super().__init__(subject, problem)
        # Whether another token could help: nobody is known by this one.
        self.is_unknown = is_unknown


class HubNotFoundError(HubError):
    """There is no such skill, version or namespace, or none that may be seen."""

    code = "hub.not_found"


class HubConflictError(HubError):
    """It is there already, and is another one: versions never change."""

    code = "hub.conflict"


class ProposalError(ProwessError):
    """A proposal cannot be made, changed or applied."""

    code = "proposal"


class WorkshopDisabledError(ProposalError):
    """The workshop is switched off."""

    code = "proposal.disabled"

    def __init__(self) -> None:
        super().__init__(
            "skill-workshop is disabled: run `prowess workshop enable`, which sets"
            " plugins.entries.skill-workshop.enabled to true."
        )


class ProposalInputError(ProposalError):
    """What was asked for is incomplete, or cannot be done."""

    code = "proposal.input"

    def __init__(self, problem: str, *, field: str = "") -> None:
        super().__init__(problem)
        self.field = field


class ProposalNotFoundError(ProposalError):
    """There is no such proposal, or no such skill to change."""

    code = "proposal.not_found"


class ProposalStateError(ProposalError):
    """The state of a proposal does not allow what was asked for."""

    code = "proposal.state"

    def __init__(self, state: str, wanted: str) -> None:
        super().__init__(f"{state} proposal cannot be {wanted}")
        self.state, self.wanted = state, wanted


class ProposalStaleError(ProposalError):
    """What was reviewed is not what would be written now; nothing was written."""

    code = "proposal.stale"

    def __init__(
        self, proposal_id: str, problem: str, *, expected: str, found: str, of_skill: bool = False
    ) -> None:
        super().__init__(
            f"{proposal_id}: {problem} (expected {expected}, found {found}): nothing was written;"
            " look at it again and decide again."
        )
        self.proposal_id, self.problem = proposal_id, problem
        # With `of_skill` both are of the skill's files, and not revisions of the proposal.
        self.expected, self.found, self.of_skill = expected, found, of_skill


class ProposalUnsafeError(ProposalError):
    """The scanner refuses the skill that would come out; the proposal is quarantined."""

    code = "proposal.unsafe"


class ProposalSecretError(ProposalError):
    """The text holds something that looks like a credential; nothing was stored."""

    code = "proposal.secret"

    def __init__(self, place: str, evidence: str) -> None:
        # The evidence arrives masked: a message is shown, logged and given to a model.
        super().__init__(
            f"{place} looks like it holds a credential ({evidence}): nothing was stored;"
            " name the variable that holds it instead."
        )
        self.place, self.evidence = place, evidence


class ProposalFolderError(ProposalError):
    """The folder of the skill cannot be read or written."""

    code = "proposal.folder"


class DraftError(ProwessError):
    """A draft that was written from a trace cannot be found, promoted or removed."""

    code = "draft"


class GatewayBusyError(ProwessError):
    """Another gateway uses the same state folder."""

    code = "gateway.busy"

    def __init__(self, state: str, address: str) -> None:
        where = f" at {address}" if address else ""
        super().__init__(
            f"another gateway{where} uses {state}: stop it, or give this one a state folder of its"
            " own with PROWESS_HOME."
        )
        self.state, self.address = state, address


class GatewayStartError(ProwessError):
    """The gateway cannot listen where it was told to."""

    code = "gateway.start"


class WatchUnavailableError(ProwessError):
    """The system's limits do not allow watching."""

    code = "watch.unavailable"


def explain_failure(error: OSError, place: str = "") -> str:
    """Return what the system says about a failure at a place, in words and never in none."""
    said = error.strerror or str(error) or type(error).__name__
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        disk = f"disk of {place}" if place else "disk that holds it"
        return f"{said}: make room on the {disk}, then try again"
    return said
