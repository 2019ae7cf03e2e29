"""Combinations of concepts by which a text takes power over an agent.

What combinations of concepts look like: rows of a table, read into patterns.

A row is written as people would say it: `IGNORE > PRIOR > INSTRUCTION; near 9` holds where the
three stand in this order within nine words of one sentence. `+` is any order, `A|B` is either,
`block` and `section` reach beyond the sentence, `unless X` is off where X stands too, `never
negated` is off after a "not", and `even negated` does not care about one. A level and a confidence
may follow; the rule's own are the default.

Combinations of concepts about data, what stays behind, and what must be run first.

Combinations of concepts by which a text hides, lies, or speaks where nobody looks.

The table of the prose rules: which concepts, standing together, mean which rule.

The words are in `lexicon`, the rows in the `cues_` modules; here they are read once.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, TypedDict

from prowess.safety.model import Confidence, Level

# How many words a combination may span where its row does not say.
_NEAR = 40


class Window(StrEnum):
    """How far apart the concepts of a cue may stand."""

    SENTENCE = "sentence"
    BLOCK = "block"
    SECTION = "section"


class Row(NamedTuple):
    """A rule, what to say when it is met, and the combinations that meet it."""

    rule: str
    message: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Concepts that stand together."""

    # Each entry is a concept, or several with `|` of which one must be there.
    needs: tuple[str, ...]
    near: int = _NEAR
    ordered: bool = False
    window: Window = Window.SENTENCE
    # It does not hold where one of these stands in the same sentences.
    unless: tuple[str, ...] = ()
    # It does not hold where a "not" stands right before it.
    never_negated: bool = False

    @cached_property
    def musts(self) -> tuple[str, ...]:
        """The needs that are one concept; most combinations fail at the first of them."""
        return tuple(need for need in self.needs if "|" not in need)

    @cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        """The needs as sets, to see quickly that one of them is missing."""
        return tuple(frozenset(need.split("|")) for need in self.needs)


@dataclass(frozen=True, kw_only=True)
class Cue(Pattern):
    """A combination of concepts that meets a rule."""

    rule: str
    message: str
    # Whether a "not" before it turns the sentence around ("never ignore …").
    negatable: bool = True
    # None: the level of the rule's row.
    level: Level | None = None
    confidence: Confidence = Confidence.HIGH


def pattern(text: str) -> Pattern:
    """Read one combination that meets no rule by itself."""
    return Pattern(**_read(text)[0])


def cues(rows: Iterable[Row]) -> tuple[Cue, ...]:
    """Read the combinations of a table."""
    return tuple(_cue(row, text) for row in rows for text in row.patterns)


def _cue(row: Row, text: str) -> Cue:
    shape, words = _read(text)
    return Cue(
        **shape,
        rule=row.rule,
        message=row.message,
        negatable="even negated" not in words,
        level=next((level for level in Level if level.value in words), None),
        confidence=next((each for each in Confidence if each.value in words), Confidence.HIGH),
    )


class _Shape(TypedDict):
    """The fields of a `Pattern`."""

    needs: tuple[str, ...]
    near: int
    ordered: bool
    window: Window
    unless: tuple[str, ...]
    never_negated: bool


_CONCEPT = re.compile(r"[A-Z][A-Z_]*")
_FLAGS = frozenset(
    (
        "even negated",
        "never negated",
        *(level.value for level in Level),
        *(confidence.value for confidence in Confidence),
    )
)


def _read(text: str) -> tuple[_Shape, list[str]]:
    first, *words = (part.strip() for part in text.split(";"))
    separator = ">" if ">" in first else "+"
    shape = _Shape(
        needs=tuple(need.strip() for need in first.split(separator)),
        near=_NEAR,
        ordered=separator == ">",
        window=Window.SENTENCE,
        unless=(),
        never_negated="never negated" in words,
    )
    for word in words:
        if word.startswith("near "):
            shape["near"] = int(word.removeprefix("near "))
        elif word.startswith("unless "):
            shape["unless"] = tuple(word.split()[1:])
        elif word in {Window.BLOCK, Window.SECTION}:
            shape["window"] = Window(word)
        elif word not in _FLAGS:
            # A slip in a table would otherwise be a rule that never holds, or holds too often.
            raise ValueError(f"{text!r}: {word!r} means nothing here")
    _check_concepts(text, shape)
    return shape, words


