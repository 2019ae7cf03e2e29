"""What Python code runs: evaluated text, shell commands, child processes, native code.

The table of what Python calls do, by dotted name.
"""

import re
import shlex
from collections.abc import Callable

from prowess.safety.facts import Act
from prowess.safety.languages.code import effects
from prowess.safety.languages.code import effects as python_decode
from prowess.safety.languages.code import io as files
from prowess.safety.languages.code import io as network
from prowess.safety.languages.code.values import (
    NO_LABELS,
    UNKNOWN,
    Labels,
    Value,
    labelled,
    labels_of,
    remote_label,
    replace,
    words,
)
from prowess.safety.languages.python.source import Site, State
from prowess.safety.sensitive import path_label

_MAX_WORDS = 64
# What a command is about stands at its beginning.
_MAX_LOOK = 4000
_SHELLS = words("sh bash zsh dash ksh ash fish busybox cmd cmd.exe")
_PYTHONS = re.compile(r"^(?:python|pypy)[\d.]*(?:\.exe|w\.exe)?$")
_OTHERS = {
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "javascript",
    "bun": "javascript",
    "powershell": "powershell",
    "powershell.exe": "powershell",
    "pwsh": "powershell",
    "perl": "other",
    "ruby": "other",
    "php": "other",
    "osascript": "other",
}
_TEXT_FLAG = re.compile(r"^(?:-[a-z]{0,3}[ce]|/[cCkK]|-Command|-r|--eval)$")
_URL = re.compile(r"(?:https?|ftp)://[^\s'\"]{1,400}")
_UPLOADERS = words("curl wget http https xh nc ncat netcat scp rsync sftp ftp")

# Commands whose output is a secret or a fact about the machine.
_OUTPUTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("env", re.compile(r"^\s*(?:/usr/bin/)?(?:env|printenv|set|export)\s*(?:$|[|>;&])")),
    ("keychain", re.compile(r"\bsecurity\s+(?:find-|dump-)|\bsecret-tool\s+(?:lookup|search)")),
    ("clipboard", re.compile(r"\b(?:pbpaste|wl-paste|xsel)\b|\bxclip\b.{0,40}-o|Get-Clipboard")),
    ("host", re.compile(r"^\s*(?:whoami|hostname|uname|id|ifconfig|ip a|systeminfo|sw_vers)\b")),
)  # fmt: skip


def _program(text: str) -> str:
    return text.replace("\\", "/").rpartition("/")[2]


def run_text(state: State, site: Site, command: Value, subject: str = "shell") -> None:
    """Note that a text is run as a command line."""
    for value in command.every():
        state.emit(Act.EXEC, site.node, subject, value.text, value.labels)
        state.embed("shell", value, value.labels)
        _uploads(state, site, value.text, value.labels)
    _fetched_command(state, site, command.labels)


def run_words(state: State, site: Site, parts: tuple[Value, ...]) -> None:
    """Note that a program is run with arguments."""
    parts = parts[:_MAX_WORDS]
    texts = [part.text or "$value" for part in parts]
    flow = labels_of(parts)
    program = _program(texts[0]) if texts else ""
    language = _language(program)
    script = _inline_script(texts) if language else None
    if script is not None:
        subject = "shell" if language == "shell" else program
        state.emit(Act.EXEC, site.node, subject, texts[script], flow)
        state.embed(language, parts[script], flow)
    else:
        target = next((text for text in texts[1:] if not text.startswith("-")), "")
        subject, shown = (language, target) if language else ("process", " ".join(texts))
        state.emit(Act.EXEC, site.node, subject, shown, flow)
        _embed_words(state, parts, texts, flow)
    _uploads(state, site, " ".join(texts), flow)
    _installs(state, site, texts)
    _fetched_command(state, site, flow)


def _language(program: str) -> str:
    if program in _SHELLS:
        return "shell"
    return "python" if _PYTHONS.match(program) else _OTHERS.get(program, "")


