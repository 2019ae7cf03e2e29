"""Heaps of traces such as agents leave behind, for the tests that learn from several of them."""

from collections.abc import Sequence

from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget

YOUTUBE = "com.google.android.youtube"
Part = tuple[int, TraceStep]


def bash(command: str, *, failed: bool = False, result: str = "ok") -> TraceStep:
    return TraceStep(
        number=1, action=TraceAction("Bash", {"command": command}), result=result, failed=failed
    )


def tool(kind: str, fields: dict[str, Json]) -> TraceStep:
    return TraceStep(number=1, action=TraceAction(kind, fields), result="ok")


def read(path: str) -> TraceStep:
    return tool("Read", {"file_path": path})


def write(path: str, content: str) -> TraceStep:
    return tool("Write", {"file_path": path, "content": content})


def edit(path: str, old: str, new: str) -> TraceStep:
    return tool("Edit", {"file_path": path, "old_string": old, "new_string": new})


def touch(kind: str, app: str = YOUTUBE, **fields: Json) -> TraceStep:
    return TraceStep(number=1, action=TraceAction(kind, fields), result="ok", app=app)


def tap(resource_id: str = "", text: str = "", app: str = YOUTUBE, cls: str = "View") -> TraceStep:
    target = UiTarget(resource_id=resource_id, text=text, class_name=f"android.widget.{cls}")
    action = TraceAction("tap_element", {"elementId": "e7"})
    return TraceStep(number=1, action=action, result="ok", app=app, target=target)


def trace(
    task: str, *steps: TraceStep, session: str = "", folder: str = "", final: str = ""
) -> Trace:
    numbered = (
        TraceStep(
            number=number,
            action=step.action,
            result=step.result,
            thought=step.thought,
            app=step.app,
            target=step.target,
            failed=step.failed,
        )
        for number, step in enumerate(steps, start=1)
    )
    return Trace(
        task=task,
        ok=True,
        steps=tuple(numbered),
        session_path=f"sessions/{session or task}.jsonl",
        session_id=session or task,
        folder=folder,
        final_message=final,
    )


def conversion(
    name: str, task: str = "", *, extra: Sequence[Part] = (), without: int | None = None
) -> Trace:
    """Return how `data/<name>.csv` became JSON; `extra` puts steps in, `without` leaves one out."""
    folder = f"/home/{name}/work"
    steps = [
        read(f"{folder}/data/{name}.csv"),
        bash(f"python3 scripts/convert.py data/{name}.csv --output out/{name}.json"),
        bash(f"jq length out/{name}.json"),
        read(f"{folder}/out/{name}.json"),
    ]
    if without is not None:
        del steps[without]
    for place, step in extra:
        steps.insert(place, step)
    asked = task or f"Convert data/{name}.csv to JSON"
    return trace(asked, *steps, session=name, folder=folder, final=f"Wrote out/{name}.json.")


def conversions() -> list[Trace]:
    """Return five of them, one with a detour and one with a failure."""
    return [
        conversion("sales"),
        conversion("orders", "Please convert data/orders.csv to JSON."),
        conversion("users", "turn data/users.csv into a JSON file"),
        conversion("stock", extra=[(1, bash("csvstat data/stock.csv"))]),
        conversion(
            "parts", extra=[(1, bash("pip install requests", failed=True, result="Error: no"))]
        ),
    ]


def release(version: str, old: str, date: str) -> Trace:
    return trace(
        f"Release version {version}",
        read("package.json"),
        edit("package.json", f'"version": "{old}"', f'"version": "{version}"'),
        edit("CHANGELOG.md", "## Unreleased", f"## Unreleased\n\n## {version} - {date}"),
        bash(f'git add -A && git commit -m "Release {version}"'),
        bash(f'git tag -a v{version} -m "Release {version}"'),
        bash("git push origin main --tags"),
    )


def releases() -> list[Trace]:
    return [
        release("1.2.0", "1.1.0", "2026-01-03"),
        release("1.3.0", "1.2.0", "2026-02-03"),
        release("2.0.0", "1.3.0", "2026-03-13"),
    ]


def search(text: str, task: str = "") -> Trace:
    return trace(
        task or f"Search YouTube for {text}",
        touch("launch_app", app="launcher", packageName=YOUTUBE),
        touch("wait", durationMs=1000),
        tap(f"{YOUTUBE}:id/menu_search", "Search"),
        touch("type", text=text),
        touch("keyevent", keycode="KEYCODE_ENTER"),
        touch("finish", message="done"),
    )


def searches() -> list[Trace]:
    return [search("cats"), search("dog videos"), search("lo-fi music", "Find lo-fi on YouTube")]


def deployment(service: str, version: str) -> Trace:
    image = f"registry.example.com/{service}:{version}"
    return trace(
        f"Deploy the {service} service {version} to staging",
        bash(f"docker build -t {image} services/{service}"),
        bash(f"docker push {image}"),
        bash(f"kubectl -n staging set image deployment/{service} {service}={image}"),
        bash(f"kubectl -n staging rollout status deployment/{service}"),
    )


def deployments() -> list[Trace]:
    return [
        deployment("billing", "1.4.2"),
        deployment("search", "2.0.1"),
        deployment("mail", "0.9.0"),
    ]


def change(name: str, task: str) -> Trace:
    """Return how nearly every task in a code base goes."""
    path = f"src/{name}.py"
    return trace(task, read(path), edit(path, f"a {name}", f"b {name}"), bash("pytest -q"))


def unrelated() -> list[Trace]:
    return [
        change("parser", "Fix the crash when the input is empty"),
        change("server", "Add request logging to the server"),
        change("auth", "Users cannot log in after the update, please look"),
        change("cache", "Make the cache expire after 5 minutes"),
        trace("What does the config loader do?", read("src/config.py")),
        trace("Update dependencies", bash("pip install -U requests"), bash("pytest -q")),
        trace("Write a README", write("README.md", "# Tool")),
        trace("Commit my changes", bash("git add -A && git commit -m wip")),
        trace("Delete the old logs", bash("rm -r logs/old")),
        trace("Resize logo.png to 64 pixels", bash("magick logo.png -resize 64x64 small.png")),
    ]