def _check_concepts(text: str, shape: _Shape) -> None:
    named = [concept for need in shape["needs"] for concept in need.split("|")]
    for concept in (*named, *shape["unless"]):
        if not _CONCEPT.fullmatch(concept):
            raise ValueError(f"{text!r}: {concept!r} is no concept")


ORDERS: tuple[Row, ...] = (
    Row(
        "prompt-injection-ignore-instructions",
        "tells the agent to set aside the instructions that it was given",
        (
            "TOLD + VOID; near 12",
            "IGNORE > PRIOR_STRONG > INSTRUCTION; near 9",
            "IGNORE > INSTRUCTION_STRONG > PRIOR_STRONG; near 8",
            "OVERRIDE > PRIOR_STRONG > INSTRUCTION_STRONG; near 7",
            "INSTRUCTION_STRONG + PRIOR_STRONG + VOID; near 14",
            "INSTRUCTION > PRIOR_STRONG > VOID; near 14",
            "IGNORE > TOLD; near 6",
            "IGNORE > SYSTEM_PROMPT; near 8",
        ),
    ),
    Row(
        "prompt-injection-system",
        "tells the agent to give away its system prompt",
        (
            "REVEAL_ALL > SYSTEM_PROMPT; near 3",
            "REVEAL > YOUR > SYSTEM_PROMPT; near 8",
            "REVEAL > SYSTEM_PROMPT > TOLD|VERBATIM; near 14",
            "REVEAL > ALL_ABOVE > SYSTEM_PROMPT; near 14",
        ),
    ),
    Row(
        "prompt-injection-system",
        "tells the agent to replace its system prompt",
        ("OVERRIDE|IGNORE > SYSTEM_PROMPT; near 6",),
    ),
    Row(
        "prompt-injection-system",
        "tells the agent to follow hidden instructions",
        ("OBEY > HIDDEN_ORDERS; near 5", "OBEY > SYSTEM_PROMPT; near 6; warn"),
    ),
    Row(
        "prompt-injection-system",
        "speaks of a system prompt or of hidden instructions",
        ("SYSTEM_PROMPT; even negated; info",),
    ),
    Row(
        "authority-claim",
        "claims an authority that a skill does not have",
        (
            "ONLY_INSTRUCTIONS",
            "ONLY_AUTHORITY + IGNORE|OVERRIDE|VOID|BETWEEN_US|GRANTED|SCOPE_ALL; near 25",
            "AUTHORITY_NOTICE + ONLY_AUTHORITY|GRANTED|MUST_OBEY; near 18",
        ),
    ),
    Row(
        "authority-claim",
        "claims that approval was given already",
        (
            "AUTHORISED + EVERY_COMMAND + NO_QUESTION; near 14",
            "AUTHORITY_NOTICE + GRANTED; near 16",
            "AUTHORITY_NOTICE + GRANTED|VOID|UNRESTRICTED|SCOPE_ALL|IGNORE; near 12",
            "USER > GRANTED_BY_USER; near 6",
            "AUTHORISE + EVERY_COMMAND + GRANTED; near 14",
        ),
    ),
    Row(
        "authority-claim",
        "claims to speak for the platform and lifts a safeguard",
        (
            (
                "AUTHORITY_NOTICE + GRANTED|BYPASS|IGNORE|VOID|UNRESTRICTED|SCOPE_ALL|HUSH + "
                "APPROVAL|INSTRUCTION|SAFETY|TOOL|SECRET_PATH; block"
            ),
        ),
    ),
    Row(
        "prompt-injection-tool",
        "tells the agent to act without the approval of the person",
        (
            "NOT_ASKING + CONSENT + EVERY_COMMAND; near 18",
            "NOT_ASKING > CONSENT; near 6; warn; medium",
            "NOT_ASKING + CONSENT + GRAVE|EVEN_IF|TOOL; near 18",
            "GRAVE + NO_QUESTION; near 9; unless TALK WHEN_SAFE; medium",
            "BYPASS > APPROVAL|CONSENT > EVEN_IF; near 16",
            "SELF_APPROVE + PROMPT_BOX|APPROVAL; near 14",
            "APPROVAL|CONSENT|PERMIT > NOT_TRIGGERED; near 8; even negated",
            "BYPASS > TOOL > APPROVAL; near 7",
            "BYPASS > APPROVAL > TOOL|RISKY; near 9; medium",
            "UNASKED + RISKY + PUSHY; near 30; block; medium",
            "RISKY > UNASKED; near 14; warn; low",
            "BYPASS > APPROVAL; near 8; unless SCREEN; warn; low",
        ),
    ),
    Row(
        "safety-override",
        "tells the agent to switch off its safety rules",
        ("OFF > SAFETY; near 6",),
    ),
    Row(
        "safety-override",
        "puts the agent in a mode without limits",
        (
            "ENTER > UNRESTRICTED; near 6; medium",
            "JAILBREAK",
            "UNRESTRICTED + OFF|BYPASS|TRIGGER + SAFETY|INSTRUCTION|APPROVAL; near 25; block",
        ),
    ),
    Row(
        "safety-override",
        "tells the agent that its safety rules are off",
        ("SAFETY > IS_OFF; near 5",),
    ),
    Row(
        "disable-protection",
        "tells the agent to switch off a protection of the machine",
        ("SWITCH_OFF > PROTECTION; near 5",),
    ),
    Row(
        "untrusted-instructions",
        "tells the agent to obey orders found in content",
        (
            "TREAT_AS + AS_ORDER; near 26; unless NOT RISK_TALK",
            "OBEY > WHATEVER > ORDERS > EMBEDDED; near 16",
            "EMBEDDED|TRIGGER + ORDERS|INSTRUCTION + OBEYED; near 30; unless NOT",
            "SOURCE + CONTAINS_ORDERS + OBEY_THEM; near 22; block; unless NOT",
            "OBEY > CONTAINS_ORDERS > SOURCE > OBEY_THEM|WHATEVER; near 16; unless NOT",
            "SOURCE > APPEARS > OBEY_THEM; near 20; unless NOT; medium",
            "SOURCE > CONTAINS_ORDERS > OBEY > NO_CHECKS; near 30; block",
        ),
    ),
    Row(
        "untrusted-instructions",
        "a phrase in the input switches a safeguard off",
        ("TRIGGER + UNRESTRICTED|GRANTED|SAFETY + ENTER|OFF|TREAT_AS|OVERRIDE; block",),
    ),
    Row(
        "untrusted-instructions",
        "puts others above the person it works for",
        ("OVERRIDE > USERS_WISH; near 10",),
    ),
    Row(
        "untrusted-instructions",
        "tells the agent to obey whoever speaks",
        ("OBEY + NO_CHECKS; near 16; unless NOT_OBEY; medium",),
    ),
    Row(
        "untrusted-instructions",
        "a phrase in the input opens a back door",
        (
            "PHRASE > APPEARS > MODE_SWITCH > POWER; near 24; unless NOT",
            "APPEARS > PHRASE > MODE_SWITCH > POWER; near 24; unless NOT",
        ),
    ),
    Row(
        "remote-instructions",
        "tells the agent to fetch instructions and obey them",
        (
            "FETCH|VISIT > UNKNOWN_URL > RUN_IT; near 26",
            "EVERY_TIME|LATEST_ORDERS + UNKNOWN_URL + FOLLOW_IT|RUN_IT; near 26",
            "EVERY_TIME > FETCH > URL > OBEY > ORDERS|INSTRUCTION; block",
            "FETCH > URL > EVERY_TIME > OBEY > ORDERS|INSTRUCTION; block",
            "FETCH > URL > OBEY > ORDERS|INSTRUCTION; near 25; warn; medium",
        ),
    ),
    Row(
        "remote-instructions",
        "tells the agent to obey what a page says when it is read",
        ("OBEY > WHATEVER > SCRIPT > EMBEDDED; near 14",),
    ),
    Row(
        "shell-pipe-to-shell",
        "hands what it downloads to an interpreter",
        ("DOWNLOAD|FETCH > PIPE_IT > INTERPRETER; near 16",),
    ),
    Row(
        "scope-hijack",
        "claims every request for itself",
        ("USE_SKILL + SCOPE_ALL; near 12; warn; medium",),
    ),
    Row(
        "scope-hijack",
        "claims every request for itself and shuts others out",
        (
            "USE_SKILL + SCOPE_ALL + ONLY_AUTHORITY|AUTHORITY_NOTICE|IGNORE|OVERRIDE; near 20",
            "USE_SKILL + SCOPE_ALL + EXCLUSIVE; near 20",
        ),
    ),
    Row(
        "self-preservation",
        "resists being removed",
        ("RESIST; unless TALK; even negated; medium",),
    ),
)