def _inline_script(texts: list[str]) -> int | None:
    for index, text in enumerate(texts[1:-1], 1):
        if _TEXT_FLAG.match(text):
            return index + 1
        if not text.startswith(("-", "/")):
            return None
    return None


def _embed_words(state: State, parts: tuple[Value, ...], texts: list[str], flow: Labels) -> None:
    """Show an argument list to the reader of shell as the command line that it amounts to."""
    line: list[str] = []
    indices: list[int] = []
    for part, text in zip(parts, texts, strict=True):
        shown = text if text.startswith("$") and text[1:].isidentifier() else shlex.quote(text)
        start = state.source.span(part.node)[0] if part.node is not None else None
        if start is None:
            start = indices[-1] if indices else None
        if start is None:
            return
        line.append(shown)
        indices.extend([start] * (len(shown) + 1))
    text = " ".join(line)
    if text:
        state.embed_line(text, indices[: len(text)], flow)


def _uploads(state: State, site: Site, command: str, flow: Labels) -> None:
    words_of = command[:_MAX_LOOK].split(None, 1)
    # How a command was spelled or who gave it is not data that it takes along.
    flow = frozenset(label for label in flow if label not in {"decoded", "input"})
    if flow and words_of and _program(words_of[0]) in _UPLOADERS:
        url = _URL.search(command[:_MAX_LOOK])
        state.emit(Act.SEND, site.node, url[0] if url else "", "http", flow)


def _installs(state: State, site: Site, texts: list[str]) -> None:
    manager = next((_program(text) for text in texts[:3] if _program(text) in _MANAGERS), "")
    verb = next((i for i, text in enumerate(texts) if text in {"install", "add", "i"}), 0)
    if not manager or not verb:
        return
    for text in texts[verb + 1 :]:
        if not text.startswith("-"):
            state.emit(Act.INSTALL, site.node, _MANAGERS[manager], text)


_MANAGERS = {"pip": "pip", "pip3": "pip", "uv": "pip", "npm": "npm", "brew": "brew", "gem": "gem"}


def _fetched_command(state: State, site: Site, flow: Labels) -> None:
    if "socket" in state.parts and any(label.startswith("remote=tcp:") for label in flow):
        state.parts["runs-received"] = site.node


def output_labels(texts: tuple[str, ...]) -> Labels:
    """Return what the output of command lines holds."""
    found: set[str] = set()
    for whole in texts:
        text = whole[:_MAX_LOOK]
        found.update(label for label, pattern in _OUTPUTS if pattern.search(text))
        first, _, rest = text.strip().partition(" ")
        if first in {"cat", "type", "head", "tail", "strings"}:
            paths = (path_label(word) for word in rest.split()[:16])
            found.update(label for label in paths if label)
        if first in {"curl", "wget"}:
            url = _URL.search(rest)
            found.add(remote_label(url[0] if url else ""))
    return frozenset(found)


def shell_text(state: State, site: Site) -> Value:
    """`os.system(text)` and its like."""
    command = site.arg(0, "command" if "command" in site.keywords else "cmd")
    run_text(state, site, command)
    return labelled(output_labels(command.texts()) | _kept(command.labels), site.name + "()")


def process(state: State, site: Site) -> Value:
    """`subprocess.run(…)` and its like."""
    command = site.arg(0, "args")
    shell = site.keywords.get("shell")
    _redirected(state, site)
    texts: tuple[str, ...] = ()
    for value in command.every():
        if value.items is not None and value.keys is None:
            run_words(state, site, value.items)
            texts += (" ".join(item.text for item in value.items[:_MAX_WORDS]),)
        else:
            shelled = shell is not None and shell.constant is not False
            run_text(state, site, replace(value, also=()), "shell" if shelled else "process")
            texts += (value.text,)
    fed = site.keywords.get("input", UNKNOWN).labels | site.keywords.get("stdin", UNKNOWN).labels
    first = texts[0].split() if texts and texts[0] else []
    if fed & {"remote", "decoded"} and first and _language(_program(first[0])):
        # What an interpreter is fed is what it runs.
        state.emit(Act.EXEC, site.node, "shell", texts[0] or "", fed)
    return labelled(output_labels(texts) | _kept(command.labels | fed), site.name + "()")


