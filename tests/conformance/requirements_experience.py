"""Experience: traces that are read, drafts, fingerprints, replays, goals, and the terminal."""

from .requirement import Requirement, required

EXPERIENCE: tuple[Requirement, ...] = (
    *required(
        "spec experience/Input",
        {
            "experience:document": "A trace may be one JSON document, from a file or a pipe.",
            "experience:lines": "Traces may be JSON lines; bad lines are skipped and counted.",
            "experience:openpocket": "Sessions of OpenPocket are read, Markdown and JSON lines.",
            "experience:claude-code": "A tool call of a Claude Code transcript is an action.",
            "experience:codex": "A tool call of a Codex transcript is an action.",
            "experience:folder": "A folder stands for the sessions in it, each read once.",
            "experience:format": "The format is found by itself, or as told.",
            "experience:hostile": "A trace of any content gives safe files or a clear error.",
            "experience:huge": "A trace of many megabytes gives a small draft.",
        },
    ),
    *required(
        "spec experience/Output",
        {
            "experience:successful-only": "Only successful tasks with steps produce anything.",
            "experience:switch": "With experience.enabled set to false nothing is produced.",
            "experience:places": "Drafts and scripts have their places and names, by mode.",
            "experience:strict-valid": "A strict draft passes the strict validator.",
            "experience:script-mode": "A script is for its owner alone and parses.",
            "experience:contained": "Nothing is written outside of the two folders of drafts.",
            "experience:scanned": "What the scanner finds critical is not written.",
            "experience:no-secrets": "Text that looks like a credential is written nowhere.",
        },
    ),
    *required(
        "spec experience/Document",
        {
            "experience:sections": "A draft has the sections of the document.",
            "experience:procedure": "The procedure is rebuilt with intent, target and outcome.",
            "experience:confidence": "Four steps of two kinds are medium, all else is low.",
            "experience:probe-warning": "A capability probe without authorisation is warned of.",
        },
    ),
    *required(
        "openpocket 1.9",
        {
            "experience:golden": "The fingerprints of the Android action set are the known ones.",
            "experience:first-25": "Only the first 25 steps count in a fingerprint.",
        },
    ),
    *required(
        "spec experience/Fingerprint",
        {
            "experience:flow": "A finer fingerprint keeps different flows in one app apart.",
            "experience:unchanged": "Building again from the same trace changes nothing.",
            "experience:same-behaviour": "The same behaviour in other words replaces its draft.",
            "experience:same-task": "The same task done in another way replaces its draft.",
            "experience:slug-alone": "Tasks that only share a slug keep their drafts.",
            "experience:quoted-fingerprint": "A fingerprint in a text is not the draft's own.",
            "experience:edited": "A draft that a person changed is not lost.",
        },
    ),
    *required(
        "spec experience/Learning across runs",
        {
            "experience:one-proposal": "Three traces of one goal are one proposal, with evidence.",
            "experience:common-steps": "Detours are left out and what varies is a parameter.",
            "experience:two-stay-drafts": "Fewer than three successful traces stay drafts.",
            "experience:goals-apart": "Different goals become different skills.",
            "experience:known": "A goal that was proposed is not proposed again.",
            "experience:workshop-off": "Without the workshop drafts are made, and it is said how.",
            "experience:goals-scanned": "What is unsafe is not proposed for a yes.",
            "experience:hidden": "Drafts are not shown to the model until promoted.",
        },
    ),
    *required(
        "spec experience/Replay",
        {
            "experience:dry-script": "A script does nothing unless told to execute.",
            "experience:execute": "A script that is told to does each step.",
            "experience:element": "A tap finds its element, and takes coordinates otherwise.",
            "experience:quoted": "No text of a trace is ever run as a command.",
            "experience:destructive": "A destructive step needs a confirmation.",
        },
    ),
    *required(
        "spec experience/Terminal",
        {
            "experience:build-json": "build answers with the fields of the document.",
            "experience:dry-run": "A dry run says what it would do and writes nothing.",
            "experience:list": "list shows every draft and whether a person changed it.",
            "experience:promote": "promote makes a skill of a draft, never over another one.",
            "experience:clean": "clean removes duplicates with their scripts, recoverably.",
            "experience:exit-codes": "Exit codes are 0, 1 for nothing usable, and 2 for usage.",
            "experience:for-people": "Without --json a person is told what became of it.",
        },
    ),
)
