"""Combinations of concepts about data, what stays behind, and what must be run first."""

from prowess.safety.prose.cue import Row

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
