"""Files that start something: agents, editors, launchd, systemd, cron, the registry, git."""

import re
from html import unescape

from prowess.data import load_pattern, load_table
from prowess.reading.views import Spot, View, rewrite
from prowess.safety.facts import Act
from prowess.safety.languages.data.tree import (
    NAMES,
    Collector,
    Entry,
    Found,
    find_place,
    language_of,
    looks_like_command,
    make_line,
    make_spot,
    run,
    set_variables,
    words,
)
from prowess.safety.paths import path_label

_MODEL_KEY = re.compile(
    r"(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_GEMINI|AZURE_OPENAI|OLLAMA|MISTRAL|OPENROUTER)"
    r"_?\w{0,60}(?:BASE_URL|API_BASE|ENDPOINT|HOST|BASE)",
    re.IGNORECASE,
)


def flatten_key(key: str) -> str:
    """Return a key without case, dots, dashes and underscores."""
    return re.sub(r"[._\s-]", "", key).lower()


def read_agents(collector: Collector, root: Entry) -> None:
    """Note servers, hooks, grants and variables, wherever in a file they stand."""
    is_agent_file = (
        load_pattern(NAMES, "patterns", "agent_files").search(collector.view.path) is not None
    )
    for found in root.walk():
        keys, entry = found
        key = keys[-1] if keys else ""
        if entry.fields is not None:
            _read_map(collector, found)
        if flatten_key(key) in words("environment_keys") or key.startswith(
            "terminal.integrated.env."
        ):
            set_variables(collector, entry)
        elif _MODEL_KEY.fullmatch(key) and entry.scalar is not None:
            collector.emit(Act.SETENV, find_place(entry), key, entry.text)
        _read_switch(collector, found)
        if entry.scalar is not None and key in words("hook_commands"):
            _read_hook(collector, found, is_agent_file=is_agent_file)
        elif flatten_key(key) in words("folder_commands") and entry.spot is None:
            run(collector, entry, "folder-open")


def _read_map(collector: Collector, found: Found) -> None:
    keys, entry = found
    key = keys[-1].lower() if keys else ""
    if key in words("servers") or (key == "servers" and _is_servers(entry)):
        for _name, server in entry.pairs():
            _read_server(collector, server)
    elif flatten_key(key) in words("folder_commands"):
        run(collector, entry, "folder-open")
    elif not _is_in_servers(keys) and entry.get("command").scalar and entry.get("args").scalars():
        _read_started(collector, entry)
    if entry.get("runOptions", "runOn").text == "folderOpen":
        line = Entry(items=[*entry.get("command").scalars(), *entry.get("args").scalars()])
        run(collector, line, "folder-open")


def _is_in_servers(keys: tuple[str, ...]) -> bool:
    return len(keys) > 1 and (keys[-2].lower() in words("servers") or keys[-2].lower() == "servers")


def _read_started(collector: Collector, entry: Entry) -> None:
    """Note a program with arguments; in a file about servers it is one."""
    if "mcp" in collector.view.path.lower():
        _read_server(collector, entry)
        return
    line = make_line([*entry.get("command").scalars(), *entry.get("args").scalars()])
    if line is not None:
        collector.command(line, language_of(line.text))


def _is_servers(entry: Entry) -> bool:
    return any(
        inner.get("command").scalar or inner.get("url").scalar for _name, inner in entry.pairs()
    )


def _read_server(collector: Collector, server: Entry) -> None:
    command, args = server.get("command"), server.get("args")
    parts = [*command.scalars(), *args.scalars()]
    line = make_line(parts) if command.scalars() else None
    if line is not None:
        collector.emit(Act.EXEC, find_place(parts[0]), "mcp-server", line.text)
        collector.command(line, language_of(line.text))
    for key in ("url", "serverUrl", "httpUrl", "endpoint"):
        url = server.get(key)
        if url.scalar is not None:
            collector.emit(Act.FETCH, make_spot(url.scalar), url.text)
    if server.get("trust").on:
        collector.emit(Act.DISABLE, find_place(server.get("trust")), "agent-approval", "trust")


