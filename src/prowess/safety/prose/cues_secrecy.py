"""Combinations of concepts by which a text hides, lies, or speaks where nobody looks."""

from prowess.safety.prose.cue import Row

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