def _kept(labels: Labels) -> Labels:
    """What is passed to a command is often part of its output; where it came from stays known."""
    return labels - {"input"}


def _redirected(state: State, site: Site) -> None:
    streams = (site.keywords.get(name, UNKNOWN) for name in ("stdin", "stdout", "stderr"))
    if any(stream.name.startswith("socket.") for stream in streams):
        state.emit(Act.REVERSE_SHELL, site.node, "python", state.peer)


def spawned(state: State, site: Site) -> Value:
    """`os.execv(path, args)`, `os.spawnl(mode, path, …)`, `asyncio.create_subprocess_exec(…)`."""
    parts = list(site.args)
    if ".spawn" in site.name or ".posix_spawn" in site.name:
        parts = parts[1:] if ".spawn" in site.name else parts
    if site.name.startswith("os."):
        listed = next((part.items for part in parts if part.items is not None), None)
        # The first argument after the path repeats the name of the program.
        parts = [parts[0], *(listed[1:] if listed is not None else parts[2:])] if parts else []
    run_words(state, site, tuple(parts))
    return labelled(NO_LABELS, site.name + "()")


def terminal(state: State, site: Site) -> Value:
    """`pty.spawn(argv)`: a terminal for whoever holds the other end."""
    command = site.arg(0, "argv")
    run_words(state, site, command.items if command.items is not None else (command,))
    state.parts["pty"] = site.node
    return UNKNOWN


def evaluated(state: State, site: Site) -> Value:
    """`eval(text)` and `exec(text)`."""
    code = site.arg(0, "source")
    subject = "eval" if site.name == "eval" else "exec"
    for value in code.every():
        flow = value.labels
        target = value.text or next((x[5:] for x in sorted(flow) if x.startswith("file:")), "")
        state.emit(Act.EXEC, site.node, subject, target, flow)
        # A value that is no text at all runs nothing that could be read.
        if value.name != "code" or value.text:
            state.embed("python", value, flow)
    return labelled(code.labels - {"decoded"})


def compiled(_state: State, site: Site) -> Value:
    """`compile(text, …)`: code that is not yet run."""
    code = site.arg(0, "source")
    return Value(
        constant=code.constant,
        labels=code.labels,
        name="code",
        sketch=code.sketch,
        steps=code.steps,
        node=code.node,
        plain=code.plain,
    )


def run_file(state: State, site: Site) -> Value:
    """`runpy.run_path(path)`, `exec_module`, `execfile`."""
    path = site.arg(0)
    state.emit(Act.EXEC, site.node, "python", path.text, path.labels)
    return UNKNOWN


def loaded_code(state: State, site: Site) -> Value:
    """`types.FunctionType(code, …)`: code objects made callable."""
    code = site.arg(0, "code")
    if code.labels or code.name == "code":
        state.emit(Act.EXEC, site.node, "exec", code.text, code.labels)
    return labelled(code.labels)


def native(state: State, site: Site) -> Value:
    """`ctypes.CDLL(path)`: machine code."""
    path = site.arg(0, "name")
    state.emit(Act.EXEC, site.node, "native", path.text, path.labels)
    return labelled(NO_LABELS, site.name + "()")


def interactive(state: State, site: Site) -> Value:
    """`code.interact()`: a prompt for whoever is there."""
    state.emit(Act.EXEC, site.node, "exec", "", frozenset(["input"]))
    return UNKNOWN


def duplicated(state: State, site: Site) -> Value:
    """`os.dup2(socket.fileno(), 0)`: standard streams handed to the network."""
    if site.arg(0).name.startswith("socket."):
        state.emit(Act.REVERSE_SHELL, site.node, "python", state.peer)
    return UNKNOWN


def pip_main(state: State, site: Site) -> Value:
    """`pip.main(["install", …])`."""
    items = site.arg(0, "args").items or ()
    _installs(state, site, ["pip", *(item.text for item in items)])
    return UNKNOWN


