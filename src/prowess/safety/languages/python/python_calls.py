"""The table of what Python calls do, by dotted name."""

from collections.abc import Callable

from prowess.safety.languages.python import calls as process
from prowess.safety.languages.python import effects, python_decode
from prowess.safety.languages.python import io as files
from prowess.safety.languages.python import python_network as network
from prowess.safety.languages.python.python_state import Site, State
from prowess.safety.languages.python.values import Value, words

Effect = Callable[[State, Site], Value | None]


def _each(names: str, effect: Effect) -> dict[str, Effect]:
    return dict.fromkeys(words(names), effect)


_RUNNING: dict[str, Effect] = {
    **_each("eval exec", process.evaluated),
    **_each("compile codeop.compile_command", process.compiled),
    **_each("code.InteractiveInterpreter().runsource code.InteractiveConsole().push "
            "code.InteractiveInterpreter().runcode",
            process.evaluated),
    **_each("os.system os.popen subprocess.getoutput subprocess.getstatusoutput os.startfile "
            "asyncio.create_subprocess_shell pexpect.spawn pexpect.run platform.popen",
            process.shell_text),
    **_each("subprocess.run subprocess.call subprocess.check_call subprocess.check_output "
            "subprocess.Popen psutil.Popen anyio.run_process trio.run_process", process.process),
    **_each("os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe "
            "os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp "
            "os.spawnvpe os.posix_spawn os.posix_spawnp asyncio.create_subprocess_exec",
            process.spawned),
    **_each("ctypes.CDLL().system ctypes.CDLL().popen ctypes.cdll.msvcrt.system",
            process.shell_text),
    "code.interact": process.interactive,
    "pty.spawn": process.terminal,
    "os.dup2": process.duplicated,
    **_each("runpy.run_path runpy.run_module execfile", process.run_file),
    **_each("types.FunctionType types.LambdaType", process.loaded_code),
    **_each("ctypes.CDLL ctypes.WinDLL ctypes.PyDLL ctypes.OleDLL ctypes.cdll.LoadLibrary "
            "ctypes.windll.LoadLibrary cffi.FFI().dlopen", process.native),
    **_each("pip.main pip._internal.main pip._internal.cli.main.main", process.pip_main),
    "shlex.split": process.words_of_line,
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
    "exec_module": process.run_file,
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