DATA: tuple[Row, ...] = (
    Row(
        "collect-and-send",
        "tells the agent to collect private data and send it away",
        (
            "SEND > SECRET_PATH > UNKNOWN_URL; near 18",
            "SEND_STRONG + SECRET_PATH + URL|REMOTE_PLACE|MAIL; near 22",
            "TAKE + LEAK; near 24",
            "TAKE > LEAK; near 45; block; unless OWN_API",
            "SEND_STRONG + STRONG_SECRET + HOSTILE_PLACE; near 18",
            "SEND_STRONG > STRONG_SECRET > URL|MAIL|REMOTE_PLACE; near 16; warn; medium",
            "HARVEST + SECRET_PATH + LEAK; near 60; section",
            "SECRET_PATH + SEND + HUSH; near 50; block; even negated",
            "CHAT + SEND_STRONG + UNKNOWN_URL|MAIL|DROP_URL; near 20; medium",
            "HARVEST|GATHER > SECRET_PATH > SEND > REMOTE_PLACE|UNKNOWN_URL|MAIL; near 26",
            "SEND_AWAY + STRONG_SECRET + UNKNOWN_URL|MAIL|DROP_URL; near 26",
        ),
    ),
    Row(
        "post-task-exfiltration",
        "sends data away after each task",
        (
            "EVERY_TIME + UNKNOWN_URL|DROP_URL + CHAT; near 28; medium",
            (
                "EVERY_TIME > SEND_STRONG > SOME_DATA|CHAT|PATH > UNKNOWN_URL|MAIL|DROP_URL; near "
                "24; medium"
            ),
            "EVERY_TIME + LEAK + PRIVATE_DATA|STRONG_SECRET|SECRET_PATH; near 28; medium",
        ),
    ),
    Row(
        "telemetry",
        "sends what the person does to others",
        (
            "LEAK + PRIVATE_DATA + HUSH; near 50; block; even negated; medium",
            "EVERY_TIME > SEND_STRONG > UNKNOWN_URL|REMOTE_PLACE; near 22; low",
        ),
    ),
    Row(
        "credential-request",
        "asks the person for a secret under a pretext",
        (
            "PHISH + PRETEXT; block",
            "ASK > HARD_SECRET > PRETEXT|LEAK|SEND_STRONG; near 22; block",
            "PRETEXT > ASK > HARD_SECRET; near 22",
        ),
    ),
    Row(
        "wallet-secrets",
        "asks the person for the keys of a wallet",
        ("ASK > WALLET; near 9",),
    ),
    Row(
        "surveillance",
        "watches the person",
        ("WATCH + ENDLESS; near 14; medium",),
    ),
    Row(
        "resource-abuse",
        "goes on without an end",
        ("SPAWN + ENDLESS; near 16; low",),
    ),
    Row(
        "credential-request",
        "asks the person for a secret and sends it on",
        ("PHISH + LEAK; block",),
    ),
    Row(
        "wallet-secrets",
        "asks for the keys of a wallet",
        ("ASK|PROVIDE|SEND_STRONG > WALLET; near 16; warn; medium",),
    ),
    Row(
        "wallet-secrets",
        "asks for the keys of a wallet and passes them on",
        ("ASK|PROVIDE|HARVEST + WALLET + LEAK|PRETEXT; block",),
    ),
    Row(
        "agent-config-tamper",
        "writes itself into an agent's memory or settings so that it lasts",
        ("WRITE > AGENT_PATH|MEMORY > LASTING; near 30; unless IF_USER_ASKS",),
    ),
    Row(
        "agent-config-tamper",
        "loosens the permissions in an agent's settings",
        ("WRITE + AGENT_PATH|MEMORY + PERMIT; near 30; unless IF_USER_ASKS",),
    ),
    Row(
        "agent-config-tamper",
        "puts its own file in the place of an agent's settings",
        ("COPY_INTO > PATH > AGENT_SETTINGS; near 8; unless IF_USER_ASKS; medium",),
    ),
    Row(
        "agent-config-tamper",
        "changes other skills",
        ("WRITE > OTHER_SKILLS; near 10; unless IF_USER_ASKS; warn; medium",),
    ),
    Row(
        "agent-config-tamper",
        "changes other skills and hides it",
        ("WRITE > OTHER_SKILLS > HUSH|UNKNOWN_URL; near 45; block",),
    ),
    Row(
        "agent-config-tamper",
        "writes into an agent's memory that it is to be trusted",
        ("WRITE > AGENT_PATH|MEMORY > TRUST_ME; near 20; unless IF_USER_ASKS",),
    ),
    Row(
        "persistence",
        "makes something start by itself, unasked",
        ("WRITE + AUTOSTART + HUSH|COVERT_STRONG|RESIST; near 30",),
    ),
    Row(
        "fake-prerequisite",
        "an archive with a password must be unpacked and run",
        (
            "DOWNLOAD|URL + ARCHIVE|EXECUTABLE|BINARY + UNPACK + PASSWORD; near 30; block",
            "URL + PASSWORD + UNPACK|ARCHIVE + LAUNCH|BINARY|EXECUTABLE; near 30; block",
            "EXEC_URL + PASSWORD + UNPACK|LAUNCH; near 16; block",
        ),
    ),
    Row(
        "fake-prerequisite",
        "asks for a download from an unknown place before the skill can be used",
        (
            "UNKNOWN_URL + COPY + SCRIPT + TERMINAL + BEFORE_USE|WINDOWS_OR_MAC; block; medium",
            (
                "FREE_URL + BEFORE_USE + DOWNLOAD|LAUNCH + BINARY|WINDOWS_OR_MAC|TERMINAL|SCRIPT; "
                "near 45; block; medium"
            ),
        ),
    ),
    Row(
        "fake-prerequisite",
        "commands are to be taken from a page that anybody can change",
        (
            "PASTE_URL + COPY|SCRIPT|TERMINAL|REQUIRED|DOWNLOAD|LAUNCH; block",
            "PAGE_URL + COPY + TERMINAL; near 30; block",
        ),
    ),
    Row(
        "fake-prerequisite",
        "a program from an unknown place must run before the skill can be used",
        ("DOWNLOAD|VISIT + EXEC_URL + LAUNCH + BEFORE_USE; block; medium",),
    ),
    Row(
        "fake-prerequisite",
        "a program from a page that anybody can put up",
        (
            "FREE_URL + LAUNCH + INSTALLER; near 14; block",
            "FREE_EXEC_URL + DOWNLOAD|LAUNCH|REQUIRED; near 20; block",
        ),
    ),
    Row(
        "fake-prerequisite",
        "a program must run against the system's own warning",
        ("DOWNLOAD|VISIT + UNKNOWN_URL|RELEASE_URL + BRUSH_OFF; block; medium",),
    ),
    Row(
        "raw-ip-download",
        "fetches from a bare address",
        ("DOWNLOAD|COPY|LAUNCH|FETCH + BARE_URL; near 20; medium",),
    ),
    Row(
        "destructive-wipe",
        "tells the agent to destroy what the person has",
        ("DESTROY > EVERYTHING; near 8; warn; medium",),
    ),
    Row(
        "destructive-wipe",
        "tells the agent to destroy what the person has, unasked",
        ("DESTROY + EVERYTHING + HUSH|UNASKED|COVERT_STRONG; near 30; block",),
    ),
    Row(
        "render-exfiltration",
        "secrets are to leave in the address of a picture",
        ("STRONG_SECRET + URL + RENDER_LINK; near 60; block",),
    ),
)