def words_of_line(state: State, site: Site) -> Value:
    """`shlex.split(text)`: an argument list that stands in one text."""
    line = site.arg(0)
    if not isinstance(line.constant, str):
        parts = tuple(Value(sketch=word, node=line.node) for word in line.sketch.split())
        return Value(items=parts or None, labels=line.labels, node=line.node)
    try:
        found = shlex.split(line.constant)
    except ValueError:
        return Value(sketch=line.text, labels=line.labels, node=line.node)
    items = tuple(Value(constant=word, labels=line.labels, node=line.node) for word in found)
    return state.charge(Value(items=items, labels=line.labels, node=line.node))


Effect = Callable[[State, Site], Value | None]


def _each(names: str, effect: Effect) -> dict[str, Effect]:
    return dict.fromkeys(words(names), effect)


_RUNNING: dict[str, Effect] = {
    **_each("eval exec", evaluated),
    **_each("compile codeop.compile_command", compiled),
    **_each("code.InteractiveInterpreter().runsource code.InteractiveConsole().push "
            "code.InteractiveInterpreter().runcode",
            evaluated),
    **_each("os.system os.popen subprocess.getoutput subprocess.getstatusoutput os.startfile "
            "asyncio.create_subprocess_shell pexpect.spawn pexpect.run platform.popen",
            shell_text),
    **_each("subprocess.run subprocess.call subprocess.check_call subprocess.check_output "
            "subprocess.Popen psutil.Popen anyio.run_process trio.run_process", process),
    **_each("os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe "
            "os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp "
            "os.spawnvpe os.posix_spawn os.posix_spawnp asyncio.create_subprocess_exec",
            spawned),
    **_each("ctypes.CDLL().system ctypes.CDLL().popen ctypes.cdll.msvcrt.system",
            shell_text),
    "code.interact": interactive,
    "pty.spawn": terminal,
    "os.dup2": duplicated,
    **_each("runpy.run_path runpy.run_module execfile", run_file),
    **_each("types.FunctionType types.LambdaType", loaded_code),
    **_each("ctypes.CDLL ctypes.WinDLL ctypes.PyDLL ctypes.OleDLL ctypes.cdll.LoadLibrary "
            "ctypes.windll.LoadLibrary cffi.FFI().dlopen", native),
    **_each("pip.main pip._internal.main pip._internal.cli.main.main", pip_main),
    "shlex.split": words_of_line,
}  # fmt: skip

_NETWORK: dict[str, Effect] = {
    "urllib.request.urlopen": network.opened_url,
    "urllib.request.build_opener().open": network.opened_url,
    **_each("urllib.request.Request requests.Request httpx.Request", network.request_object),
    **_each("urllib.request.urlretrieve wget.download urllib.request.URLopener().retrieve",
            network.retrieved),
    **_each("http.client.HTTPSConnection http.client.HTTPConnection smtplib.SMTP smtplib.SMTP_SSL "
            "ftplib.FTP ftplib.FTP_TLS websocket.create_connection websockets.connect "
            "discord_webhook.DiscordWebhook slack_sdk.webhook.WebhookClient telnetlib.Telnet "
            "discord.Webhook.from_url discord.SyncWebhook.from_url", network.connection),
    **_each("http.client.HTTPSConnection().request http.client.HTTPConnection().request",
            network.connection_request),
    **_each("socket.socket().connect socket.socket().connect_ex socket.create_connection",
            network.connected),
    **_each("socket.socket().recv socket.socket().recvfrom socket.socket().recv_into "
            "socket.socket().makefile().read socket.socket().makefile().readline",
            network.received),
    **_each("socket.socket().send socket.socket().sendall socket.socket().sendto "
            "socket.socket().makefile().write", network.sent),
    **_each("socket.gethostbyname socket.getaddrinfo socket.gethostbyname_ex dns.resolver.resolve "
            "dns.resolver.query dns.resolver.Resolver().resolve dns.resolver.Resolver().query",
            network.resolved),
    **_each("webbrowser.open webbrowser.open_new webbrowser.open_new_tab", network.browsed),
    **_each("git.Repo.clone_from git.Repo().clone_from", network.cloned),
}  # fmt: skip

