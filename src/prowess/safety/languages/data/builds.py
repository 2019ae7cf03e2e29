"""What machines run when code arrives: workflows, containers, make files, packages."""

import re
from functools import cache

from prowess.data import load_pattern, load_table
from prowess.reading.views import Spot, View, rewrite
from prowess.safety.facts import Act
from prowess.safety.languages.data.tree import (
    NAMES,
    Collector,
    Entry,
    JsonReader,
    find_place,
    find_url,
    language_of,
    make_line,
    make_spot,
    run,
    set_variables,
    words,
)

_UNTRUSTED = re.compile(
    r"\$\{\{[^}]{0,200}?(?:github\.event\.(?:issue|pull_request|comment|review|review_comment|discussion|head_commit"
    r"|commits|pages|workflow_run|inputs|client_payload)[\w.*\[\]']{0,80}?\.?(?:title|body|message|name|email|ref|label"
    r"|head_branch|default_branch|page_name|login)|github\.head_ref)[^}]{0,100}\}\}"
)
_HEAD = re.compile(
    r"github\.event\.pull_request\.head\.|github\.head_ref|refs/pull/\$\{\{|workflow_run\.head_"
)
_SECRET = re.compile(r"\$\{\{\s*secrets\.(\w{1,100})|\$\{\{\s*secrets\[")
_ALL_SECRETS = re.compile(r"\$\{\{\s*to[Jj][Ss][Oo][Nn]\(\s*secrets\s*\)")
_HOLDS_SECRET = re.compile(
    r"\b(\w{1,80})=[\"']?\$\{\{\s*(?:secrets[.\[]|to[Jj][Ss][Oo][Nn]\(\s*secrets)"
)
_SENDER = re.compile(
    r"\b(?:curl|wget|nc|ncat|nslookup|dig|http|https|Invoke-WebRequest|Invoke-RestMethod|irm|iwr|requests\.(?:post|put|get)"
    r"|urlopen|fetch)\b"
)
_INSTRUCTION = re.compile(r"[ \t]*(?:ONBUILD[ \t]+)?([A-Za-z]+)[ \t]+")
_HEREDOC = re.compile(r"<<-?[\"']?(\w{1,40})[\"']?")
_FLAGS = re.compile(r"(?:--[\w-]+(?:=\S+)?[ \t]+)+")
_PAIR = re.compile(r"(\w{1,100})=(\"[^\"\n]*\"|'[^'\n]*'|\S*)")


def read_workflow(collector: Collector, root: Entry) -> None:
    """Note the steps of a GitHub workflow, and whose words they run."""
    trigger = root.get("on")
    names = {item.text for item in trigger.scalars()} | {name for name, _value in trigger.pairs()}
    outside = bool(names & {"pull_request_target", "workflow_run", "issue_comment"})
    for _name, job in root.get("jobs").pairs():
        steps = job.get("steps").items or []
        runs = [step for step in steps if step.get("run").scalar is not None]
        for step in steps:
            given = step.get("with")
            refs = (*given.get("ref").scalars(), *given.get("repository").scalars())
            head = next((item for item in refs if _HEAD.search(item.text)), None)
            if outside and runs and head is not None:
                collector.emit(Act.EXEC, find_place(head), "ci-injection", head.text, "input")
        for step in runs:
            environments = (root.get("env"), job.get("env"), step.get("env"))
            _read_step(collector, step, environments)


def _read_step(collector: Collector, step: Entry, environments: tuple[Entry, ...]) -> None:
    script = step.get("run").scalar
    if script is None:
        return
    shell = step.get("shell").text
    is_windows = shell in {"pwsh", "powershell"}
    language = "powershell" if is_windows else "python" if shell[:6] == "python" else "shell"
    collector.command(script, language)
    for match in _UNTRUSTED.finditer(script.text):
        spot = Spot(script, match.start(), match.end())
        collector.emit(Act.EXEC, spot, "ci-injection", match[0], "input")
    holders = dict.fromkeys(
        (match[1] for match in _HOLDS_SECRET.finditer(script.text)), script.text
    )
    for environment in environments:
        holders.update(
            {name: value.text for name, value in environment.pairs() if "secrets" in value.text}
        )
    holders = dict(list(holders.items())[:_MAX_HOLDERS])
    for start, end in _split_logical(script.text):
        _read_sending(collector, script.cut(start, end), holders)