def _read_hook(collector: Collector, found: Found, *, is_agent_file: bool) -> None:
    keys, entry = found
    if entry.scalar is None or "hooks" not in keys:
        return
    known = any(flatten_key(key) in words("events") for key in keys)
    if known or is_agent_file:
        collector.emit(Act.EXEC, make_spot(entry.scalar), "agent-hook", entry.text)
        collector.command(entry.scalar, language_of(entry.text))


def _read_switch(collector: Collector, found: Found) -> None:
    keys, entry = found
    key = flatten_key(keys[-1]) if keys else ""
    if key in words("switches"):
        granted = [item.text for item in entry.items or () if item.text]
        if entry.on or granted:
            collector.emit(
                Act.DISABLE, find_place(entry), "agent-approval", ",".join(granted) or keys[-1]
            )
    elif entry.text and entry.text.lower() in load_table(NAMES, "modes").get(key, "").split():
        collector.emit(Act.DISABLE, find_place(entry), "agent-approval", entry.text)
    elif key == "taskallowautomatictasks" and entry.on:
        collector.emit(Act.DISABLE, find_place(entry), "task-approval", entry.text)
    elif key in words("grants") and entry.scalar is not None:
        _read_grant(collector, keys, entry)
    elif key == "ask" and entry.text == "off" and "exec" in keys:
        collector.emit(Act.DISABLE, find_place(entry), "agent-approval", "exec.ask=off")


def _compile_wide_grants() -> re.Pattern[str]:
    return load_pattern(NAMES, "patterns", "wide_grants", flags=re.IGNORECASE)


def _read_grant(collector: Collector, keys: tuple[str, ...], entry: Entry) -> None:
    permissions = flatten_key(keys[-1]) != "allow" or "permissions" in keys or "tools" in keys
    if permissions and _compile_wide_grants().fullmatch(entry.text.strip()):
        collector.emit(Act.DISABLE, find_place(entry), "agent-approval", entry.text)


_TAG = re.compile(
    r"<!--(?:[^-]|-(?!->))*(?:-->)?|<!\[CDATA\[(?:[^\]]|\](?!\]>))*(?:\]\]>)?|<[^<>]{0,2000}>"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);")
_ENTITY_FILE = re.compile(
    r"<!ENTITY\s{1,20}(?:%\s{1,20})?[\w.-]{1,80}\s{1,20}SYSTEM\s{1,20}[\"']([^\"']{1,300})[\"']"
)
_ATTRIBUTE = re.compile(
    r"(?:[Cc]ommand|[Ee]xecutable|[Aa]rguments|onload|onerror)\s*=\s*(\"[^\"]{4,4000}\"|'[^']{4,4000}')"
)
_CRON = re.compile(
    r"^[ \t]*(?:@(?:reboot|hourly|daily|weekly|monthly|yearly|annually|midnight)"
    r"|(?:[\d*,/-]{1,40}|[A-Za-z]{3}(?:-[A-Za-z]{3})?)"
    r"(?:[ \t]+(?:[\d*,/-]{1,40}|[A-Za-z]{3}(?:-[A-Za-z]{3})?)){4})"
    r"[ \t]+(?=[^\s\d*])([^\n]+)$",
    re.MULTILINE,
)
_CRON_USER = re.compile(
    r"(?:root|www-data|nobody|daemon|[a-z_][a-z0-9_-]{1,30})[ \t]+(?=[/.~$\w\[])"
)
_REG_SECTION = re.compile(r"^\[(-?HK[^\]\n]{1,400})\]", re.MULTILINE)
_REG_VALUE = re.compile(r"^(?:\"[^\"\n]{0,200}\"|@)=\"((?:[^\"\\\n]|\\.)*)\"", re.MULTILINE)
_RUN_KEY = re.compile(
    r"\\(?:Run|RunOnce|RunServices|Winlogon|Policies\\Explorer\\Run)$", re.IGNORECASE
)