_FILES: dict[str, Effect] = {
    **_each("open os.fdopen codecs.open aiofiles.open gzip.open bz2.open lzma.open "
            "pathlib.Path().open", files.opened),
    **_each("open().write open().writelines", files.handle_write),
    **_each("json.dump pickle.dump yaml.dump yaml.safe_dump marshal.dump toml.dump tomli_w.dump",
            files.dumped),
    **_each("pathlib.Path().read_text pathlib.Path().read_bytes", files.read_path),
    **_each("pathlib.Path().write_text pathlib.Path().write_bytes", files.write_path),
    **_each("sqlite3.connect zipfile.ZipFile tarfile.open tarfile.TarFile aiosqlite.connect "
            "linecache.getlines dotenv.dotenv_values configparser.ConfigParser().read "
            "pandas.read_csv pandas.read_json numpy.loadtxt", files.read_named),
    **_each("zipfile.ZipFile().write zipfile.ZipFile().writestr tarfile.open().add "
            "tarfile.TarFile().add", files.packed),
    "shutil.make_archive": files.archived,
    **_each("shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.move os.rename "
            "os.replace os.link os.symlink shutil.copyfileobj", files.copied),
    **_each("os.remove os.unlink os.rmdir os.removedirs shutil.rmtree pathlib.Path().unlink "
            "pathlib.Path().rmdir", files.removed),
    **_each("os.chmod pathlib.Path().chmod os.fchmod os.lchmod", files.permitted),
    "pathlib.Path": files.path_made,
    "pathlib.Path.home": files.home,
    "os.path.join": files.joined_path,
    "pathlib.Path().joinpath": files.joined_to_path,
    **_each("os.path.expanduser os.path.abspath os.path.realpath os.path.normpath "
            "pathlib.Path().expanduser pathlib.Path().resolve pathlib.Path().absolute "
            "pathlib.Path().as_posix os.fspath", files.same_path),
    **_each("glob.glob glob.iglob os.listdir os.scandir pathlib.Path().glob "
            "pathlib.Path().rglob pathlib.Path().iterdir", files.listed),
    "os.walk": files.walked,
    **_each("os.environ.copy os.environ.items os.environ.values", files.environment),
    "os.environ.update": files.updated_environment,
    **_each("os.putenv os.environ.setdefault os.environ.__setitem__", files.set_environment),
}  # fmt: skip

_SOURCES: dict[str, Effect] = {
    **_each("os.getenv os.environ.get os.environ.pop os.environ.__getitem__ os.getenvb",
            effects.variable),
    **_each("keyring.get_password keyring.get_credential secretstorage.get_default_collection "
            "keyring.get_keyring().get_password", effects.source("keychain", "")),
    **_each("browser_cookie3.chrome browser_cookie3.firefox browser_cookie3.load "
            "browser_cookie3.edge browser_cookie3.brave browser_cookie3.safari "
            "browser_cookie3.opera browser_cookie3.chromium rookiepy.load rookiepy.chrome "
            "browsercookie.chrome browsercookie.load pycookiecheat.chrome_cookies "
            "win32crypt.CryptUnprotectData", effects.source("browser", "")),
    **_each("pyperclip.paste clipboard.paste win32clipboard.GetClipboardData "
            "tkinter.Tk().clipboard_get pandas.read_clipboard ImageGrab.grabclipboard "
            "PIL.ImageGrab.grabclipboard", effects.source("clipboard", "")),
    **_each("pynput.keyboard.Listener keyboard.on_press keyboard.on_release keyboard.hook "
            "keyboard.record keyboard.start_recording pynput.keyboard.Events",
            effects.source("input", "keyboard")),
    **_each("mss.mss mss.mss().grab mss.mss().shot PIL.ImageGrab.grab pyautogui.screenshot "
            "pyscreenshot.grab ImageGrab.grab", effects.source("host", "screen")),
    **_each("platform.platform platform.node platform.uname platform.system platform.release "
            "platform.machine platform.version platform.processor socket.gethostname "
            "socket.getfqdn getpass.getuser uuid.getnode os.uname os.getlogin psutil.net_if_addrs "
            "psutil.users", effects.quiet_source("host")),
    **_each("input raw_input getpass.getpass sys.stdin.read sys.stdin.readline sys.stdin.readlines "
            "sys.stdin.buffer.read argparse.ArgumentParser().parse_args "
            "argparse.ArgumentParser().parse_known_args click.prompt",
            effects.quiet_source("input")),
}  # fmt: skip

