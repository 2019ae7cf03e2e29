"""What an organisation, a team and a project allow: every level is asked, and the strictest wins.

Levels are never merged, so nothing that a lower one says can take back what a higher one forbids;
a waiver lifts rules of its own level alone, and ends on a day. Each decision names the file and the
line that made it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

import yaml

from prowess.errors import PolicyError
from prowess.safety.paths import shown

POLICY_FILE, VERSION = "prowess-policy.yml", 1
NOT_AS_SIGNED = "it is not what was signed any more"
_CLOSES = re.compile(r"^unreadable:\s*[\"']?block\b", re.MULTILINE)
_PLACE = re.compile(r"line (?P<line>\d+): ")
_NAMED, _GITHUB = frozenset(("clawhub", "hub", "npm")), "github.com/"
_SCP = re.compile(r"^(?:[^/@:]+@)?([^/:]+):(?!\d|//)")
_VERDICTS = ("clean", "warn")
# What must have been shown of a skill: that it helps, or at least that it does no harm.
_PROOFS = ("proven", "not-harmful")
_KEYS = frozenset((
    "version", "mode", "unreadable", "allow", "deny", "require", "pinned", "signed", "verdict",
    "unmanaged", "proof", "waivers",
))  # fmt: skip
_RULES = ("allow", "deny", "require", "pinned", "signed", "verdict", "unmanaged", "proof")


class PolicyEffect(IntEnum):
    """What a rule does about a skill, the stronger the larger."""

    OFF = 0
    WARN = 1
    BLOCK = 2

    @property
    def word(self) -> str:
        """How it is written in a policy."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """What a policy is asked about: one skill, and where it came from."""

    skill: str
    # As an address, and by its kind; any may be matched.
    sources: tuple[str, ...] = ()
    # As a person asked for it, which is enough to deny it and not to allow it.
    asked: str = ""
    is_bundled: bool = False
    is_managed: bool = True
    # Files of a managed skill that no lock names.
    unmanaged_files: tuple[str, ...] = ()
    is_pinned: bool = False
    signer: str = ""
    # Why it counts as not signed.
    unsigned: str = "nobody signed it"
    verdict: str = "clean"
    # What was shown of it; empty where nobody could know yet, as of what is just being added.
    proof: str = ""
    # Skills that are required and not as they should be, and what is wrong with each.
    unmet: Mapping[str, str] = field(default_factory=dict)

    @property
    def identities(self) -> tuple[str, ...]:
        """All that a pattern may be matched with."""
        return (self.skill, f"skill:{self.skill}", *filter(None, self.sources))


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A value of a policy, and the line it stands on."""

    value: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """A rule that does not count for one skill, until the end of a day."""

    skill: str
    rule: str
    until: date
    reason: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLevel:
    """One policy file, as far as it could be read."""

    level: str
    path: str
    mode: PolicyEffect = PolicyEffect.BLOCK
    # None where the key is not there: an empty list allows nothing.
    allow: tuple[WrittenValue, ...] | None = None
    allow_line: int = 1
    deny: tuple[WrittenValue, ...] = ()
    require: tuple[WrittenValue, ...] = ()
    pinned: WrittenValue | None = None
    signed: WrittenValue | None = None
    verdict: WrittenValue | None = None
    unmanaged: WrittenValue | None = None
    proof: WrittenValue | None = None
    waivers: tuple[Waiver, ...] = ()
    # Whether a level below that cannot be read closes the gate.
    closes: bool = False
    # Why nothing of it could be read, and on which line that shows.
    broken: str = ""
    broken_line: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReason:
    """One rule that a skill meets."""

    level: str
    path: str
    line: int
    rule: str
    text: str
    effect: PolicyEffect
    # The day on which a waiver ends that lifts it; empty where none does.
    waived_until: str = ""

    def __str__(self) -> str:
        return f"{shown(self.path)}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """What all levels together say about a skill."""

    reasons: tuple[PolicyReason, ...] = ()

    @property
    def effect(self) -> PolicyEffect:
        """The strongest of all that count."""
        counted = (one.effect for one in self.reasons if not one.waived_until)
        return max(counted, default=PolicyEffect.OFF)

    @property
    def first(self) -> PolicyReason | None:
        """The reason that decided."""
        counted = [one for one in self.reasons if not one.waived_until]
        return max(counted, key=lambda one: one.effect, default=None)


def decide(levels: Sequence[PolicyLevel], facts: PolicyFacts, today: date) -> PolicyDecision:
    """Ask every level about a skill."""
    found: list[PolicyReason] = []
    closes = False
    # What this level or a higher one requires can come before the rest is there; what a lower one
    # requires cannot, or it would lift what a higher one says.
    first: set[str] = set()
    for level in levels:
        if level.broken:
            closed = closes or level.closes
            effect = PolicyEffect.BLOCK if closed else PolicyEffect.WARN
            reason = _reason(level, level.broken_line, "unreadable", level.broken, effect)
            found.append(reason)
        elif level.mode is not PolicyEffect.OFF:
            rules = _meet(level, facts)
            found.extend(_with_waiver(level, one, facts.skill, today) for one in rules)
            first.update(one.value for one in level.require)
            found.extend(_meet_required(level, facts, first, today))
        closes = closes or level.closes
    return PolicyDecision(reasons=tuple(found))


def find_unreadable(levels: Sequence[PolicyLevel], today: date) -> tuple[PolicyReason, ...]:
    """Return which policies cannot be read, and whether that keeps every skill out."""
    decision = decide(levels, PolicyFacts(skill="", is_bundled=True), today)
    return tuple(one for one in decision.reasons if one.rule == "unreadable")


def list_required(levels: Iterable[PolicyLevel]) -> tuple[str, ...]:
    """Return the names of all skills that are required."""
    asked = (level for level in levels if level.mode is not PolicyEffect.OFF)
    return tuple(dict.fromkeys(one.value for level in asked for one in level.require))


def find_required(
    levels: Iterable[PolicyLevel], unmet: Mapping[str, str], today: date
) -> tuple[PolicyReason, ...]:
    """Return which rules about required skills are not met; `unmet` says what is wrong."""
    return tuple(
        _with_waiver(level, _reason(level, one.line, "require", text, level.mode), name, today)
        for level in levels
        if level.mode is not PolicyEffect.OFF
        for one in level.require
        if (name := one.value) in unmet
        for text in (f"{name} is required, and {unmet[name]}",)
    )


def _meet_required(
    level: PolicyLevel, facts: PolicyFacts, first: Collection[str], today: date
) -> tuple[PolicyReason, ...]:
    """Return what is required and keeps a skill out: nothing is used without it."""
    if facts.is_bundled or not facts.unmet:
        return ()
    unmet = facts.unmet
    if facts.skill in first:
        unmet = {name: said for name, said in unmet.items() if name == facts.skill}
    return find_required((level,), unmet, today)


def _reason(
    level: PolicyLevel, line: int, rule: str, text: str, effect: PolicyEffect
) -> PolicyReason:
    return PolicyReason(
        level=level.level, path=level.path, line=line, rule=rule, text=text, effect=effect
    )


def _with_waiver(level: PolicyLevel, one: PolicyReason, skill: str, today: date) -> PolicyReason:
    for waiver in level.waivers:
        is_meant = waiver.rule == one.rule and fnmatchcase(skill, waiver.skill)
        if is_meant and today <= waiver.until:
            return PolicyReason(
                level=one.level,
                path=one.path,
                line=waiver.line,
                rule=one.rule,
                text=f"{one.text}; waived until {waiver.until}: {waiver.reason}",
                effect=one.effect,
                waived_until=str(waiver.until),
            )
    return one


def _meet(level: PolicyLevel, facts: PolicyFacts) -> Iterable[PolicyReason]:
    """Yield each rule of a level that a skill meets."""
    for one in level.deny:
        if _denies(one.value, facts):
            yield _reason(level, one.line, "deny", f"{one.value!r} is denied", level.mode)
    allowed = level.allow
    is_asked = allowed is not None and not facts.is_bundled
    if is_asked and not any(_matches(one.value, facts) for one in allowed or ()):
        text = "its source is not among those that are allowed"
        yield _reason(level, level.allow_line, "allow", text, level.mode)
    if not facts.is_bundled:
        yield from _meet_needs(level, facts)


def _meet_needs(level: PolicyLevel, facts: PolicyFacts) -> Iterable[PolicyReason]:
    if level.pinned and facts.is_managed and not facts.is_pinned:
        yield _reason(level, level.pinned.line, "pinned", "it is not pinned", level.mode)
    if level.signed and not facts.signer:
        yield _reason(level, level.signed.line, "signed", facts.unsigned, level.mode)
    least = level.verdict
    if least and facts.verdict not in _VERDICTS[: _VERDICTS.index(least.value) + 1]:
        text = f"the scanner says {facts.verdict!r}, and {least.value!r} is the least"
        yield _reason(level, least.line, "verdict", text, level.mode)
    yield from _meet_proof(level, facts)
    unmanaged = level.unmanaged
    if unmanaged and (not facts.is_managed or facts.unmanaged_files):
        first = facts.unmanaged_files[:1]
        text = f"{shown(first[0])} is in no lock" if first else "it is in no lock"
        effect = min(level.mode, PolicyEffect[unmanaged.value.upper()])
        yield _reason(level, unmanaged.line, "unmanaged", text, effect)


def _meet_proof(level: PolicyLevel, facts: PolicyFacts) -> Iterable[PolicyReason]:
    wanted = level.proof
    if not wanted or not facts.proof:
        return
    is_met = facts.proof == "proven" if wanted.value == "proven" else facts.proof != "harmful"
    if not is_met:
        text = f"it is {facts.proof}, and {wanted.value!r} is asked: `prowess prove {facts.skill}`"
        yield _reason(level, wanted.line, "proof", text, level.mode)


def _matches(pattern: str, facts: PolicyFacts) -> bool:
    return any(fnmatchcase(one, pattern) for one in facts.identities)


def _denies(pattern: str, facts: PolicyFacts) -> bool:
    # Many a server takes names in any case, so another case is no way around a ban.
    named = (*facts.identities, facts.asked)
    return any(fnmatchcase(one.lower(), pattern.lower()) for one in named if one)


def read_policy(text: str, path: str, level: str) -> PolicyLevel:
    """Return what a policy file says; one that cannot be read says why, and whether that closes."""
    try:
        return _parse(text, path, level)
    except PolicyError as error:
        return mark_broken(path, level, error.problem, text)


def mark_broken(path: str, level: str, problem: str, text: str = "") -> PolicyLevel:
    """Return a level of which nothing could be read; the organisation's closes the gate always."""
    closes = level == "organisation" or _CLOSES.search(text) is not None
    place = _PLACE.match(problem)
    line = int(place["line"]) if place else 1
    text = problem[place.end() :] if place else problem
    return PolicyLevel(level=level, path=path, broken=text, broken_line=line, closes=closes)


