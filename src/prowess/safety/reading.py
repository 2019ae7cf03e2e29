"""Which language a text is in, and the readings of a piece of code: one reader, or each that fits.

A file says its language by its first line or its name, a fence by the word behind it; a code span
says nothing, so every reader for which it has a mark has a look.
"""

import re
from collections.abc import Iterator

from prowess.safety.facts import Reading, Snippet
from prowess.safety.languages.data.formats import is_data, read_data
from prowess.safety.languages.javascript.javascript_facts import read_javascript
from prowess.safety.languages.powershell import read_powershell, read_script
from prowess.safety.languages.python.python_facts import read_python
from prowess.safety.languages.shell.shell_facts import looks_like_shell, read_shell

_ENDINGS = {
    "markdown": (".md", ".mdx", ".markdown", ".mdc", ".rst"),
    "shell": (".sh", ".bash", ".zsh", ".ksh", ".fish", ".command", ".envrc"),
    "python": (".py", ".pyw", ".pyi", ".pth"),
    "javascript": (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"),
    "powershell": (".ps1", ".psm1", ".bat", ".cmd"),
    "other": (".rb", ".pl", ".pm", ".php", ".lua", ".applescript", ".scpt", ".jxa"),
}
_BY_ENDING = {ending: language for language, endings in _ENDINGS.items() for ending in endings}
_SHEBANG = re.compile(
    r"\A#![^\n]*?\b(bash|zsh|sh|dash|ksh|fish|python[\d.]*|node|deno|bun|perl|ruby|php|pwsh"
    r"|osascript)\b"
)
_BY_INTERPRETER = {
    "python": "python",
    "node": "javascript",
    "deno": "javascript",
    "bun": "javascript",
    "pwsh": "powershell",
    **dict.fromkeys(("perl", "ruby", "php", "osascript"), "other"),
}
_FENCES = {
    "shell": (
        "bash",
        "sh",
        "shell",
        "zsh",
        "console",
        "shell-session",
        "terminal",
        "shellscript",
        "fish",
        "dockerfile-run",
    ),
    "python": ("python", "py", "python3", "ipython", "pycon"),
    "javascript": ("javascript", "js", "jsx", "ts", "typescript", "tsx", "mjs", "node"),
    "powershell": ("powershell", "ps1", "pwsh", "cmd", "bat", "batch", "dos"),
    "other": ("perl", "ruby", "php", "lua", "applescript", "rb", "osascript"),
    "data": (
        "json",
        "jsonc",
        "json5",
        "yaml",
        "yml",
        "toml",
        "ini",
        "xml",
        "plist",
        "dockerfile",
        "makefile",
        "env",
        "cron",
        "crontab",
    ),
    # Anything may stand there: it is guessed at.
    "": ("", "text", "txt", "plaintext", "md", "markdown"),
}
_BY_FENCE = {name: language for language, names in _FENCES.items() for name in names}
_WINDOWS = re.compile(
    r"\b(?:iwr|irm|iex|invoke-\w+|powershell|pwsh|certutil|mshta|[as]et-mppreference"
    r"|add-mppreference|reg\s+add|schtasks|sc\s+create|net\s+user|rundll32|regsvr32|bitsadmin"
    r"|\$env:|start-process|new-object)\b",
    re.IGNORECASE,
)
_PYTHON = re.compile(
    # Blanks within the line only: empty lines by the thousand must cost no more than once.
    r"^[^\S\n]*(?:import \w|from \w+ import|def \w+\(|exec\(|eval\(|os\.system|__import__)",
    re.MULTILINE,
)
_SCRIPT = re.compile(
    r"\b(?:require\(|const |let |function\s*\(|=>|document\.|process\.env|eval\(|module\.exports)"
)


def language_of(path: str, text: str) -> str:
    """Return which reader a file of the skill is for: by what it says first, then by its name."""
    if found := _SHEBANG.match(text):
        return _BY_INTERPRETER.get(found.group(1).rstrip("0123456789."), "shell")
    name = path.rpartition("/")[2].lower()
    ending = f".{name.rpartition('.')[2]}" if "." in name else ""
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    return "data" if is_data(path, text) else "text"


def fence_language(info: str) -> str:
    """Return the language of a fenced block from what stands behind the fence."""
    if info.startswith("!"):
        return "shell"
    words = info.lstrip("{.").split(maxsplit=1)
    name = words[0].strip("}").lower() if words else ""
    # A named language that has no reader (C, SQL, Rust) is not guessed at.
    return _BY_FENCE.get(name, "none")


def is_code(text: str) -> bool:
    """Whether `text` has a mark of Python, JavaScript or PowerShell."""
    return bool(_PYTHON.search(text) or _SCRIPT.search(text) or _WINDOWS.search(text))


def readings(snippet: Snippet) -> Iterator[Reading]:
    """Yield what is read from a piece of code in its language, or in each that it may be."""
    text, language = snippet.view.text, snippet.language
    guessed = language or _guess(snippet)
    if guessed != "none" and (reading := _read(guessed, snippet)):
        yield reading
    if not language and _SCRIPT.search(text):
        yield read_javascript(snippet.view, snippet.flow)
    if language in {"", "shell"} and _WINDOWS.search(text):
        yield read_powershell(snippet.view)


def _guess(snippet: Snippet) -> str:
    view = snippet.view
    if _PYTHON.search(view.text):
        return "python"
    # What was decoded from a data file need not be one.
    is_file = view.path.endswith((".json", ".yaml", ".yml")) and not view.chain
    if is_data(view.path if is_file else "", view.text):
        return "data"
    return "shell" if looks_like_shell(view.text) else "none"


def _read(language: str, snippet: Snippet) -> Reading | None:
    match language:
        case "python":
            return read_python(snippet.view, snippet.flow)
        case "javascript":
            return read_javascript(snippet.view, snippet.flow)
        case "powershell":
            return read_powershell(snippet.view)
        case "other":
            return read_script(snippet.view)
        case "data":
            return read_data(snippet.view)
    is_shell = language == "shell" or looks_like_shell(snippet.view.text)
    return read_shell(snippet.view, snippet.flow) if is_shell else None


def language_run_by(interpreter: str) -> str:
    """Return the language of a file that this program runs."""
    name = interpreter.rpartition("/")[2].rstrip("0123456789.")
    return _RUN_BY.get(name, "shell")


_RUN_BY = {
    "python": "python",
    "pypy": "python",
    "node": "javascript",
    "deno": "javascript",
    "bun": "javascript",
    "perl": "other",
    "ruby": "other",
    "php": "other",
    "lua": "other",
    "osascript": "other",
    "pwsh": "powershell",
    "powershell": "powershell",
}
