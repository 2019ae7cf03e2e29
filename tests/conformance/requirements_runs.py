"""Runs: their environment, `prowess run`, slash commands, the sandbox copy, installs and agents."""

from .requirement import Requirement, required

RUNS: tuple[Requirement, ...] = (
    *required(
        "spec runs/A run",
        {
            "run:parts": "A run has a prompt, routes messages with reasons and takes commands.",
            "run:async": "The asynchronous run and the plain one do the same.",
            "run:environment-applied": (
                "env and apiKey of the config are in the environment while a run lasts."
            ),
            "run:environment-restored": (
                "The environment is restored exactly, whatever ended the run."
            ),
            "run:unknown-agent": "A run for an unknown agent does not begin and changes nothing.",
            "run:snapshot-pinned": "What an agent may use does not change during a run.",
            "run:learning": "A turn feeds learning and returns what was proposed.",
            "run:process-wide-off": "Without process_wide only run.environ has the variables.",
            "run:wrong-types": "An entry of the wrong type sets nothing and stops nothing.",
            "run:allow-env": "allowEnv lends an account to one skill and opens nothing else.",
            "run:allow-env-audited": "Each run that uses a loan is noted, without the value.",
            "run:names-never-values": "What is said about variables has names, never values.",
            "run:secret-references": (
                "$NAME, ${NAME} and {source: env, file or exec} lead to a value."
            ),
            "run:secret-nowhere": (
                "A reference that leads nowhere is a warning and the rest is set."
            ),
            "run:secret-late": (
                "A reference is followed at each run, without a shell, and only where it is needed."
            ),
            "run:secret-never-stored": "What a reference leads to is kept nowhere.",
            "runcmd:exit-code": "The exit code of the child passes through.",
            "runcmd:cannot-start": "A command that cannot be started is 127 or 126 and a sentence.",
            "runcmd:usage": "Nothing to run and an unknown agent are one sentence.",
            "runcmd:overlay": "The child has the variables of the run.",
            "runcmd:one-warning": "What is blocked is one warning with names.",
            "runcmd:prompt-file": (
                "PROWESS_SKILLS_PROMPT_FILE is a private file with the prompt, gone at the end."
            ),
            "runcmd:agent": "--agent decides what the child gets.",
            "runcmd:arguments": "The child gets its arguments, folder and input untouched.",
            "runcmd:signals": "Signals reach the child, and its answer decides.",
            "runcmd:terminal": "The child has the terminal to itself.",
            "runcmd:dry-run": "A dry run starts nothing and follows no reference.",
            "runcmd:tools-on-path": "Installed programs are found after those of the host.",
        },
    ),
    *required(
        "openclaw 5.4",
        {
            "run:session-snapshots": (
                "A session keeps its snapshot in the store and refreshes it on the next turn."
            )
        },
    ),
    *required(
        "openclaw 7",
        {
            "run:host-wins": "A variable that the host defines, even empty, is kept.",
            "run:env-before-api-key": "A variable in env comes before the apiKey.",
            "run:entry-by-skill-key": "The entry of a skill is looked up by its skillKey.",
            "run:only-usable-skills": "Disabled, lacking and filtered skills set nothing.",
            "run:blank-values": "Blank names and blank values are not set.",
            "run:reference-counted": (
                "The first value stays until the last overlapping run ends; then the baseline."
            ),
            "run:children-of-others": "Children of one run do not see the variables of another.",
            "run:denied-keys": (
                "Denied variables are never set, in any spelling and whatever is declared."
            ),
            "run:secrets-declared": "A secret is set only for the skill that declares it.",
            "run:accounts-blocked": "Accounts of the operator are blocked even where declared.",
            "run:odd-values": "A NUL blocks a value; a suspicious one is a warning.",
        },
    ),
    *required(
        "spec runs/Slash commands",
        {
            "slash:listing": "prowess commands lists name, skill, description, file and dispatch.",
            "slash:invoke": "prowess invoke and run.command say what a command asks for.",
            "slash:scanned-first": "A skill that the scanner refuses cannot be called.",
            "slash:placeholders": "The placeholders of Claude Code say where one is.",
            "slash:arguments-not-refilled": "Text of an argument is not filled in again.",
            "slash:commands-not-run": "Commands in the text of a skill are not run.",
        },
    ),
    *required(
        "openclaw 8",
        {
            "slash:names": "A name is lower case, of [a-z0-9_] and at most 32 characters.",
            "slash:collisions": "Names that meet are numbered and stay within 32 characters.",
            "slash:reserved": "Names that every harness has are reserved.",
            "slash:sources": (
                "Usable skills that a person may call have commands, hidden ones included."
            ),
            "slash:skill-form": (
                "/skill NAME ignores case and takes spaces and underscores for hyphens."
            ),
            "slash:not-an-invocation": "Anything else is no call.",
            "slash:tool-dispatch": (
                "command-dispatch: tool with a tool gives {command, commandName, skillName}."
            ),
            "slash:argument-modes": "Arguments go to a tool raw.",
            "slash:tool-missing": "A tool that the agent lacks is a visible problem.",
            "slash:arguments": "$ARGUMENTS is replaced, or the input is added.",
            "slash:inline": "$name names a skill; shell variables and escaped ones do not.",
            "slash:inline-limits": "At most 8 skills, 512 characters a line and 1000 in all.",
            "slash:inline-hidden": (
                "A hidden skill is named with its file, a filtered one is a visible error."
            ),
        },
    ),
    *required(
        "spec runs/Sandbox copy",
        {
            "sync:usable-only": "Eligible, filtered skills of the agent are copied.",
            "sync:links": "Links in a skill are not followed.",
            "sync:target-links": "Nothing is written through a link in the target.",
            "sync:foreign": "A folder that sync did not write is never changed or deleted.",
            "sync:dry-run": "A dry run shows the plan and writes nothing.",
            "sync:idempotent": "A second copy changes nothing.",
            "sync:unsafe": "A skill that the scanner refuses is not copied.",
            "sync:bad-target": "A target that cannot be one is refused without harm.",
        },
    ),
    *required(
        "openclaw 5.6",
        {
            "sync:copies": "A copy has every file of a skill, and programs stay programs.",
            "sync:folder-names": "Folders are named after the source, numbered where they meet.",
            "sync:skipped": ".git and node_modules stay behind.",
            "sync:stale": "What is gone or changed at the source is so in the copy.",
            "sync:serialised": "Copies into one target take turns.",
        },
    ),
    *required(
        "spec runs/Install",
        {
            "install:no-scripts": "Scripts of packages never run.",
            "install:scanned-first": "The scanner runs first and critical findings block.",
            "install:arguments": "A name that is more than a name starts nothing.",
            "install:environment": "Installers do not get the variables of skills.",
            "install:asks-first": "Nothing is run where nobody said yes.",
            "install:dry-run": "A dry run shows what would be done and fetches nothing.",
            "install:sha256": "A download that does not fit its sha256 is not kept.",
            "install:ssrf": (
                "Private addresses and other schemes are out of reach unless a host is listed."
            ),
            "install:bounded": "Lying servers, error pages and endless redirects leave nothing.",
        },
    ),
    *required(
        "openclaw 9",
        {
            "install:choice": "The option is chosen by kind, preference and what is there.",
            "install:labels": "Options say what they do.",
            "install:commands": "Each kind has its command, as an argument list.",
            "install:wire-shape": "The result is {ok, message, stdout, stderr, code, warnings?}.",
            "install:not-found": "An unknown skill or option says so.",
            "install:timeout": "1 to 900 seconds; what takes longer is ended with its children.",
            "install:missing-tool": "A missing tool is explained, never fetched by a script.",
            "install:download": "A download is kept below the state folder and found by skills.",
            "install:archives": "zip, tar.gz and tar.bz2 are extracted and stripped.",
            "install:hostile-archives": "A hostile archive is refused whole.",
            "install:target-folder": (
                "Nothing is written outside the tools folder of the skill, whatever is asked."
            ),
        },
    ),
    *required(
        "spec runs/Agents",
        {
            "agents:schemas": "tool_schemas gives the tools in the form of chat interfaces.",
            "agents:calls": "call_tool answers, and a wrong call is an answer for the model.",
            "agents:filter": "An agent reads and finds only what it may use.",
            "agents:toolset": "SkillsToolset brings the prompt block and the tools.",
            "agents:workshop": "skill_workshop is a tool where the workshop is enabled.",
            "chat:routed": "The skill that fits is loaded and shown with its reason.",
            "chat:body-reaches-the-model": "The text of the routed skill reaches the model.",
            "chat:streams": "An answer is streamed.",
            "chat:tools": "The model reads skills and files of the workspace.",
            "chat:approval": "A command runs only after a yes to its question.",
            "chat:session": "A session goes on where it was.",
            "chat:workshop": "A correction becomes a proposal where the workshop is enabled.",
            "chat:commands": "A slash command calls its skill.",
            "chat:unsafe": "A skill that the scanner refuses is not loaded.",
            "chat:bad-model": "A model that cannot be used is one sentence.",
        },
    ),
)