@dataclass(slots=True)
class _Reader:
    """Reads the keys of one file, and knows on which line each stands."""

    path: str
    rows: Mapping[str, tuple[yaml.Node, int]] = field(default_factory=dict)

    def fail(self, node: yaml.Node | None, problem: str) -> PolicyError:
        """Return the error for something on the line of a node."""
        line = 1 if node is None else node.start_mark.line + 1
        return PolicyError(shown(self.path), f"line {line}: {problem}")

    def word(self, key: str, known: Sequence[str], default: str = "") -> WrittenValue | None:
        if key not in self.rows:
            return WrittenValue(default, 1) if default else None
        node, line = self.rows[key]
        text = self.text(node)
        # YAML takes a plain `off` for false.
        text = "off" if "off" in known and text.lower() in {"false", "no"} else text
        if text not in known:
            raise self.fail(node, f"{key} is {shown(text)!r}, not one of {', '.join(known)}")
        return WrittenValue(text, line)

    def flag(self, key: str) -> WrittenValue | None:
        """Return a switch that is on; None where it is off or not there."""
        found = self.word(key, ("true", "false"))
        return found if found and found.value == "true" else None

    def texts(self, key: str) -> tuple[WrittenValue, ...] | None:
        """Return a list of texts; None where the key is not there."""
        if key not in self.rows:
            return None
        node, _ = self.rows[key]
        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(node, f"{key} is no list")
        return tuple(WrittenValue(self.text(one), one.start_mark.line + 1) for one in node.value)

    def text(self, node: yaml.Node) -> str:
        """Return a plain value as it is written."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.fail(node, "a plain value is expected here")
        return str(node.value).strip()

    def mapping(self, node: yaml.Node) -> dict[str, tuple[yaml.Node, int]]:
        """Return the keys of a mapping with their values and lines, none of them twice."""
        if not isinstance(node, yaml.MappingNode):
            raise self.fail(node, "keys and values are expected here")
        found: dict[str, tuple[yaml.Node, int]] = {}
        for key, value in node.value:
            name = self.text(key)
            if name in found:
                raise self.fail(key, f"{shown(name)} is there twice")
            found[name] = value, key.start_mark.line + 1
        return found


def _parse(text: str, path: str, level: str) -> PolicyLevel:
    reader = _Reader(path)
    node = _compose(text, reader)
    reader.rows = {} if node is None else reader.mapping(node)
    for key in reader.rows:
        if key not in _KEYS:
            raise reader.fail(reader.rows[key][0], f"{shown(key)!r} is no key of a policy")
    version = reader.word("version", (str(VERSION),))
    if version is None:
        raise reader.fail(node, f"`version: {VERSION}` is missing")
    effects = [effect.word for effect in PolicyEffect]
    mode = reader.word("mode", effects, "block")
    unreadable = reader.word("unreadable", effects)
    return PolicyLevel(
        level=level,
        path=path,
        mode=PolicyEffect[mode.value.upper()] if mode else PolicyEffect.BLOCK,
        allow=reader.texts("allow"),
        allow_line=reader.rows["allow"][1] if "allow" in reader.rows else 1,
        deny=reader.texts("deny") or (),
        require=reader.texts("require") or (),
        pinned=reader.flag("pinned"),
        signed=reader.flag("signed"),
        verdict=reader.word("verdict", _VERDICTS),
        unmanaged=reader.word("unmanaged", effects),
        proof=reader.word("proof", _PROOFS),
        waivers=tuple(_read_waivers(reader)),
        closes=unreadable is not None and unreadable.value == "block",
    )


def _compose(text: str, reader: _Reader) -> yaml.Node | None:
    try:
        if any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, yaml.SafeLoader)):
            raise reader.fail(None, "aliases are not read")
        # Nodes and no values: nothing is made of what the file says.
        found: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        raise PolicyError(shown(reader.path), f"line {line}: it is not YAML") from error
    return found


def _read_waivers(reader: _Reader) -> Iterable[Waiver]:
    if "waivers" not in reader.rows:
        return
    node, _ = reader.rows["waivers"]
    if not isinstance(node, yaml.SequenceNode):
        raise reader.fail(node, "waivers is no list")
    for one in node.value:
        rows = reader.mapping(one)
        wrong = {"skill", "rule", "until", "reason"} ^ rows.keys()
        if wrong:
            raise reader.fail(one, "a waiver has skill, rule, until and reason, and nothing else")
        values: dict[str, Any] = {key: reader.text(value) for key, (value, _) in rows.items()}
        if values["rule"] not in _RULES:
            raise reader.fail(one, f"{shown(values['rule'])!r} is no rule that can be waived")
        values["until"] = _day(reader, one, values["until"])
        yield Waiver(**values, line=one.start_mark.line + 1)


def _day(reader: _Reader, node: yaml.Node, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise reader.fail(node, f"{shown(text)!r} is no day such as 2026-12-31") from None


Gate = Callable[[PolicyFacts], PolicyDecision]


def list_sources(asked: str, kind: str, url: str, path: str) -> tuple[str, ...]:
    """Return the ways in which a policy may name a source: what it is, not what it is called.

    A folder that is called `github.com/acme` is none of GitHub's, and a lock can say anything of
    what was asked for. Of a registry, that is what is fetched, and so it counts.
    """
    if kind in _NAMED:
        return tuple(filter(None, (asked, url, kind)))
    if "://" not in url and not _SCP.match(url):
        local = url if url.startswith(("/", "..")) else f"./{url.removeprefix('./')}"
        return tuple(dict.fromkeys((local, f"{local}/{path}" if path else local, kind)))
    plain = _SCP.sub(r"\1/", re.sub(r"^[a-zA-Z+]+://(?:[^/@]+@)?", "", url))
    host, slash, rest = plain.partition("/")
    # One place has one name here, however it is written.
    host = re.sub(r"\.?(?::(?:443|80|22))?\Z", "", host.lower())
    rest = re.sub(r"(?:(?<=/)|\A)(?:\.?/)+", "", unquote(rest)).rstrip("/")
    plain = f"{host}{slash}{rest}".removesuffix(".git")
    names = (plain, f"{plain}/{path}" if path else plain)
    short = tuple(one.removeprefix(_GITHUB) for one in names if one.startswith(_GITHUB))
    return tuple(dict.fromkeys((url, *names, *short, kind)))