def read_xml(collector: Collector, view: View) -> None:
    """Note what an XML file holds: property lists, entities that name files, commands."""
    for match in _ENTITY_FILE.finditer(view.text):
        spot = Spot(view, match.start(), match.end())
        if match[1].startswith(("http:", "https:")):
            collector.emit(Act.FETCH, spot, match[1])
        else:
            path = match[1].removeprefix("file://")
            collector.emit(Act.READ, spot, path_label(path) or f"file:{path}", path)
    elements = _elements(view)
    if "<plist" in view.text or "<dict>" in view.text:
        _read_plist(collector, elements)
    for name, text in elements:
        if name == "comment" or not name.startswith("/"):
            if looks_like_command(text.text):
                collector.command(text)
            collector.prose(text)
    for match in _ATTRIBUTE.finditer(view.text):
        collector.command(_decode(view.cut(match.start(1) + 1, match.end(1) - 1)))
    _read_scheduled(collector, elements)


def _decode(view: View) -> View:
    if "&" not in view.text:
        return view
    return rewrite(view, _ENTITY, lambda match: unescape(match[0]))


def _elements(view: View) -> list[tuple[str, View]]:
    """Return tags in order, each with the text behind it; entities of the file are not expanded."""
    found: list[tuple[str, View]] = []
    previous: re.Match[str] | None = None
    for match in _TAG.finditer(view.text):
        if previous is not None:
            found.append((_tag_name(previous[0]), _decode(view.cut(previous.end(), match.start()))))
        for mark, kind in (("<!--", "comment"), ("<![CDATA[", "cdata")):
            if match[0].startswith(mark):
                start = match.start() + len(mark)
                found.append((kind, view.cut(start, max(match.end() - 3, start))))
        previous = match
    if previous is not None:
        found.append((_tag_name(previous[0]), view.cut(previous.end(), len(view.text))))
    return found


def _tag_name(tag: str) -> str:
    if tag.startswith(("<!", "<?")):
        return "/"
    inner = tag[1:-1].strip()
    return (
        (inner.split(None, 1) or [""])[0]
        if not inner.endswith("/")
        else inner.rstrip("/").strip() + "/"
    )


def _read_plist(collector: Collector, elements: list[tuple[str, View]]) -> None:
    values: dict[str, list[Entry]] = {}
    pairs: dict[str, Entry] = {}
    key = ""
    block = ""
    for name, text in elements:
        if name == "key":
            key = text.text.strip()
            values.setdefault(key, [])
        elif name in {"dict", "array"}:
            block = key
        elif name in {"string", "integer", "true/", "real"} and key:
            entry = Entry(scalar=text if name == "string" else text.cut(0, 0))
            values[key].append(entry)
            if block == "EnvironmentVariables" and key != block:
                pairs[key] = entry
    parts = [*values.get("ProgramArguments", ())] or [*values.get("Program", ())]
    line = make_line(parts)
    if line is None:
        return
    if words("launchd_starts") & values.keys() or "Label" in values:
        collector.emit(Act.PERSIST, find_place(parts[0]), "launchd", line.text)
    collector.command(line)
    set_variables(collector, Entry(fields=pairs))


def _read_scheduled(collector: Collector, elements: list[tuple[str, View]]) -> None:
    """Note a task of Windows' scheduler: `<Exec><Command>…</Command><Arguments>…`."""
    names = {name for name, _text in elements}
    if (
        "Exec" not in names
        or "Command" not in names
        or not names & {"Triggers", "Triggers/", "Actions", "Task"}
    ):
        return
    parts = [Entry(scalar=text) for name, text in elements if name in {"Command", "Arguments"}]
    line = make_line(parts[:1])
    if line is not None:
        arguments = parts[1].text if len(parts) > 1 else ""
        collector.emit(
            Act.PERSIST, find_place(parts[0]), "scheduled-task", f"{line.text} {arguments}".strip()
        )
        for part in parts:
            if part.scalar is not None:
                collector.command(part.scalar, "powershell")