SECRECY: tuple[Row, ...] = (
    Row(
        "concealment",
        "tells the agent to keep something from the person it works for",
        (
            "NOT_TELL + PEOPLE + LEAK|COVERT; near 40; block; even negated",
            "NOT_TELL > PEOPLE; near 3; even negated; warn; medium",
            (
                "HUSH + "
                "LEAK|TAKE|SECRET_PATH|STRONG_SECRET|THIS_STEP|UNASKED|RISKY|HARVEST"
                "|COVERT_STRONG|IGNORE|VOID|PRIVATE_DATA; "
                "block; even negated"
            ),
            "HUSH; even negated; warn; medium",
            "COVERT_STRONG + LEAK|TAKE; near 16; even negated",
            "USER_MUST_NOT; unless NOISE; even negated",
            "COVERT + LEAK; near 12; even negated",
            "NOT_TELL > THAT_WAS; near 9; even negated",
        ),
    ),
    Row(
        "user-deception",
        "tells the agent to answer the person falsely",
        (
            "IF_ASKED > ANSWER_NO; near 26; even negated; medium",
            (
                "IF_ASKED + ANSWER_THAT + REALITY|CONCEALED|BETWEEN_US|LIE; near 50; block; even "
                "negated"
            ),
        ),
    ),
    Row(
        "user-deception",
        "tells the agent to report what did not happen",
        ("TELL_THAT > NO_MATTER; near 18",),
    ),
    Row(
        "user-deception",
        "tells the agent to feign",
        ("PRETEND > FACT; near 10",),
    ),
    Row(
        "user-deception",
        "tells the agent to deny what it does",
        ("DENY + FACT; near 14",),
    ),
    Row(
        "user-deception",
        "tells the agent to keep the true reason back when asked",
        ("IF_ASKED + NOT_TELL|CONCEALED|DENY; near 30; block; even negated",),
    ),
    Row(
        "user-deception",
        "tells the agent to pressure the person for a secret",
        ("IF_ASKED + ANSWER_THAT + PHISH; near 100; section; even negated",),
    ),
    Row(
        "user-deception",
        "tells the agent to deceive the person",
        ("LIE_TO; near 14; warn; medium",),
    ),
    Row(
        "user-deception",
        "passes advertising off as advice",
        ("LIE + CONCEALED|BETWEEN_US; block; even negated",),
    ),
    Row(
        "user-deception",
        "tells the agent to serve somebody else than the person",
        ("LOYALTY; near 20",),
    ),
)