_REVIVING: dict[str, Effect] = {
    **_each("pickle.load pickle.loads pickle.Unpickler dill.load dill.loads cloudpickle.load "
            "cloudpickle.loads marshal.load marshal.loads shelve.open joblib.load torch.load "
            "yaml.load yaml.load_all yaml.unsafe_load yaml.full_load yaml.unsafe_load_all "
            "jsonpickle.decode jsonpickle.loads pandas.read_pickle", effects.deserialised),
    **_each("__import__ importlib.import_module importlib.__import__", effects.imported),
    "getattr": effects.attribute,
    **_each("globals locals vars", effects.namespace),
    **_each("operator.attrgetter operator.methodcaller", effects.getter),
    **_each("cryptography.fernet.Fernet().decrypt Crypto.Cipher.AES.new().decrypt "
            "Cryptodome.Cipher.AES.new().decrypt", effects.decrypted),
    **_each("crontab.CronTab().new", effects.scheduled),
    **_each("winreg.OpenKey winreg.CreateKey winreg.OpenKeyEx winreg.CreateKeyEx",
            effects.registry_key),
    **_each("winreg.SetValueEx winreg.SetValue", effects.registry_value),
    **_each("os.setuid os.seteuid os.setreuid os.setresuid os.setgid", effects.became_root),
    **_each("ctypes.windll.shell32.ShellExecuteW ctypes.windll.shell32.ShellExecuteA",
            effects.elevated),
    **_each("len isinstance issubclass bool id hash type callable hasattr any all print "
            "os.path.exists os.path.isfile os.path.isdir os.path.getsize pathlib.Path().exists "
            "pathlib.Path().is_file pathlib.Path().is_dir pathlib.Path().stat time.time "
            "pathlib.Path().mkdir os.makedirs os.mkdir logging.info logging.debug hashlib.md5 "
            "hashlib.sha1 hashlib.sha256 hashlib.sha512", effects.no_origin),
    "dict": effects.parameters,
    **_each("codecs.decode codecs.encode", effects.codec_decoding),
    **dict.fromkeys(python_decode.CALLS, effects.decoding),
}  # fmt: skip

EFFECTS: dict[str, Effect] = {**_RUNNING, **_NETWORK, **_FILES, **_SOURCES, **_REVIVING}

# Methods whose names alone say enough, whatever they are called on.
METHODS: dict[str, Effect] = {
    **_each("read_text read_bytes", files.read_path),
    **_each("write_text write_bytes", files.write_path),
    "sendall": network.sent,
    "__getattribute__": effects.own_attribute,
    "exec_module": run_file,
    "clipboard_get": effects.source("clipboard", ""),
    **_each("to_csv to_json to_excel to_parquet", effects.saved),
    "hexdigest": effects.no_origin,
}

# Calls that run another function: which argument it is, and where its arguments begin.
CALLERS: dict[str, str] = {
    "threading.Thread": "target",
    "multiprocessing.Process": "target",
    "threading.Timer": "function",
    "atexit.register": "",
    "functools.partial": "",
    "asyncio.to_thread": "",
    "concurrent.futures.ThreadPoolExecutor().submit": "",
    "concurrent.futures.ProcessPoolExecutor().submit": "",
    "contextvars.copy_context().run": "",
}


def effect_of(name: str) -> Effect | None:
    """Return what the call of a dotted name does, if the table knows."""
    return EFFECTS.get(name)