def read_unit(collector: Collector, root: Entry) -> None:
    """Note what a systemd unit starts."""
    for section in ("Service", "Socket", "Mount", "Path", "Timer"):
        for key, value in root.get(section).pairs():
            for item in value.scalars():
                if key.startswith("exec") and item.scalar is not None:
                    command = item.scalar.cut(
                        len(item.text) - len(item.text.lstrip("@-:+!")), len(item.text)
                    )
                    if key.startswith("execstart"):
                        collector.emit(Act.PERSIST, find_place(item), "systemd", command.text)
                    collector.command(command)
                elif key == "environment":
                    name, _equals, text = item.text.strip("\"'").partition("=")
                    collector.emit(Act.SETENV, find_place(item), name, text)


def read_crontab(collector: Collector, view: View) -> None:
    """Note the lines of a crontab."""
    system = re.search(r"(?:^|/)cron\.d/|etc/crontab$", view.path) is not None
    for match in _CRON.finditer(view.text):
        command = view.cut(match.start(1), match.end(1))
        user = _CRON_USER.match(command.text) if system else None
        if user is not None:
            command = command.cut(user.end(), len(command.text))
        collector.start("cron", command)


def is_crontab(text: str) -> bool:
    """Whether every line of a text is a schedule with a command, a variable or a comment."""
    lines = [
        line for line in text.split("\n", 200)[:200] if line.strip() and line.lstrip()[0] != "#"
    ]
    jobs = sum(_CRON.match(line) is not None for line in lines)
    return jobs > 0 and all(_CRON.match(line) or re.match(r"\w+=", line) for line in lines)


def read_desktop(collector: Collector, root: Entry) -> None:
    """Note what a desktop entry starts, at login or when it is opened."""
    entry = root.get("Desktop Entry")
    automatic = (
        "autostart" in collector.view.path or entry.get("x-gnome-autostart-enabled").scalars()
    )
    for item in entry.get("exec").scalars():
        if automatic:
            collector.emit(Act.PERSIST, find_place(item), "autostart", item.text)
        if item.scalar is not None:
            collector.command(item.scalar)


def read_registry(collector: Collector, view: View) -> None:
    """Note values of a registry file that run at login."""
    sections = [(match.start(), match[1]) for match in _REG_SECTION.finditer(view.text)]
    for number, (start, name) in enumerate(sections):
        end = sections[number + 1][0] if number + 1 < len(sections) else len(view.text)
        if "Windows Defender" in name and "dword:00000001" in view.text[start:end]:
            collector.emit(Act.DISABLE, Spot(view, start, start + len(name) + 2), "defender", name)
        if not _RUN_KEY.search(name):
            continue
        for match in _REG_VALUE.finditer(view.text, start, end):
            command = view.cut(match.start(1), match.end(1))
            text = command.text.replace('\\"', '"').replace("\\\\", "\\")
            collector.start("registry-run", command, text, "powershell")


def read_git_settings(collector: Collector, root: Entry) -> None:
    """Note settings of git that run commands or send clones elsewhere."""
    for section, values in root.pairs():
        for key, value in values.pairs():
            for item in value.scalars():
                _read_git(collector, section.lower(), key, item)


def _read_git(collector: Collector, section: str, key: str, item: Entry) -> None:
    runs = key in words("git_commands")
    shell = section == "alias" and item.text.startswith("!")
    helper = (
        section.startswith("credential") and key == "helper" and item.text.startswith(("!", "/"))
    )
    if runs or shell or helper:
        collector.emit(Act.PERSIST, find_place(item), "git-hook", item.text)
        run(
            collector,
            Entry(
                scalar=item.scalar.cut(1, len(item.text)) if shell and item.scalar else item.scalar
            ),
            "git",
        )
    elif key == "insteadof" and section.startswith("url"):
        address = section.partition('"')[2].rstrip('"')
        collector.emit(Act.REGISTRY, find_place(item), "git", address)
    elif key == "sslverify" and item.text.lower() == "false":
        collector.emit(Act.DISABLE, find_place(item), "tls")
