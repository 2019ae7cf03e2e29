"""From skills to answers: eligibility, filter, snapshot, watcher, prompt, terminal, library."""

from .requirement import Requirement, required

SERVING: tuple[Requirement, ...] = (
    *required(
        "spec skills/Eligibility",
        {
            "verdict:eligible": "A skill is ready when nothing stands in its way.",
            "verdict:fields": (
                "A verdict says eligible, disabled, blocked, missing, checks and install options."
            ),
            "verdict:missing-by-kind": "What is missing is named by its kind.",
            "verdict:always": "always skips requirements but never the operating system.",
            "verdict:os-aliases": "macos, mac, osx, windows and win are understood.",
            "verdict:hits-cached": "A program that was found stays found.",
            "verdict:misses-not-cached": "A missing program is looked for again.",
            "verdict:config-checks": (
                "Config checks tell the path and whether it is satisfied, never the value."
            ),
            "verdict:install": "A verdict offers the ways to install what is missing.",
            "nodes:bins": "Programs of remote nodes count, their environment does not.",
            "nodes:platforms": "Platforms of remote nodes count.",
            "nodes:config": "skills.nodes brings remote nodes in.",
            "secrets:never-shown": "Secret values appear in no output.",
        },
    ),
    *required(
        "openclaw 3.1",
        {
            "verdict:order": "The first obstacle in the order of the checks is the reason.",
            "verdict:disabled": "enabled: false takes a skill out.",
            "verdict:os": "Another operating system keeps a skill out.",
            "verdict:bins": "Every program must be an executable file on the PATH.",
            "verdict:any-bins": "One of anyBins is enough.",
            "verdict:env": (
                "A variable counts when the process, the entry or, as primary, an apiKey has it."
            ),
            "verdict:config": (
                "A config path counts when its value is truthy; the browser is on by default."
            ),
        },
    ),
    *required(
        "openclaw 2.4",
        {
            "verdict:allowlist": (
                "skills.allowBundled blocks bundled skills it does not name; empty blocks none."
            )
        },
    ),
    *required(
        "openclaw 2.5",
        {
            "entries:enabled": "enabled: false disables a skill, true forces nothing.",
            "entries:by-skill-key": "Entries are looked up by skillKey.",
        },
    ),
    *required(
        "spec skills/Agent filter",
        {
            "filter:missing-is-all": "A missing list allows all.",
            "filter:empty-is-none": "An empty list allows none.",
            "filter:list-is-those": "A list allows exactly those.",
            "filter:own-replaces-defaults": (
                "An agent's own list replaces the defaults, even an empty one."
            ),
            "filter:name-or-key": "An entry matches the skill's name or its skillKey.",
            "filter:report-says-which": "The report says whether name or skillKey matched.",
        },
    ),
    *required(
        "openclaw 4", {"filter:everywhere": "The filter reaches check, snapshot and prompt."}
    ),
    *required(
        "openclaw 3.2",
        {"filter:not-readiness": "Readiness ignores the agent filter; visibility does not."},
    ),
    *required(
        "spec skills/Snapshot",
        {
            "snapshot:immutable": "A snapshot cannot be changed.",
            "snapshot:content-hash": (
                "Equal content has equal hashes, and every change in meaning another one."
            ),
            "snapshot:parts": (
                "A snapshot holds prompt, skills, filter, resolved skills and version."
            ),
            "snapshot:normalised-filter": (
                "The filter is kept without blanks, repeats and order; none stays none."
            ),
            "version:starts-at-process-start": "Versions start at the start of the process.",
            "version:strictly-increases": "Versions strictly increase.",
            "version:still-when-nothing-changed": (
                "Versions do not move when nothing changed in meaning."
            ),
            "session:kept": "A session keeps its snapshot in the store.",
            "session:long-prompts-once": (
                "A long prompt is stored once, however many sessions hold it."
            ),
            "session:rebuilds-on-next-turn": "A session rebuilds on the next turn after a change.",
            "session:never-within-a-turn": "A session never rebuilds within a turn.",
            "rebuild:only-what-changed": "Only what changed is parsed again.",
        },
    ),
    *required(
        "openclaw 5.1",
        {
            "snapshot:lists-what-is-usable": (
                "Skills hidden from the model are in the list but not in the prompt."
            )
        },
    ),
    *required("openclaw 1.3", {"snapshot:skill-key": "Without a skillKey the name counts."}),
    *required(
        "spec skills/Watcher",
        {
            "watcher:skill-files": "A skill that comes, changes or goes moves the version.",
            "watcher:stand-alone-skills": "Stand-alone skills, commands and rules count too.",
            "watcher:only-skill-files": "Other files do not matter to the version.",
            "watcher:missing-roots": "A missing root is noticed when it appears.",
            "watcher:debounce": "A burst is collected for 250 ms by default.",
            "watcher:ignored-folders": "Changes in ignored folders move nothing.",
            "watcher:bounded": "Only folders that discovery looked into are watched.",
            "watcher:exhausted-limits": (
                "Exhausted limits are said once; every turn then looks for itself."
            ),
        },
    ),
    *required(
        "openclaw 2.6", {"watcher:switch": "skills.load.watch: false switches watching off."}
    ),
    *required(
        "spec skills/Prompt block",
        {
            "prompt:layout": (
                "The block is two line ends, three lines of prose and one element per skill."
            ),
            "prompt:rule-scan-first": "The prose says to scan the whole index first.",
            "prompt:rule-one-up-front": "The prose says to read at most one candidate up front.",
            "prompt:rule-most-specific": "The prose says to prefer the most specific.",
            "prompt:rule-skip-when-none-fits": "The prose says to use none when none clearly fits.",
            "prompt:rule-read-before-following": (
                "The prose says to read the file at its location before following it."
            ),
            "prompt:five-characters-escaped": "All five characters are escaped in every field.",
            "prompt:home-shortened": "The home becomes a tilde, other paths stay whole.",
            "prompt:worth-not-alphabet": (
                "Who is dropped first is decided by worth, not by the alphabet."
            ),
            "prompt:order-by-name": "The output stays in the order of names, as people read them.",
            "prompt:trigger-hints": (
                "At most eight trigger hints, any then all, follow the description."
            ),
            "prompt:hidden-absent": "Skills with disable-model-invocation are absent.",
            "prompt:omitted-when-nothing-visible": "The block is omitted when nothing is visible.",
            "prompt:omitted-without-reading-tool": (
                "The block is omitted when no tool of the caller reads files."
            ),
            "budget:count": "maxSkillsInPrompt, 150 by default, bounds the number.",
            "budget:characters": "maxSkillsPromptChars, 18000 by default, is never exceeded.",
            "budget:per-agent": "An agent may have its own budget.",
            "budget:identities-first": (
                "Over budget every identity that fits is kept before descriptions."
            ),
            "budget:regrows-evenly": (
                "Descriptions regrow evenly to the longest that fits, between 4 and 220."
            ),
            "budget:note": "A note says what happened.",
            "worth:pinned": "A pinned skill is dropped last.",
            "worth:higher-tier": "Then the higher source stays.",
            "worth:recent-use": "Then recent use decides.",
        },
    ),
    *required(
        "openclaw 6.3",
        {
            "prompt:node-note": (
                "A note about remote machines stands before the block when it fits."
            )
        },
    ),
    *required(
        "spec skills/Terminal",
        {
            "terminal:list": "list shows every skill by name and whether it is ready.",
            "terminal:show": "show tells all about one skill.",
            "terminal:check": "check summarises, and ends with 1 when a file is broken.",
            "terminal:json-everywhere": "Every command prints JSON on request, failures included.",
            "terminal:workspace-and-agent": "Every command takes --workspace and --agent.",
            "terminal:list-json": "list --json has its documented shape.",
            "terminal:check-json": "check --json has its summary and the lists of the same names.",
            "load:copies-for-editing": (
                "load copies a bundled skill into the workspace, where it wins."
            ),
            "load:folder": "A skill folder is copied with its assets.",
            "load:file": "A stand-alone skill is copied as a file.",
            "load:interactive-on-terminal": "On a terminal a person chooses.",
            "load:names-or-all-without-terminal": "Without a terminal names or --all are needed.",
            "load:all": "--all copies every bundled skill.",
            "load:skips-existing": "Existing skills are skipped and said.",
            "load:summary": "The summary is selected=N copied=N skipped=N.",
            "why:whole-path": (
                "why tells the whole path: found, parsed, eligible, allowed, in the prompt."
            ),
            "why:shadows": "why tells what a skill shadows.",
            "why:first-reason": "why gives the first reason why a skill is not visible.",
            "why:what-to-do": "why says what to do about it.",
            "why:exit-code": "why ends with 0 when the skill is visible to the agent, else with 1.",
            "validate:paths": (
                "validate takes files, skill folders and folders of skills, or all that is found."
            ),
            "validate:codes": "Every finding has a code.",
            "validate:lines": "Every finding has its file and line.",
            "validate:exit-one": "Any error ends with 1, notes do not.",
            "validate:formats": "Findings are printed as text, JSON or SARIF.",
            "validate:portability-notes": "What a harness reads differently is a note.",
            "fix:quoting": "--fix repairs quoting.",
            "fix:names": "--fix repairs names.",
            "fix:folders": "--fix repairs folders, and never overwrites another skill.",
            "fix:diff-first": "--fix shows the diff first.",
            "exit:codes": "0 is fine, 1 a finding, 2 wrong usage.",
            "exit:not-found": "Something not found ends with 1.",
            "exit:errors-are-one-sentence": "An error is one sentence without a traceback.",
        },
    ),
    *required(
        "openpocket 1.8",
        {
            "validate:openpocket-codes": (
                "The strict rules for names, folders and files have their codes."
            )
        },
    ),
    *required(
        "agent-skills standard",
        {
            "validate:strict-standard": (
                "--strict holds a file to the whole standard, otherwise it is advice."
            )
        },
    ),
    *required(
        "openpocket 1.11",
        {
            "load:requirements-ignored": "load copies skills that are not ready too.",
            "load:names-only": "load takes names of bundled skills and stays inside the workspace.",
        },
    ),
    *required(
        "openclaw 3.2",
        {
            "terminal:name-lookup": (
                "A skill is found by name, key, case and separators; two candidates are none."
            )
        },
    ),
    *required(
        "openclaw 12",
        {
            "terminal:escape-sequences-removed": (
                "Escape sequences of a skill never reach a terminal."
            )
        },
    ),
    *required(
        "own",
        {
            "terminal:help": "Every command is listed and explains itself.",
            "terminal:config": "config get, set and path read and write the config file.",
            "terminal:enable-disable": "enable and disable switch a skill under its key.",
            "terminal:no-colours-when-piped": "There are no colours in a pipe.",
            "terminal:tables-fit": "A list fits its terminal and its pipe; --wide cuts nothing.",
            "terminal:broken-pipe": "A reader that leaves early is no reason to complain.",
            "terminal:any-encoding": "Characters that a terminal cannot show are replaced.",
            "terminal:looking-writes-nothing": "Commands that look write nothing but kept reports.",
            "completion:script": "completion prints a script for bash, zsh and fish.",
            "completion:names": "Commands, options and names of skills are completed.",
            "validate:sarif": "SARIF carries rule, level, message, URI and line.",
            "fix:careful": (
                "--fix changes only what it must, keeps the old text, and is done after one run."
            ),
            "session:terminal": (
                "snapshot --session begins a turn and shows what the session holds."
            ),
            "rebuild:vanished": "A vanished skill leaves no trace after the next look.",
            "watcher:broken-config": (
                "A config file that is broken for a moment does not end watching."
            ),
            "watcher:config": "A change of the config file counts too.",
            "filter:never-opens-by-mistake": "A list of the wrong type allows nothing.",
            "filter:unmatched-entries-reported": "An entry that names no skill is reported.",
            "prompt:bundled-by-default": "The bundled skills are in the block by default.",
            "library:open": (
                "prowess.open gives a runtime for a workspace, a state folder and an environment."
            ),
            "library:public-names": (
                "Every public name can be had, and importing loads nothing heavy."
            ),
            "library:errors": "Errors share one root and carry a code.",
            "library:same-as-terminal": "The library and the terminal give the same answers.",
            "library:prompt-for-tools": "A program may name the tools of its agent.",
            "library:record-use": "A program may record that a skill was used.",
            "library:testing": "prowess.testing opens a service on skills in memory.",
        },
    ),
)
