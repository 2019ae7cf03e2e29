"""What code and data are seen to do, in one vocabulary for every language.

A reader of a language says what happens (`Fact`); it never judges. What several facts mean together
is decided by the judges, once a whole skill was gathered in a `Scene`.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from prowess.reading.views import Spot, View


class Act(StrEnum):
    """What kind of thing is done; the comment says what `subject` and `target` hold."""

    FETCH = "fetch"  # subject: URL ("" unknown); target: path it is written to ("" memory, stdout)
    EXEC = "exec"  # subject: interpreter, "eval" or "shell"; target: file or command that is run
    READ = "read"  # subject: the label of what is read (see below); target: path or name
    SEND = "send"  # subject: URL or host ("" unknown); target: how ("http", "dns", "smtp", "tcp"…)
    WRITE = "write"  # subject: path
    DELETE = "delete"  # subject: path or pattern; target: "recursive" or ""
    PERMISSION = "permission"  # subject: mode as written ("777", "u+s"); target: path
    PERSIST = "persist"  # subject: kind ("cron", "launchd"…); target: what is made to run, or path
    SETENV = "setenv"  # subject: variable; target: value
    DECODE = "decode"  # subject: encoding
    INSTALL = "install"  # subject: manager ("pip", "npm"…); target: package as written
    REGISTRY = "registry"  # subject: manager; target: index or registry URL that is set
    PRIVILEGE = "privilege"  # subject: "sudo", "setuid", "capability", "privileged-container"…
    DISABLE = "disable"  # subject: the protection that is switched off
    REVERSE_SHELL = "reverse-shell"  # subject: how; target: host
    DESERIALISE = "deserialise"  # subject: the format
    IMPORT = "import"  # subject: module or attribute reached by computed name
    TAMPER = "tamper"  # subject: path of an agent's configuration or memory that is written
    SERVE = "serve"  # subject: folder that others can reach ("." where it runs); target: how
    MINE = "mine"  # subject: miner or pool
    WIPE = "wipe"  # subject: what is destroyed beyond files ("disk", "history", "remote-branch"…)


# Labels that say where data comes from. A `Fact.flow` holds those that reach it.
#   remote            fetched over the network
#   decoded           decoded from base64, hex, char codes, compression …
#   env               the whole environment          env:NAME          one variable
#   credential:PATH   a credential file (~/.ssh/id_rsa, ~/.aws/credentials, .netrc, .env …)
#   keychain          an operating system's secret store
#   browser           cookies, logins or profiles of a browser
#   wallet            wallet files or seed phrases
#   history           shell history                  clipboard         the clipboard
#   conversation      what user and agent said       memory            an agent's memory or config
#   host              facts about the machine        file:PATH         any other local file
#   input             arguments, standard input, what the user typed


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a text does, and where it says so."""

    act: Act
    spot: Spot
    subject: str = ""
    target: str = ""
    # Labels of the data that flows into the act.
    flow: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code in another language inside a text: `bash -c '…'`, a fenced block, a script field."""

    # "shell", "python", "javascript", "powershell", "other" or "" where it must be guessed.
    language: str
    view: View
    # Labels of data that reaches it from outside (a heredoc piped from `curl` is "remote").
    flow: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """All that one reader saw in one text."""

    facts: tuple[Fact, ...] = ()
    snippets: tuple[Snippet, ...] = ()
    # Prose for a person or a model: comments, docstrings, long strings.
    texts: tuple[View, ...] = ()
    # Modules of the same skill that it imports ("collector", "./lib/send"), for flows across files.
    imports: tuple[str, ...] = ()
    # Why a part was not read ("syntax error on line 3"), "" where all was.
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a text stood when it was read, and what that says about it."""

    # "file", "fence", "span", "prose", "frontmatter", "data", "comment" …
    place: str = "file"
    # Contexts that lower what is found in it.
    lowered_by: tuple[str, ...] = ()
    is_hidden: bool = False
    # Runs by itself when the skill is loaded, installed or opened: "dynamic-context" …
    runs_by_itself: str = ""


@dataclass(frozen=True, slots=True)
class Noted:
    """A fact and where it stood."""

    fact: Fact
    setting: Surroundings = Surroundings()


def _offset(fact: Fact) -> int:
    return fact.spot.offset


# Shorter names are words by chance.
_PROGRAM, _SPEAKING = 3, 4
_DECLARED = re.compile(r"^(?:name|homepage)\s*:\s*(.+)$|primaryEnv\W+(\w+)", re.MULTILINE)


