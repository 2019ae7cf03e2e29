"""From folders and files to skills: configuration, sources, discovery, formats."""

from .requirement import Requirement, required

READING: tuple[Requirement, ...] = (
    *required(
        "spec skills/Homes and configuration",
        {
            "home:default": "Without PROWESS_HOME the state folder is ~/.prowess.",
            "home:variable": "PROWESS_HOME names the state folder.",
            "config:file": "The config file is prowess.json in the state folder.",
            "config:json5": "The config file is read as JSON5; an empty one means the defaults.",
            "config:openclaw-drop-in": (
                "An openclaw.json works as it is, with all its other sections."
            ),
            "config:unknown-kept": "Writing one key keeps every other, known or not.",
            "config:unknown-reported": "An unknown key is reported and is no error.",
            "workspace:option-first": "--workspace stands over the agent's workspace.",
            "workspace:agent-second": "Without --workspace the agent's own workspace counts.",
            "workspace:current-folder-last": "Otherwise the current folder is the workspace.",
            "agents:list": (
                "agents.list[] holds agents with an id and, if wanted, a name and a skills list."
            ),
            "agents:default-flag": (
                "The agent marked default answers when none is named, else the first."
            ),
            "agents:defaults-skills": "agents.defaults.skills holds for agents without a list.",
            "agents:main-without-list": "With no list there is one agent, main.",
        },
    ),
    *required(
        "spec skills/Sources",
        {
            "sources:eight": "Each of the eight sources has its folder and its wire id.",
            "sources:extra-in-order": "Of two extra folders the later one wins.",
            "sources:plugins-after-extra": "Plugin skills stand over those of the extra folders.",
            "harness:personal-folders": (
                "User folders of other harnesses are read where they exist."
            ),
            "harness:project-folders": (
                "Project folders of other harnesses are read where they exist."
            ),
            "harness:on-by-default": "Harness folders are read without any setting.",
            "harness:switch": "skills.load.harnessDirs is true, false or a list of harnesses.",
            "precedence:bundled-over-extra": "A bundled skill wins over one of an extra folder.",
            "precedence:managed-over-bundled": "A managed skill wins over a bundled one.",
            "precedence:harness-personal-over-managed": (
                "A harness's user folder wins over the managed one."
            ),
            "precedence:agents-personal-over-harness-personal": (
                "~/.agents/skills wins over a harness's user folder."
            ),
            "precedence:harness-project-over-agents-personal": (
                "A harness's project folder wins over ~/.agents/skills."
            ),
            "precedence:agents-project-over-harness-project": (
                "The project's .agents/skills wins over a harness's."
            ),
            "precedence:workspace-over-agents-project": (
                "The workspace's skills win over .agents/skills."
            ),
            "precedence:workspace-over-bundled": (
                "The workspace's skills win over the bundled ones."
            ),
            "precedence:exact-name": "Names are compared exactly, case included.",
            "precedence:openpocket-first-wins": (
                "With openpocket the first of bundled, managed, workspace wins."
            ),
            "shadowed:kept-with-winner": (
                "What lost its name is kept as shadowed, with the winner named."
            ),
            "shadowed:identical-silent": "A mere copy of the winner is not reported.",
            "plugins:manifests": (
                "A plugin is a folder with one of three manifests, which may name its folders."
            ),
            "plugins:stay-inside": "Skills paths of a plugin stay inside it, links included.",
            "plugins:load-paths": "plugins.load.paths lists the plugins.",
            "plugins:switch": "plugins.entries.<id>.enabled switches a plugin.",
            "commands:own-dialect": "Claude Code commands load as skills of their own dialect.",
            "rules:own-dialect": (
                "Cursor rules load as skills of their own dialect, with globs and alwaysApply."
            ),
        },
    ),
    *required(
        "spec skills/Discovery",
        {
            "discovery:breadth-first": "Near folders are looked at before deep ones.",
            "discovery:depth-six": "A skill six folders deep is found, one seven deep is not.",
            "discovery:sorted-by-name": "Candidates are taken in the order of their names.",
            "discovery:any-case": "SKILL.md counts in any case.",
            "discovery:upper-case-preferred": "SKILL.md is preferred to the other spellings.",
            "discovery:ends-branch": "A SKILL.md ends its branch, even a broken one.",
            "discovery:skips-hidden": "Hidden folders are skipped.",
            "discovery:skips-vendor": "node_modules is skipped.",
            "discovery:skips-environments": (
                "Virtual environments are skipped, also by their marker file."
            ),
            "discovery:skips-caches": "Caches are skipped.",
            "limits:candidates": "A limit of candidates of a root is kept, and said.",
            "limits:per-source": "A limit of skills of a source is kept, and said.",
            "limits:file-bytes": "A file of 256,000 bytes loads by default, a larger one does not.",
            "limits:configurable": "Every limit can be set under skills.limits.",
            "limits:truncation-reported": "A truncated scan is a diagnostic.",
            "mode:legacy-lenient": "legacy reads everything leniently, in every root.",
            "mode:mixed-is-default": "Without a setting the mode is mixed.",
            "mode:mixed-by-the-standard": "mixed reads SKILL.md folders by the standard.",
            "mode:mixed-stand-alone": (
                "mixed reads stand-alone texts in bundled, managed and workspace roots only."
            ),
            "mode:no-readme": "A README is no stand-alone skill.",
            "mode:strict-skill-files": "strict reads only SKILL.md.",
            "mode:strict-valid-only": "strict reads only what validates, and says what it dropped.",
            "mode:agent-key": "agent.skillsSpecMode is read too.",
            "mode:resources-never-skills": (
                "Files below a skill folder are its resources in every mode."
            ),
            "derive:id": "The id is the base name of the folder or file.",
            "derive:name": (
                "The name is that of the frontmatter, else the first level-1 heading, else the id."
            ),
            "derive:description": (
                "The description is that of the frontmatter, else the first non-heading line."
            ),
            "derive:180-characters": "A derived description has at most 180 characters.",
            "containment:real-path": "A skill's real path stays inside its root's.",
            "containment:private-roots-may-link": (
                "Managed and personal roots may hold linked skill folders."
            ),
            "containment:allowed-targets": (
                "skills.load.allowSymlinkTargets widens the other roots, folder by folder."
            ),
            "containment:reason-codes": "Each refusal is a diagnostic with a reason code.",
            "bad:unreadable": "What the system cannot read is a diagnostic.",
            "bad:oversized": "An oversized file is a diagnostic.",
            "bad:binary": "A binary file is a diagnostic.",
            "bad:invalid-utf8": "Invalid UTF-8 is a diagnostic.",
            "bad:nul": "A NUL byte is a diagnostic.",
            "bad:siblings-load": "Whatever is wrong with one file, its siblings load.",
            "metadata:unreadable-closes": (
                "Metadata that is present but cannot be read gates the skill closed."
            ),
            "metadata:never-opens": "No slip in the block ever disables its gating silently.",
        },
    ),
    *required(
        "spec skills/What a Skill holds",
        {
            "skill:raw": "A skill holds its name, description, source, file and folder.",
            "skill:frontmatter": "A skill holds its parsed frontmatter.",
            "skill:metadata-fields": (
                "A skill holds its resolved OpenClaw metadata, every field of it."
            ),
            "skill:user-invocable": "user-invocable: false removes only the command.",
            "skill:disable-model-invocation": (
                "disable-model-invocation removes only the prompt entry."
            ),
            "skill:command-dispatch": "command-dispatch: tool with a command-tool names the tool.",
            "skill:command-arg-mode": "The argument mode is raw, whatever else is written.",
            "skill:sections": "The body is mapped to sections with their lines in the file.",
            "skill:resources": "A skill knows its other files.",
            "skill:content-hash": "A skill has a hash of its content.",
            "skill:diagnostics": "A skill carries its diagnostics.",
            "dialect:openclaw": "metadata.openclaw is read.",
            "dialect:clawdbot": "clawdbot is read as openclaw where that is absent.",
            "dialect:claude": "Keys of Claude Code are read.",
            "dialect:codex": (
                "Codex's agents/openai.yaml decides whether the model may choose by itself."
            ),
            "dialect:hermes": "Platforms, variables and tags of Hermes are read.",
            "dialect:unknown-keys-kept": "Unknown keys are kept.",
        },
    ),
    *required(
        "openclaw 1.1",
        {
            "frontmatter:bom": "A byte order mark is ignored.",
            "frontmatter:line-ends": "CRLF and lone CR read like LF.",
            "frontmatter:fences": (
                "Fences are three dashes and trailing blanks; four dashes open nothing."
            ),
            "frontmatter:dashes-in-body": "A rule in the body is only a rule.",
            "frontmatter:unterminated": "An unterminated block is refused with its code.",
            "frontmatter:real-yaml": "Values are read as YAML means them.",
            "frontmatter:core-schema": (
                "Scalars follow the core schema: words and dates stay as written."
            ),
            "frontmatter:colon-rescue": "A colon in unquoted prose is rescued and said.",
            "frontmatter:rejected-when-broken": (
                "A block that is still broken after the rescue is refused."
            ),
            "frontmatter:description-required": "Without a description a SKILL.md is not loaded.",
            "frontmatter:name-falls-back": "Without a name the folder's counts.",
            "frontmatter:json-metadata": (
                "Metadata is read as JSON, JSON5 or YAML, in every notation."
            ),
            "frontmatter:duplicate-keys": "A duplicate key is refused with its line.",
            "frontmatter:wrong-root": "A block that is not a map is refused.",
            "frontmatter:bad-indent": "A wrong indent is refused with its line.",
            "dialect:spellings": "Flags are read in every spelling; nonsense gives the default.",
        },
    ),
    *required(
        "openclaw 1.2",
        {"dialect:homepage-aliases": "homepage, website and url are one; the metadata's wins."},
    ),
    *required(
        "openclaw 1.3",
        {
            "dialect:clawdis-refused": "clawdis is not accepted, and that is said.",
            "dialect:install-entries": "A bad install entry drops only itself.",
        },
    ),
    *required(
        "openclaw 1.4",
        {"limits:broken-do-not-count": "Broken candidates do not use up the limit of a source."},
    ),
    *required(
        "openclaw 1.5",
        {
            "discovery:nested-skills-folder": (
                "A repository's skills/ folder and its other folders both count."
            ),
            "discovery:root-is-a-skill": "A root with a SKILL.md of its own is that skill alone.",
        },
    ),
    *required(
        "openclaw 1.6",
        {
            "containment:file-stays-in-its-folder": (
                "A linked skill file stays in its own folder, whatever the root allows."
            ),
            "containment:hard-link": (
                "A hard-linked skill file is refused outside the bundled skills."
            ),
            "containment:bundled": (
                "A link out of the bundled skills has a code of its own; hard links are fine."
            ),
        },
    ),
    *required(
        "openclaw 2.6",
        {"sources:tilde": "A tilde in an extra folder is the home; blanks are dropped."},
    ),
    *required(
        "openpocket 1.1",
        {
            "sources:missing-root": "A missing root is empty, never an error.",
            "mode:unknown-is-mixed": "An unknown spec mode means mixed.",
        },
    ),
    *required(
        "agent-skills standard",
        {"dialect:standard": "The six keys of the standard are a dialect of their own."},
    ),
    *required(
        "own",
        {
            "sources:bundled-five": (
                "Five bundled skills are ready everywhere and valid by the standard."
            ),
            "frontmatter:dashes-in-values": "Three dashes inside a value do not close the block.",
            "frontmatter:custom-tags": "Custom tags are refused and never run.",
            "frontmatter:alias-bombs": "Aliases are refused where they stand.",
            "frontmatter:never-raises": "No content makes the reader raise.",
            "frontmatter:diagnostics": "Each problem has a code, a line, a message and a fix.",
            "containment:circles": "Links that go in circles end.",
            "bad:not-a-file": "What is no regular file is no skill and never hangs the scan.",
            "bad:odd-names": (
                "Folder names that are no text, or that hold commands, are only names."
            ),
            "bad:races": "What vanishes between two looks is simply not there.",
            "config:broken-is-one-sentence": (
                "A broken config file is one sentence with its place, and is left as it is."
            ),
            "config:wrong-type-reported": (
                "A value of the wrong type takes its default and is reported."
            ),
            "agents:unknown-refused": "An unknown agent is refused, with the known ones named.",
        },
    ),
)