def _split_logical(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start = at = 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        if not line.rstrip("\r\n").endswith("\\"):
            spans.append((start, at))
            start = at
    return [*spans, (start, at)] if at > start else spans


def _read_sending(collector: Collector, line: View, holders: dict[str, str]) -> None:
    if not _SENDER.search(line.text):
        return
    used = [
        text
        for name, text in holders.items()
        if re.search(rf"\$\{{?{re.escape(name)}\b", line.text)
    ]
    flow: set[str] = set()
    for text in (line.text, *used):
        if _ALL_SECRETS.search(text):
            flow.add("env")
        for match in _SECRET.finditer(text):
            flow.update(("env:SECRETS", f"env:{match[1]}") if match[1] else ("env:SECRETS",))
    if flow:
        collector.emit(Act.SEND, make_spot(line), find_url(line.text), "http", *sorted(flow))


def read_containers(collector: Collector, root: Entry) -> None:
    """Note containers that are given the host, in compose files and cluster manifests."""
    for keys, entry in root.walk():
        key = keys[-1] if keys else ""
        if entry.scalar is None:
            continue
        text = entry.text
        host = key in {"pid", "ipc", "userns_mode"} and text == "host"
        if (key in {"privileged", "hostPID", "hostIPC"} and entry.on) or host:
            collector.emit(
                Act.PRIVILEGE, make_spot(entry.scalar), "privileged-container", f"{key}: {text}"
            )
        elif _mounts_host(keys, text):
            collector.emit(Act.PRIVILEGE, make_spot(entry.scalar), "privileged-container", text)
        elif key in {"cap_add", "add"} and text.upper().removeprefix("CAP_") in words(
            "capabilities"
        ):
            collector.emit(Act.PRIVILEGE, make_spot(entry.scalar), "capability", text)


_MAX_HOLDERS = 50
_MAX_MOUNT = 300


def _mounts_host(keys: tuple[str, ...], text: str) -> bool:
    if not words("mount_keys") & set(keys[-3:]) or len(text) > _MAX_MOUNT:
        return False
    source = text.split(":", 1)[0].strip()
    host_path = keys[-2:] == ("hostPath", "path")
    return "docker.sock" in text or (
        source == "/" and (":" in text or host_path or keys[-1] == "source")
    )


def read_compose(collector: Collector, root: Entry) -> None:
    """Note what the services of a compose file run."""
    read_containers(collector, root)
    for _name, service in root.get("services").pairs():
        for key in ("command", "entrypoint"):
            line = make_line(service.get(key).scalars())
            if line is not None:
                collector.command(line)
        set_variables(collector, service.get("environment"))


def read_dockerfile(collector: Collector, view: View) -> None:
    """Note the instructions of a Dockerfile."""
    at, end = 0, len(view.text)
    missing: set[str] = set()
    while at < end:
        stop = _instruction_end(view.text, at, missing)
        match = _INSTRUCTION.match(view.text, at, stop)
        if match is not None:
            _read_instruction(collector, match[1].upper(), view.cut(match.end(), stop))
        at = stop + 1


def _instruction_end(text: str, at: int, missing: set[str]) -> int:
    while True:
        stop = text.find("\n", at)
        if stop < 0:
            return len(text)
        line = text[at:stop].rstrip()
        if not line.endswith("\\"):
            break
        at = stop + 1
    heredoc = _HEREDOC.search(line)
    # A word that closes nothing further down is not looked for again.
    if (
        heredoc is not None
        and heredoc[1] not in missing
        and re.match(r"\s*(?:RUN|COPY)\b", line, re.IGNORECASE)
    ):
        closing = re.compile(rf"^[ \t]*{re.escape(heredoc[1])}[ \t]*$", re.MULTILINE).search(
            text, stop
        )
        if closing is not None:
            return closing.end()
        missing.add(heredoc[1])
    return stop


def _read_instruction(collector: Collector, name: str, view: View) -> None:
    text = view.text.strip()
    if name in {"RUN", "CMD", "ENTRYPOINT", "HEALTHCHECK"} and text:
        flags = _FLAGS.match(view.text)
        body = view.cut(flags.end(), len(view.text)) if flags is not None else view
        if name == "HEALTHCHECK":
            body = body.cut(4 if body.text.startswith("CMD ") else 0, len(body.text))
        line: View | None = body
        if body.text.lstrip().startswith("["):
            line = make_line(JsonReader(body).read().scalars())
        if line is not None:
            collector.command(line, language_of(line.text) if name == "RUN" else "shell")
    elif name == "ADD" and find_url(text):
        target = text.split()[-1]
        collector.emit(Act.FETCH, make_spot(view), find_url(text), target)
    elif name == "ENV":
        for match in _PAIR.finditer(view.text):
            spot = Spot(view, match.start(), match.end())
            collector.emit(Act.SETENV, spot, match[1], match[2].strip("\"'"))


_MAKE_VARIABLE = re.compile(r"\$\$|\$\((\w+)\)")
_MAKE_SHELL = re.compile(
    r"\$\(shell[ \t]+([^\n()]*(?:\([^\n()]*\)[^\n()]*){0,8})\)|^\w+[ \t]*!=[ \t]*([^\n]+)",
    re.MULTILINE,
)


def read_makefile(collector: Collector, view: View) -> None:
    """Note the recipes of a make file, each as one script."""
    recipe: list[tuple[int, int]] = []
    at = 0
    for line in view.text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if line.startswith("\t"):
            recipe.append((start + 1 + len(line[1:]) - len(line[1:].lstrip("@-+ \t")), at))
        elif line.strip() and not line.startswith("#") and recipe:
            _note_recipe(collector, view, recipe)
            recipe = []
    _note_recipe(collector, view, recipe)
    for match in _MAKE_SHELL.finditer(view.text):
        group = 1 if match[1] else 2
        collector.command(view.cut(match.start(group), match.end(group)))


def _note_recipe(collector: Collector, view: View, recipe: list[tuple[int, int]]) -> None:
    indices: list[int] = []
    for start, end in recipe:
        indices.extend(range(start, end))
    plain = view.derive("".join(view.text[index] for index in indices), indices)
    collector.command(
        rewrite(plain, _MAKE_VARIABLE, lambda m: "$" if m[0] == "$$" else "${" + m[1] + "}")
    )


def read_tasks(collector: Collector, root: Entry) -> None:
    """Note tasks of an editor; those that start by themselves are noted with the agents."""
    for task in root.get("tasks").items or ():
        line = make_line([*task.get("command").scalars(), *task.get("args").scalars()])
        if line is not None and task.get("runOptions", "runOn").text != "folderOpen":
            collector.command(line)


_INDEX_OPTION = re.compile(
    r"(-i|--index-url|--extra-index-url|-f|--find-links|--trusted-host)[ =\t]+(\S+)"
)
_EDITABLE = re.compile(r"(?:-e|--editable)[ =\t]+")
_REQUIREMENT = re.compile(
    r"(?:(?:git|hg|svn|bzr)\+|https?://|file:|\.{0,2}/)\S+"
    r"|[A-Za-z0-9][\w.-]*(?:\[[\w,. -]*\])?(?:[ \t]*[=<>!~@;][^\n]*)?"
)
_GEM = re.compile(r"^[ \t]*gem[ (]+['\"]([^'\"\n]+)['\"](?:[ ,]+([^\n#]{1,200}))?", re.MULTILINE)
_GEM_SOURCE = re.compile(r"^[ \t]*source[ (]+['\"]([^'\"\n]+)['\"]", re.MULTILINE)


@cache
def _compile_own() -> re.Pattern[str]:
    hosts = load_pattern(NAMES, "patterns", "registries").pattern
    return re.compile(rf"https://(?:[\w.-]+\.)?(?:{hosts})(?:[:/]|$)")


def note_registry(collector: Collector, spot: Spot | None, manager: str, url: str) -> None:
    """Note an index that is not the manager's own, or is asked without encryption."""
    if not _compile_own().match(url):
        collector.emit(Act.REGISTRY, spot, manager, url)


def read_scripts(collector: Collector, root: Entry) -> None:
    """Note the scripts of a package.json, and that some run at installation."""
    for name, script in root.get("scripts").pairs():
        if script.scalar is None:
            continue
        if name in words("install_scripts"):
            run(collector, script, "install-hook")
        else:
            collector.command(script.scalar)


def read_packages(collector: Collector, root: Entry, kind: str) -> None:
    """Note what a project needs, from which indexes, and what is run to build it."""
    row: dict[str, str] = load_table(NAMES, "packages", kind)
    manager = row["manager"]
    for item in _find_texts(root, row.get("lists", "")):
        collector.emit(Act.INSTALL, find_place(item), manager, item.text)
    for group in (entry for path in row.get("maps", "").split() for entry in _follow(root, path)):
        for name, spec in group.pairs():
            if name != "python" and (manager != "npm" or spec.scalar is not None):
                told = _write_package(name, spec, row.get("mark", ""))
                collector.emit(Act.INSTALL, find_place(spec), manager, told)
    for item in _find_texts(root, row.get("indexes", "")):
        note_registry(collector, find_place(item), manager, item.text)
    _read_build(collector, root, row.get("hooks", ""))


def _write_package(name: str, spec: Entry, mark: str) -> str:
    for key in ("git", "url", "path"):
        if spec.get(key).text:
            return f"{name} @ {spec.get(key).text}"
    return f"{name}{mark}{spec.text or spec.get('version').text}"


def _read_build(collector: Collector, root: Entry, hooks: str) -> None:
    for hook in _find_texts(root, hooks):
        if hook.text != "false":
            collector.emit(Act.EXEC, find_place(hook), "install-hook", hook.text)
    custom = root.get("tool", "hatch", "build", "hooks", "custom")
    if custom.fields is not None and not custom.get("path").text:
        collector.emit(Act.EXEC, custom.spot, "install-hook", "hatch_build.py")


def _find_texts(root: Entry, paths: str) -> list[Entry]:
    """Return the texts that stand at some paths of a file."""
    entries = (entry for path in paths.split() for entry in _follow(root, path))
    return [item for entry in entries for item in entry.scalars() if item.text]


def _follow(root: Entry, path: str) -> list[Entry]:
    """Return what stands at a path of keys; a star is any key, and any item of a list."""
    found = [root]
    for key in path.split("."):
        if key == "*":
            below = ([*(one.fields or {}).values(), *(one.items or ())] for one in found)
            found = [one for row in below for one in row]
        else:
            found = [one.get(key) for one in found]
    return found


def read_requirements(collector: Collector, view: View) -> None:
    """Note the lines of a requirements file."""
    at = 0
    for line in view.text.splitlines(keepends=True):
        body = line.partition(" #")[0].strip()
        start, at = at + len(line) - len(line.lstrip()), at + len(line)
        option = _INDEX_OPTION.match(body)
        spot = Spot(view, start, start + len(body))
        if option is not None and option[1] == "--trusted-host":
            collector.emit(Act.DISABLE, spot, "tls", option[2])
        elif option is not None:
            note_registry(collector, spot, "pip", option[2])
        else:
            _read_requirement(collector, spot, _EDITABLE.sub("", body, count=1))


def _read_requirement(collector: Collector, spot: Spot, body: str) -> None:
    plain = body.partition(" --hash")[0].rstrip("\\ ").strip()
    if _REQUIREMENT.fullmatch(plain):
        collector.emit(Act.INSTALL, spot, "pip", plain.partition(";")[0].strip())


def read_gemfile(collector: Collector, view: View) -> None:
    """Note the gems and sources of a Gemfile."""
    for match in _GEM.finditer(view.text):
        spec = (match[2] or "").strip().rstrip(")")
        spot = Spot(view, match.start(), match.end())
        collector.emit(Act.INSTALL, spot, "gem", f"{match[1]} {spec}".strip())
    for match in _GEM_SOURCE.finditer(view.text):
        note_registry(collector, Spot(view, match.start(1), match.end(1)), "gem", match[1])


def read_manager_settings(collector: Collector, root: Entry) -> None:
    """Note indexes and switches of .npmrc, .yarnrc, pip.conf and .gemrc."""
    manager = (
        "pip" if re.search(r"pip(?:\.conf|\.ini|rc)|pydistutils", collector.view.path) else "npm"
    )
    for keys, entry in root.walk():
        key = keys[-1].lower() if keys else ""
        for item in entry.scalars() if entry.scalar is None else ():
            _read_setting(collector, manager, key, item)
        if entry.scalar is not None and entry.text:
            _read_setting(collector, manager, key, entry)


def _read_setting(collector: Collector, manager: str, key: str, item: Entry) -> None:
    if key.endswith(("registry", "index-url", "index_url", "npmregistryserver", "find-links")):
        note_registry(collector, find_place(item), manager, item.text)
    elif key == "trusted-host" or (key in words("tls_switches") and item.text.lower() == "false"):
        collector.emit(Act.DISABLE, find_place(item), "tls", item.text)
    elif key in {"node-options", "nodeoptions"}:
        collector.emit(Act.SETENV, find_place(item), "NODE_OPTIONS", item.text)
    elif key in {"script-shell", "yarnpath", "yarn-path", "git"} and "/" in item.text:
        collector.emit(Act.EXEC, find_place(item), "install-hook", item.text)
