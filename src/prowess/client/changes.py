"""What the gateway answers where something was changed: installs, entries, removals, config."""

from dataclasses import dataclass, field

from prowess.client.fields import Fields, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How an install goes: a piece of output, or a number of bytes."""

    stream: str
    text: str
    received: int | None
    # None where nobody knows.
    total: int | None
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Progress":
        """Read the payload of `skills.install.progress`."""
        found = Fields(raw)
        return cls(
            stream=found.text("stream"),
            text=found.text("text"),
            received=found.whole("received"),
            total=found.whole("total"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    """What became of an install; a failed one is a result, too."""

    ok: bool
    message: str
    stdout: str
    stderr: str
    code: int | None
    warnings: tuple[str, ...]
    agent_id: str
    workspace: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "InstallResult":
        """Read the answer of `skills.install`."""
        found = Fields(raw)
        return cls(
            ok=found.flag("ok"),
            message=found.text("message"),
            stdout=found.text("stdout"),
            stderr=found.text("stderr"),
            code=found.whole("code"),
            warnings=found.texts("warnings"),
            agent_id=found.text("agentId"),
            workspace=found.text("workspaceDir"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A skill's entry in the config, with markers in place of secrets."""

    skill_key: str
    values: Json
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Entry":
        """Read the answer of `skills.update`."""
        found = Fields(raw)
        return cls(skill_key=found.text("skillKey"), values=found.inner("config").raw, raw=raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A skill in the trash; the id brings it back."""

    id: str
    # False where it was gone already.
    removed: bool
    path: str
    source: str
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Removed":
        """Read the answer of `skills.remove`, or one entry of the trash."""
        found = Fields(raw)
        return cls(
            id=found.text("id"),
            removed=found.flag("removed") or "removedAt" in raw,
            path=found.text("removedPath") or found.text("path"),
            source=found.text("source"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The config, with a marker in place of each secret; send the marker back to keep it."""

    values: Json
    hash: str
    path: str
    exists: bool
    valid: bool
    issues: tuple[Json, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "Config":
        """Read the answer of `config.get`."""
        found = Fields(raw)
        return cls(
            values=found.inner("config").raw,
            hash=found.text("hash"),
            path=found.text("path"),
            exists=found.flag("exists"),
            valid=found.flag("valid"),
            issues=found.objects("issues"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigWritten:
    """What a change of the config came to."""

    values: Json
    hash: str
    changed: tuple[str, ...]
    raw: Json = field(repr=False)

    @classmethod
    def read(cls, raw: Json) -> "ConfigWritten":
        """Read the answer of `config.set` and `config.patch`."""
        found = Fields(raw)
        return cls(
            values=found.inner("config").raw,
            hash=found.text("hash"),
            changed=found.texts("changedPaths"),
            raw=raw,
        )
