"""Where other harnesses keep skills, commands and rules: one table, for people and for projects."""

from typing import NamedTuple

from prowess.skills.model import RootKind


class HarnessFolder(NamedTuple):
    """One folder of one harness, relative to the home folder or to a project."""

    harness: str
    path: str
    kind: RootKind = RootKind.SKILLS


def _skills(*rows: tuple[str, str]) -> tuple[HarnessFolder, ...]:
    return tuple(HarnessFolder(harness=harness, path=path) for harness, path in rows)


# `.agents/skills` is nobody's and everybody's: it is a source of its own and not listed here.
PERSONAL = (
    *_skills(
        ("claude", ".claude/skills"),
        ("codex", ".codex/skills"),
        ("cursor", ".cursor/skills"),
        ("gemini", ".gemini/skills"),
        ("antigravity", ".gemini/antigravity/skills"),
        ("antigravity", ".gemini/antigravity-cli/skills"),
        ("copilot", ".copilot/skills"),
        ("opencode", ".config/opencode/skills"),
        ("openclaw", ".openclaw/skills"),
        ("hermes", ".hermes/skills"),
        ("amp", ".config/agents/skills"),
        ("goose", ".config/goose/skills"),
        ("windsurf", ".codeium/windsurf/skills"),
        ("roo", ".roo/skills"),
        ("kilo", ".kilo/skills"),
        ("continue", ".continue/skills"),
        ("augment", ".augment/skills"),
        ("crush", ".config/crush/skills"),
        ("factory", ".factory/skills"),
        ("junie", ".junie/skills"),
        ("kiro", ".kiro/skills"),
        ("trae", ".trae/skills"),
        ("qwen", ".qwen/skills"),
        ("qoder", ".qoder/skills"),
        ("openhands", ".openhands/skills"),
        ("pi", ".pi/agent/skills"),
        ("deepagents", ".deepagents/agent/skills"),
        ("letta", ".letta/skills"),
        ("vibe", ".vibe/skills"),
        ("grok", ".grok/skills"),
        ("devin", ".config/devin/skills"),
        ("tabnine", ".tabnine/agent/skills"),
        ("rovodev", ".rovodev/skills"),
        ("iflow", ".iflow/skills"),
        ("codebuddy", ".codebuddy/skills"),
        ("zencoder", ".zencoder/skills"),
    ),
    HarnessFolder(harness="claude", path=".claude/commands", kind=RootKind.COMMANDS),
)

PROJECT = (
    *_skills(
        ("claude", ".claude/skills"),
        ("codex", ".codex/skills"),
        ("cursor", ".cursor/skills"),
        ("copilot", ".github/skills"),
        ("gemini", ".gemini/skills"),
        ("opencode", ".opencode/skills"),
        ("goose", ".goose/skills"),
        ("windsurf", ".windsurf/skills"),
        ("roo", ".roo/skills"),
        ("continue", ".continue/skills"),
        ("augment", ".augment/skills"),
        ("crush", ".crush/skills"),
        ("junie", ".junie/skills"),
        ("kiro", ".kiro/skills"),
        ("trae", ".trae/skills"),
        ("qwen", ".qwen/skills"),
        ("qoder", ".qoder/skills"),
        ("openhands", ".openhands/skills"),
        ("hermes", ".hermes/skills"),
        ("pi", ".pi/skills"),
        ("deepagents", ".deepagents/skills"),
        ("vibe", ".vibe/skills"),
        ("grok", ".grok/skills"),
        ("devin", ".devin/skills"),
        ("tabnine", ".tabnine/agent/skills"),
        ("rovodev", ".rovodev/skills"),
        ("iflow", ".iflow/skills"),
        ("codebuddy", ".codebuddy/skills"),
        ("zencoder", ".zencoder/skills"),
    ),
    HarnessFolder(harness="claude", path=".claude/commands", kind=RootKind.COMMANDS),
    HarnessFolder(harness="cursor", path=".cursor/rules", kind=RootKind.RULES),
)

ALIASES = {
    "claude-code": "claude",
    "copilot-cli": "copilot",
    "gemini-cli": "gemini",
    "github": "copilot",
    "vscode": "copilot",
}
NAMES = tuple(sorted({folder.harness for folder in (*PERSONAL, *PROJECT)}))