@dataclass(slots=True)
class Scene:
    """All facts of a skill, by what is done."""

    paths: frozenset[str]
    name: str = ""
    # Hosts that the operator lets a secret go to: variable -> hosts.
    egress: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Empty for most skills: a page that tells what to do, and nothing in it runs.
    notes: dict[Act, list[Noted]] = field(default_factory=partial(defaultdict, list))
    raw: dict[str, View] = field(default_factory=dict)
    # The folded text of each file.
    texts: dict[str, str] = field(default_factory=dict)
    _fetches: dict[str, list[Fact]] | None = None
    # module -> modules of the same skill that it imports
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def note(self, noted: Noted) -> None:
        """Keep a fact."""
        self.notes[noted.fact.act].append(noted)

    def all(self, *acts: Act) -> Iterator[Noted]:
        """Yield the facts of these acts, in the order they were read."""
        for act in acts:
            yield from self.notes.get(act, ())

    def fetched_before(self, fact: Fact, most: int = 20) -> list[Fact]:
        """Return the last few fetches that stand before `fact` in its file."""
        if self._fetches is None:
            self._fetches = defaultdict(list)
            for noted in self.all(Act.FETCH):
                self._fetches[noted.fact.spot.path].append(noted.fact)
            for fetches in self._fetches.values():
                fetches.sort(key=_offset)
        fetches = self._fetches[fact.spot.path]
        end = bisect_right(fetches, fact.spot.offset, key=_offset)
        return fetches[max(0, end - most) : end]

    def calls_program(self, name: str) -> bool:
        """Whether the skill has a command that begins with `name`, or says that it needs it."""
        if len(name) < _PROGRAM:
            return False
        word = re.escape(name)
        call = re.compile(
            rf"(?m)(?:^\s*(?:\$ )?|`|[;&|(] ?|bins\W{{1,20}}){word}(?:`|[\"']|\s+[\w./<$-])"
        )
        return any(call.search(text) for text in self.texts.values())

    def declares(self, owner: str) -> bool:
        """Whether the header names `owner`: by the skill's name, its home page or its main key."""
        plain = owner.replace("-", "")
        if len(plain) < _SPEAKING:
            return False
        said = " ".join(part for found in _DECLARED.findall(self._header()) for part in found)
        return plain in re.sub(r"[^a-z0-9]", "", said.lower())

    def is_about(self, host: str) -> bool:
        """Whether the header has the domain of `host`: by that a person knows whom it is about."""
        domain = re.escape(".".join(host.split(".")[-2:]))
        return re.search(rf"(?<![\w-]){domain}(?![\w-])", self._header().lower()) is not None

    def _header(self) -> str:
        return self.texts.get("SKILL.md", "").partition("\n---")[0]

    def everything(self) -> Iterator[Noted]:
        """Yield all facts."""
        for notes in self.notes.values():
            yield from notes

    def count(self) -> int:
        """Return how many facts are known."""
        return sum(map(len, self.notes.values()))


def find_secrets_in(flow: Iterable[str]) -> tuple[str, ...]:
    """Return the labels among `flow` that are secrets in any case: not one named variable."""
    strong = ("credential", "keychain", "browser", "wallet")
    return tuple(
        sorted(label for label in flow if label.partition(":")[0] in strong or label == "env")
    )


def find_variables_in(flow: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the single variables among `flow`."""
    return tuple(sorted(label[4:].lstrip("@") for label in flow if label.startswith("env:")))


# Files in which one key stands beside the other; what else lies in them is read as a whole.
_KEPT_TOGETHER = re.compile(r"\.env\b|\.(?:openclaw|clawdbot|moltbot)/|\.(?:json|toml|ya?ml|ini)$")
_ENTRY = re.compile(r"[A-Za-z][\w-]{1,60}")


def narrow_to_entry(flow: frozenset[str], key: object) -> frozenset[str]:
    """Return the labels of one entry of a file of keys: as good as a variable of that name.

    A skill that takes its own key out of the user's settings does not take the settings.
    """
    if not isinstance(key, str) or not _ENTRY.fullmatch(key):
        return flow
    name = key.replace("-", "_").upper()
    return frozenset(_narrow(label, name) for label in flow)


def _narrow(label: str, name: str) -> str:
    if label.startswith("env:@"):
        return f"{label}_{name}"
    kept = label.startswith("credential:") and _KEPT_TOGETHER.search(label)
    return f"env:@{name}" if kept else label
