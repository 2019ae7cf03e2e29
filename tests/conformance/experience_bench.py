"""Traces of imaginary agents, Prowess that learns from them, and a phone that is none.

The phone's `adb` hands what it is told to a shell of its own, as a real one does: text that was
quoted only once is a command there.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .workshop_bench import files_below, settings_of
from .world import TIMEOUT_S, Json, Result, World

DARK_MODE = "Turn on dark mode in the settings app"
ADB = r"""#!/bin/bash
device=@DEVICE@
while [[ ${1-} == -[stH] ]]; do shift 2; done
verb=${1-}
shift
place() { local line=${1//\/sdcard/$device}; printf '%s' "${line//\/data\/local\/tmp/$device}"; }
case $verb in
  devices) printf 'List of devices attached\nemulator-5554\tdevice\n\n' ;;
  get-state) echo device ;;
  get-serialno) echo emulator-5554 ;;
  shell | exec-out)
    while [[ ${1-} == -* ]]; do shift; done
    PATH="$device/bin:$PATH" exec sh -c "$(place "$*")" ;;
  pull) cp "$(place "$1")" "${2-.}" ;;
  push) cp "$1" "$(place "$2")" ;;
esac
"""
INPUT = r"""#!/bin/sh
printf '%s\0' "$@" >> @DEVICE@/input.log
printf '\001' >> @DEVICE@/input.log
"""
UIAUTOMATOR = r"""#!/bin/bash
[[ ${1-} == dump ]] || exit 1
shift
while [[ ${1-} == --* ]]; do shift; done
to=${1-@DEVICE@/window_dump.xml}
if [[ $to == /dev/* ]]; then cat @DEVICE@/screen.xml; else cp @DEVICE@/screen.xml "$to"; fi
echo "UI hierchary dumped to: $to"
"""


def step(kind: object, *, app: str | None = None, result: object = "ok", **more: object) -> Json:
    """One step; `thought` and `ui` are of the step, every other word is of its action."""
    of_step = {"thought": more.pop("thought", None), "uiContext": more.pop("ui", None), "app": app}
    kept = {key: value for key, value in of_step.items() if value is not None}
    return {"action": {"type": kind, **more}, "result": result, **kept}


def trace(task: object, *steps: object, **more: object) -> Json:
    """A successful trace; its steps are numbered and its session is named after its task."""
    numbered = [
        {"step": number, **done} if isinstance(done, dict) else done
        for number, done in enumerate(steps, 1)
    ]
    whole: Json = {
        "task": task,
        "sessionPath": f"sessions/{re.sub('[^a-z0-9]+', '-', str(task).lower())[:60]}.jsonl",
        "ok": True,
        "finalMessage": "All done.",
        "steps": numbered,
    }
    return {**whole, **more}


def dark_mode(task: str = DARK_MODE, **more: object) -> Json:
    """A trace as a phone's agent leaves it: five steps of four kinds."""
    target = {
        "elementId": "7",
        "text": 'Dark "theme"',
        "resourceId": "com.android.settings:id/dark",
        "contentDesc": "",
        "className": "android.widget.Switch",
        "clickable": True,
    }
    return trace(
        task,
        step("launch_app", packageName="com.android.settings", app="launcher"),
        step("tap", x=120, y=340, app="com.android.settings", thought="Open the display page."),
        step("tap_element", elementId="7", app="com.android.settings", ui=target, result="on now"),
        step("type", text="dark", app="com.android.settings"),
        step("finish", message="It is dark.", app="com.android.settings"),
        finalMessage="Dark mode is on.",
        **more,
    )


def commands(task: str, *lines: str, **more: object) -> Json:
    """A trace of commands on the agent's own machine."""
    return trace(task, *(step("exec", command=line) for line in lines), **more)


@dataclass(slots=True)
class Lab:
    """One workspace that learns from traces."""

    world: World
    made: int = 0

    def __post_init__(self) -> None:
        self.configure()

    def configure(
        self, *, workshop: bool = False, mode: str = "mixed", experience: Json | None = None
    ) -> None:
        """Write the configuration: the workshop is off unless told otherwise."""
        config = settings_of({"reviewMode": "off"}, entry=workshop, encoder="none")
        config["skills"]["specMode"] = mode
        if experience is not None:
            config["experience"] = experience
        self.world.config(config)

    @property
    def auto(self) -> Path:
        return self.world.skills / "auto"

    @property
    def scripts(self) -> Path:
        return self.world.workspace / "scripts" / "auto"

    def saved(self, *traces: object) -> Path:
        """A file outside of the workspace: one document, or a line for each trace."""
        self.made += 1
        name, text = f"t{self.made}.json", json.dumps(traces[0], indent=1)
        if len(traces) > 1:
            name, text = f"{name}l", "".join(json.dumps(line) + "\n" for line in traces)
        return self.world.file(self.world.root / "traces" / name, text)

    def run(self, *words: str | Path) -> Result:
        """`prowess experience ...`, calm."""
        return self.world.run("experience", *words).calm()

    def answer(self, *words: str | Path, code: int = 0) -> Json:
        """`prowess experience ... --json`, which ends like this."""
        result = self.run(*words, "--json")
        assert result.code == code, str(result)
        return result.json

    def build(self, *traces: Json, words: tuple[str, ...] = (), code: int = 0) -> Json:
        """What `build` answers about these traces."""
        return self.answer("build", self.saved(*traces), *words, code=code)

    def draft(self, *traces: Json) -> Json:
        """The only draft that `build` makes."""
        (made,) = self.build(*traces)["drafts"]
        assert isinstance(made, dict)
        return made

    def text(self, draft: Json) -> str:
        """The document of a draft."""
        return self.file(draft).read_bytes().decode("utf-8")

    def file(self, draft: Json) -> Path:
        """Where the document of a draft is."""
        path = self.world.workspace / str(draft["path"])
        return path / "SKILL.md" if path.is_dir() else path

    def script(self, draft: Json) -> Path:
        """Where the script of a draft is; it has one."""
        assert draft["script"], draft
        return self.world.workspace / str(draft["script"])

    def listed(self) -> list[Json]:
        """The drafts that `list` shows."""
        found = self.answer("list")["drafts"]
        assert isinstance(found, list)
        return found

    def ids(self) -> set[str]:
        return {draft["id"] for draft in self.listed()}

    def files(self) -> dict[str, bytes]:
        """Every file of the workspace."""
        return files_below(self.world.workspace)

    def proposals(self, status: str = "all") -> list[Json]:
        """What the workshop has from experience."""
        listed = self.world.run("workshop", "list", "--status", status, "--json").calm().json
        return [item for item in listed["proposals"] if item["source"] == "experience"]

    def replay(self, draft: Json, *words: str, typed: str = "") -> Result:
        """Run the script of a draft, standing in an empty folder."""
        folder = self.world.root / "stand"
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            [self.script(draft), *words],
            cwd=folder,
            env=self.world.env(),
            input=typed.encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return Result(args=words, code=done.returncode, out=out, err=err)

    def assert_safe(self) -> None:
        """Every file is in its place, every script parses, every strict draft is valid."""
        strays = [
            name for name in self.files() if not name.startswith(("skills/auto/", "scripts/auto/"))
        ]
        assert strays == []
        for script in self.scripts.glob("*"):
            done = subprocess.run(["bash", "-n", script], capture_output=True, check=False)
            assert (done.returncode, done.stderr) == (0, b""), script
            assert script.stat().st_mode & 0o777 == 0o700
        if any(self.auto.rglob("*.md")):
            checked = self.world.run("validate", self.auto, "--strict").calm()
            assert checked.code == 0, str(checked)


@dataclass(slots=True)
class Phone:
    """What scripts find as `adb`: it notes each `input` and shows one screen."""

    world: World

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self._program(self.world.bin / "adb", ADB)
        self._program(self.folder / "bin" / "input", INPUT)
        self._program(self.folder / "bin" / "uiautomator", UIAUTOMATOR)
        for quiet in ("monkey", "am", "cmd", "ime", "pm", "dumpsys", "settings"):
            self._program(self.folder / "bin" / quiet, "#!/bin/sh\nexit 0\n")
        self.shows()

    @property
    def folder(self) -> Path:
        return self.world.root / "device"

    def _program(self, path: Path, text: str) -> None:
        self.world.file(path, text.replace("@DEVICE@", str(self.folder))).chmod(0o755)

    def shows(self, *nodes: str) -> None:
        """Show a screen with these elements, each a line of attributes."""
        drawn = "".join(f'<node index="{number}" {node} />' for number, node in enumerate(nodes))
        screen = f'<hierarchy rotation="0"><node index="0" bounds="[0,0][9,9]">{drawn}</node>'
        text = f"<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>{screen}</hierarchy>"
        self.world.file(self.folder / "screen.xml", text)

    def inputs(self) -> list[list[str]]:
        """The words of each `input` that ran on the phone."""
        log = self.folder / "input.log"
        calls = log.read_bytes().decode("utf-8").split("\1")[:-1] if log.exists() else []
        return [call.split("\0")[:-1] for call in calls]

    def taps(self) -> list[tuple[str, ...]]:
        """Where it was tapped."""
        return [tuple(call[-2:]) for call in self.inputs() if "tap" in call]

    def typed(self) -> list[str]:
        """What was typed, with the spaces that `input` writes in its own way."""
        return [call[-1].replace("%s", " ") for call in self.inputs() if "text" in call[:-1]]


def copied(lab: Lab, draft: Json, stamp: str) -> tuple[Path, Path]:
    """The draft and its script once more, as if built at another time."""
    place, script = lab.world.workspace / draft["path"], lab.script(draft)
    twins = []
    for path in (place.parent if place.name == "SKILL.md" else place, script):
        twin = path.with_name(re.sub(r"^\d{8}-\d{6}", stamp, path.name))
        assert twin != path
        if path.is_dir():
            shutil.copytree(path, twin)
        else:
            shutil.copy2(path, twin)
        twins.append(twin)
    return twins[0], twins[1]
