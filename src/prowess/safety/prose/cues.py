"""Combinations of concepts by which a text takes power over an agent."""

from prowess.safety.prose.cue import Row

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
