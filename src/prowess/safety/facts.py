"""What code and data are seen to do, in one vocabulary for every language.

A reader of a language says what happens (`Fact`); it never judges. What several facts mean together
is decided in one place, by correlation.
"""

from dataclasses import dataclass
from enum import StrEnum

from prowess.safety.views import Spot, View


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
