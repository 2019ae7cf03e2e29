"""How long routing takes and how much memory, as ratios to baselines of the same run.

    python benchmarks/speed/routing.py [--sizes 200 1000 10000] [--json FILE]

The baseline of a message is what the encoder alone takes for it: that is the price of meaning, and
everything on top is ours. The baseline of a first indexing is the second one, which finds every
vector in the cache; both in CPU time. Memory is that of a child process,
as a ratio to a bare interpreter, after messages in English and then in every other language.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import prowess
from prowess.routing.router import read
from prowess.runtime.route.answer import Asked
from prowess.skills.model import Skill
from prowess.testing import make_skill

_THINGS = (
    "invoice", "release", "cluster", "calendar", "report", "contract", "photo", "database",
    "newsletter", "ticket", "pipeline", "dashboard", "recipe", "budget", "podcast", "schema",
    "firmware", "translation", "survey", "warehouse", "certificate", "playlist", "backup", "slide",
)  # fmt: skip
_ACTS = (
    "reviews", "drafts", "deploys", "archives", "compares", "translates", "validates", "plans",
    "migrates", "summarises", "monitors", "repairs", "forecasts", "publishes", "merges", "prices",
)  # fmt: skip
_MESSAGES = (
    "can you check whether the invoice matches the order",
    "the nightly backup failed again, please have a look",
    "draft the newsletter for this month",
    "why is the cluster so slow since the release",
    "hello, how are you",
    "compare the two contracts and list what changed",
    "plan the migration of the old database",
)
_FOREIGN = (
    "prüfe bitte, ob die Rechnung zur Bestellung gehört",
    "compara los dos contratos y dime qué ha cambiado",
    "pourquoi la sauvegarde de cette nuit a échoué",
    "planeje a migração do banco de dados antigo",
    "почему кластер работает так медленно после релиза",
    "请把旧数据库迁移到新服务器上",
    "今月のニュースレターの下書きを作ってください",
    "청구서가 주문과 일치하는지 확인해 주세요",
)
_REPEAT = 60
_MEMORY = """
import sys
def held(what):
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) / 1024
sys.path.insert(0, sys.argv[1])
bare = held("VmRSS")
import routing as bench
runtime = bench.open_runtime(sys.argv[2])
index = runtime.routing.index_of(bench.make_skills(1000))
bench.route_all(runtime, index, 20)
english = held("VmRSS")
bench.route_all(runtime, index, 40, bench._FOREIGN)
print(bare, english, held("VmRSS"), held("VmHWM"))
"""


def make_skills(count: int) -> list[Skill]:
    """Make skills such as people write: two sentences, three example requests, a page of body."""
    chance = random.Random(11)
    skills = []
    for number in range(count):
        first, second, third = chance.sample(_THINGS, 3)
        act, other = chance.sample(_ACTS, 2)
        body = "\n\n".join(
            f"## Step {step}\n\n" + " ".join(chance.choices((*_THINGS, *_ACTS), k=70))
            for step in range(7)
        )
        description = (
            f"{act.capitalize()} every {first} of team {number} and {other} the {second}. "
            f'Use when the user says "{act[:-1]} the {first} {number}", "my {second} is wrong" or '
            f'"help with a {third}".'
        )
        name = f"{first}-{act[:-1]}-{number}"
        skills.append(
            make_skill(name, description=description, body=body, content_hash=f"{number}")
        )
    return skills


def open_runtime(folder: str) -> prowess.Runtime:
    """Open Prowess on empty folders, with the bundled encoder."""
    return prowess.open(folder, home=f"{folder}/state", environ={"HOME": folder, "PATH": ""})


def route_all(
    runtime: prowess.Runtime, index: object, repeat: int, messages: tuple[str, ...] = _MESSAGES
) -> list[float]:
    """Route messages that were never seen before and return the times in milliseconds."""
    from prowess.routing import router

    times, choice = [], runtime.routing.choice(Asked())
    for number in range(repeat):
        message = f"{messages[number % len(messages)]} ({number})"
        start = time.perf_counter()
        query = runtime.routing.with_vector(index, read(message))  # type: ignore[arg-type]
        router.route(index, query, choice)  # type: ignore[arg-type]
        times.append((time.perf_counter() - start) * 1000)
    return times


def encode_all(runtime: prowess.Runtime, repeat: int) -> list[float]:
    """Encode as many messages and return the times: what meaning costs by itself."""
    encoder, times = runtime.routing.needed_encoder(), []
    for number in range(repeat):
        start = time.perf_counter()
        encoder.encode([f"{_MESSAGES[number % len(_MESSAGES)]} [{number}]"])
        times.append((time.perf_counter() - start) * 1000)
    return times


def measure(count: int) -> dict[str, float]:
    """Measure one size of catalogue."""
    skills = make_skills(count)
    with tempfile.TemporaryDirectory() as folder:
        with open_runtime(folder) as runtime:
            runtime.routing.needed_encoder().encode(["warm up"])
            start = time.process_time()
            index = runtime.routing.index_of(skills)
            first = time.process_time() - start
            route_all(runtime, index, 5)
            alone = statistics.median(encode_all(runtime, _REPEAT))
            routed = statistics.median(route_all(runtime, index, _REPEAT))
        with open_runtime(folder) as again:
            again.routing.needed_encoder().encode(["warm up"])
            start = time.process_time()
            again.routing.index_of(skills)
            second = time.process_time() - start
    return {
        "skills": count,
        "messageMs": round(routed, 2),
        "encoderMs": round(alone, 2),
        "messageToEncoder": round(routed / alone, 2),
        "firstIndexCpuS": round(first, 2),
        "secondIndexCpuS": round(second, 2),
        "firstToSecond": round(first / second, 1),
    }


def memory_mb() -> dict[str, float]:
    """Return what a process holds with the model and 1,000 skills, and what it held at most."""
    here = str(Path(__file__).resolve().parent)
    with tempfile.TemporaryDirectory() as folder:
        # Our own script, with folders that were just made.
        child = subprocess.run(
            [sys.executable, "-c", _MEMORY, here, folder],
            capture_output=True,
            text=True,
            check=True,
        )
    names = ("bare", "english", "all languages", "at most")
    return dict(zip(names, map(float, child.stdout.split()[-4:]), strict=True))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        row = measure(size)
        rows.append(row)
        print(
            f"{size:>6} skills: a message {row['messageMs']} ms, {row['messageToEncoder']}x of the "
            f"encoder alone; first indexing {row['firstIndexCpuS']} s of CPU time, "
            f"{row['firstToSecond']}x of the second",
            flush=True,
        )
    memory = memory_mb()
    print(
        f"memory with model and 1,000 skills, bare interpreter {memory['bare']:.0f} MB: "
        + ", ".join(
            f"{name} {held:.0f} MB ({held / memory['bare']:.1f}x)"
            for name, held in memory.items()
            if name != "bare"
        )
    )
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "memoryMb": memory}, indent=2))


if __name__ == "__main__":
    main()