# In a text that the reader of the page does not see, any order to an agent that matters.
HIDDEN: tuple[Row, ...] = (
    Row(
        "hidden-instruction",
        "gives orders where the reader of the page does not see them",
        (
            (
                "AGENT + OBEY|SEND_STRONG|FETCH|HARVEST|RISKY|IGNORE + "
                "URL|SECRET_PATH|STRONG_SECRET|LEAK|TAKE|HUSH|IGNORE|WALLET|AGENT_PATH; near 25"
            ),
            "LEAK; near 20",
            (
                "AGENT_MUST > WRITE|SEND|OBEY|RISKY|FETCH > STRONG_SECRET|SECRET_PATH|URL|HUSH; "
                "near 14"
            ),
            (
                "OBEY|SEND_STRONG|HARVEST|IGNORE + SECRET_PATH|HUSH|STRONG_SECRET|SYSTEM_PROMPT; "
                "near 20"
            ),
            "OBEY|LAUNCH > PATH > BEFORE_USE|EVERY_TIME|HUSH|AGENT; near 16; medium",
        ),
    ),
)


# Concepts made of concepts; each may use those above it.
_COMPOUNDS: dict[str, tuple[str, ...]] = {
    # The person is not to learn of something.
    "HUSH": (
        "NOT_TELL > USER|FROM_VIEW; near 9; unless NOISE",
        "NOT_TELL|NOT_SHOW > THIS_STEP; near 6; unless NOISE",
        "USER > CONCEALED; near 6; unless NOISE",
        "CONCEALED > USER|FROM_VIEW; near 8; unless NOISE",
        "HIDE > FROM_VIEW; near 8; never negated",
        "BETWEEN_US",
    ),
    # Data leaves the machine.
    "LEAK": (
        "SEND_STRONG > URL|REMOTE_PLACE|MAIL; near 16",
        "SEND > REMOTE_PLACE > URL; near 16",
    ),
    # Secrets are gathered.
    "TAKE": ("HARVEST > SECRET_PATH|STRONG_SECRET; near 10",),
    # A secret is asked of the person.
    "PHISH": (
        "ASK + USER + PROVIDE + HUMAN_SECRET; near 14",
        "ASK > PROVIDE > HUMAN_SECRET; near 7",
    ),
    # Something is done without asking.
    "UNASKED": (
        "WITHOUT > APPROVAL; near 6",
        "BYPASS > APPROVAL; near 6",
    ),
}
COMPOUNDS: dict[str, tuple[Pattern, ...]] = {
    name: tuple(pattern(text) for text in texts) for name, texts in _COMPOUNDS.items()
}
CUES: tuple[Cue, ...] = cues((*ORDERS, *SECRECY, *DATA))
HIDDEN_CUES: tuple[Cue, ...] = cues(HIDDEN)
