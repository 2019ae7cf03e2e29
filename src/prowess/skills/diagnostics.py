"""Every diagnostic code, with its severity and what to do about it.

Codes in capitals are about the text of a file; codes in lower case are reasons why the scan of a
folder passed something over. Where another runtime has a name for the same problem, it is used.
"""

from typing import NamedTuple

from prowess.skills.model import Diagnostic, Severity


class Code(NamedTuple):
    """A row of the diagnostics reference."""

    code: str
    severity: Severity
    meaning: str
    fix: str


def _error(code: str, meaning: str, fix: str) -> Code:
    return Code(code, Severity.ERROR, meaning, fix)


def _warning(code: str, meaning: str, fix: str) -> Code:
    return Code(code, Severity.WARNING, meaning, fix)


def _note(code: str, meaning: str, fix: str) -> Code:
    return Code(code, Severity.INFO, meaning, fix)


_TABLE = (
    _error(
        "FILE_TOO_LARGE",
        "The file is larger than `skills.limits.maxSkillFileBytes`.",
        "Move detail into files under references/, or raise the limit.",
    ),
    _error("INVALID_UTF8", "The file is not UTF-8 text.", "Save the file as UTF-8."),
    _error(
        "NUL_BYTE",
        "The file holds a NUL byte, so it is binary or UTF-16.",
        "Save the file as UTF-8 text.",
    ),
    _error(
        "FRONTMATTER_MISSING",
        "The file does not begin with a frontmatter block.",
        "Begin with a line of three dashes, then name and description, then three dashes.",
    ),
    _error(
        "UNTERMINATED_FRONTMATTER",
        "The frontmatter block never ends.",
        "Add a line of three dashes after the last key.",
    ),
    _error(
        "INVALID_ROOT",
        "The frontmatter is not a map of keys to values.",
        "Write one `key: value` per line.",
    ),
    _error("DUPLICATE_KEY", "A key occurs twice in the same map.", "Keep one of the two."),
    _error(
        "BAD_INDENT",
        "The indentation of the frontmatter does not fit.",
        "Indent nested keys by spaces, all of one map by the same number.",
    ),
    _error(
        "ALIAS_FORBIDDEN",
        "The frontmatter uses a YAML alias.",
        "Write the value out where the alias stands.",
    ),
    _error(
        "CUSTOM_TAG",
        "The frontmatter uses a YAML tag that is not part of plain YAML.",
        "Remove the tag and quote the value if it must stay text.",
    ),
    _error("TOO_DEEP", "The frontmatter is nested too deeply.", "Flatten the value."),
    _error(
        "YAML_EXCEPTION",
        "The frontmatter is not valid YAML.",
        "Quote values that contain `: `, `#`, quotes or brackets.",
    ),
    _warning(
        "COLON_RESCUED",
        "A value with an unquoted colon was read as text.",
        "Put the value in quotes (`prowess validate --fix` does it).",
    ),
    _warning(
        "LINES_READ",
        "The frontmatter is broken; its simple lines were read one by one.",
        "Repair the YAML: other modes reject the file.",
    ),
    _error(
        "METADATA_UNREADABLE",
        "Metadata is present but cannot be read, so the skill stays closed.",
        "Write metadata as a YAML map or as one JSON object.",
    ),
    _warning(
        "METADATA_ALIAS",
        "A key of the metadata that is not read, so nothing in it has an effect.",
        "The namespace is `openclaw`; its kinds are bins, anyBins, env, config and os.",
    ),
    _warning(
        "INSTALL_ENTRY_INVALID",
        "An install entry was dropped because a value in it is not safe or missing.",
        "Correct it: brew needs a formula or cask, node and uv a package, go a module.",
    ),
    _warning(
        "SIDECAR_UNREADABLE",
        "`agents/openai.yaml` cannot be read, so the model may not call the skill.",
        "Repair the file or remove it.",
    ),
    _error("NAME_MISSING", "The frontmatter has no name.", "Add `name:` with the folder's name."),
    _error(
        "DESCRIPTION_MISSING",
        "The frontmatter has no description, or it is blank.",
        "Add `description:` saying what the skill does and when to use it.",
    ),
    _error(
        "SKILL_FILENAME_INVALID",
        "The file is not called SKILL.md.",
        "Move it to a folder of its own, as SKILL.md.",
    ),
    _error(
        "SKILL_DIR_INVALID",
        "The folder's name is not lower-case letters, digits and hyphens.",
        "Rename the folder (`prowess validate --fix` does it).",
    ),
    _error(
        "NAME_INVALID",
        "The name breaks the naming rule of the standard.",
        "Use 1 to 64 lower-case letters, digits and single inner hyphens.",
    ),
    _error(
        "NAME_PATH_MISMATCH",
        "The name differs from the folder's.",
        "Give both the same name (`prowess validate --fix` does it).",
    ),
    _warning(
        "FLAG_UNCLEAR",
        "A switch that is neither yes nor no, or is there twice; a guess was made.",
        "Write true or false, once.",
    ),
    _error(
        "DESCRIPTION_TOO_LONG",
        "The description is longer than 1,024 characters.",
        "Shorten it; detail belongs into the body.",
    ),
    _error(
        "COMPATIBILITY_INVALID",
        "`compatibility` is not text of 1 to 500 characters.",
        "Shorten it, or remove the key.",
    ),
    _error(
        "METADATA_NOT_FLAT",
        "`metadata` is not a map of strings to strings.",
        "JSON-encode nested values, or keep them if only OpenClaw reads the skill.",
    ),
    _error(
        "ALLOWED_TOOLS_INVALID",
        "`allowed-tools` is not one string separated by spaces.",
        "Join the tools by spaces.",
    ),
    _error(
        "UNKNOWN_KEY",
        "A top-level key outside the six of the standard.",
        "Move it under `metadata`.",
    ),
    _warning(
        "BODY_EMPTY",
        "The skill has no instructions below its frontmatter.",
        "Write the steps that the agent should follow.",
    ),
    _warning(
        "BODY_TOO_LONG",
        "The file is longer than 500 lines.",
        "Move detail into references/ and link it.",
    ),
    _warning(
        "WHEN_MISSING",
        "The description does not say when to use the skill.",
        "Add a sentence that begins with `Use when`.",
    ),
    _warning(
        "LINK_BROKEN",
        "A relative link leads to no file of the skill.",
        "Correct the path or add the file.",
    ),
    _warning(
        "LINK_ESCAPES",
        "A relative link leaves the skill's folder.",
        "Link only files inside the skill.",
    ),
    _note(
        "PORTABILITY",
        "A harness ignores, cuts or refuses this.",
        "Read the note before sharing the skill.",
    ),
    _error(
        "symlink-escape",
        "A link leads out of the folder it stands in.",
        "Copy the skill into the folder, or add the target to skills.load.allowSymlinkTargets.",
    ),
    _error(
        "bundled-symlink-escape",
        "A link in the bundled skills leads out of them.",
        "The installation was probably modified: install Prowess again.",
    ),
    _error(
        "path-escape",
        "A path leaves the folder it must stay in.",
        "Keep skill paths inside their plugin.",
    ),
    _error(
        "hard-link",
        "The skill file has other hard links, so it can change from elsewhere.",
        "Replace the file by a copy of itself.",
    ),
    _error("not-a-file", "SKILL.md is not a regular file.", "Replace it by a text file."),
    _error(
        "unreadable",
        "The system refuses to read a file or folder.",
        "Check its permissions and its disk.",
    ),
    _warning(
        "candidates-truncated",
        "A root holds more folders than are looked at.",
        "Raise skills.limits.maxCandidatesPerRoot, or split the root.",
    ),
    _warning(
        "skills-truncated",
        "A root holds more skills than are loaded.",
        "Raise skills.limits.maxSkillsLoadedPerSource.",
    ),
    _warning(
        "entries-truncated",
        "A folder holds more entries than are read.",
        "Move files that are not skills out of the root.",
    ),
    _note(
        "shadowed",
        "A skill lost its name to one from a higher source.",
        "Rename one of the two, or remove the one that is not wanted.",
    ),
    _warning(
        "key-taken",
        "A skill asks for a skillKey that belongs to another skill, and gets nothing by it.",
        "Give it another skillKey, or remove the one of the two that is not wanted.",
    ),
    _warning(
        "root-linked",
        "A project's root is a link out of the project, so only its SKILL.md folders are read.",
        "Add the target to skills.load.allowSymlinkTargets if you trust it.",
    ),
    _warning(
        "root-missing",
        "A configured folder does not exist.",
        "Create it or remove it from the config.",
    ),
    _warning(
        "plugin-invalid",
        "A plugin's manifest cannot be used.",
        "Repair the manifest or remove the plugin from plugins.load.paths.",
    ),
)

CODES = {row.code: row for row in _TABLE}


def diagnose(
    code: str,
    message: str,
    *,
    path: str = "",
    line: int | None = None,
) -> Diagnostic:
    """Make the diagnostic `code`, whose severity and fix come from the table."""
    row = CODES[code]
    return Diagnostic(
        code=code,
        severity=row.severity,
        message=message,
        path=path,
        line=line,
        fix=row.fix,
    )
