"""What a week of sessions would have taught: corrections that hooks heard, replayed turn by turn.

    python -m benchmarks.quality.week MESSAGES [--sessions 16] [--turns 60] [--json]

`MESSAGES` holds `messages.jsonl.xz` with `source`, `text` and `prev`, the end of what the agent
said before. Each source is one person in one project: their messages become a session as the
harness writes it, and the hook is called at every prompt and at every end of a turn. Without
Prowess nothing of it would have been kept. Whether a person would keep what is proposed, only a
reader can say.
"""

import argparse
import json
import lzma
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prowess.hooks.answers import read
from prowess.wiring import open_runtime
from prowess.wiring.hook import HookPlace, answer_alone, open_turn_learning

_ON = {"enabled": True, "config": {"autoCapture": True, "reviewMode": "heuristic"}}
_CONFIG = {
    "skills": {"routing": {"encoder": "none"}},
    "plugins": {"entries": {"skill-workshop": _ON}},
}
_ASKED = "skill_workshop"


def main() -> int:
    """Replay the sessions and print what came of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("messages", type=Path)
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--json", action="store_true", dest="as_json")
    given = parser.parse_args()
    rows = [
        {"session": number, "turns": len(turns), **_replay(turns, is_codex=number % 4 == 0)}
        for number, turns in enumerate(_read_sessions(given.messages, given.turns), start=1)
        if number <= given.sessions
    ]
    if given.as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return 0
    for row in rows:
        asked = f"{row['asked']} prompts with a line for the agent ({row['letters']} characters)"
        print(f"session {row['session']}: {row['turns']} turns, {asked}")
        for one in row["proposed"]:
            print(f"  {one['place']}: {one['rule']}")
    total = sum(len(row["proposed"]) for row in rows)
    print(f"{total} proposals in {sum(row['turns'] for row in rows)} turns; without Prowess none")
    return 0


def _read_sessions(folder: Path, most: int) -> Iterator[Sequence[Mapping[str, str]]]:
    """Yield what each person typed, those who typed most first."""
    by_source: dict[str, list[dict[str, str]]] = {}
    with lzma.open(folder / "messages.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            by_source.setdefault(row["source"], []).append(row)
    for source in sorted(by_source, key=lambda one: (-len(by_source[one]), one)):
        yield by_source[source][:most]


def _replay(turns: Sequence[Mapping[str, str]], *, is_codex: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pw") as root:
        work, state = Path(root, "w"), Path(root, "s")
        work.mkdir()
        state.mkdir()
        (state / "prowess.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
        environ = {"PATH": os.environ["PATH"], "HOME": root, "PROWESS_HOME": str(state)}
        kept = ".codex/sessions/2026/01/05" if is_codex else ".claude/projects/w"
        log = Path(root, kept, "rollout-one.jsonl" if is_codex else "one.jsonl")
        log.parent.mkdir(parents=True)
        asked = letters = 0
        with open_runtime(work, home=state, environ=environ) as runtime:
            learning = open_turn_learning(runtime)
            for number, turn in enumerate(turns):
                said = _ask(turn["text"], work, state, environ, is_codex=is_codex)
                asked, letters = asked + (_ASKED in said), letters + len(said)
                _write_turn(log, number, turn, work, is_codex=is_codex)
                incoming = read(_payload("Stop", work, log, is_codex=is_codex), environ)
                if incoming is not None:
                    learning.learn(incoming)
            proposed = [
                {
                    "rule": _rule(one.evidence),
                    "skill": one.skill,
                    "place": f"{one.place}/{one.skill}",
                }
                for one in reversed(runtime.workshop.list())
            ]
    return {"asked": asked, "letters": letters, "proposed": proposed}


def _rule(evidence: Sequence[Any]) -> str:
    return "; ".join(one.quote for one in evidence)


def _ask(
    prompt: str, work: Path, state: Path, environ: Mapping[str, str], *, is_codex: bool
) -> str:
    said: list[str] = []
    payload = _payload("UserPromptSubmit", work, None, is_codex=is_codex, prompt=prompt)
    place = HookPlace(str(work), str(state), time.monotonic())
    answer_alone(payload, environ, place, said.append)
    return "".join(said)


def _payload(
    event: str, work: Path, log: Path | None, *, is_codex: bool, prompt: str = ""
) -> bytes:
    found = {"session_id": "one", "cwd": str(work), "hook_event_name": event}
    found |= {"prompt": prompt} if prompt else {}
    found |= {"transcript_path": str(log)} if log else {}
    if is_codex:
        found |= {"turn_id": "t", "model": "m", "permission_mode": "default"}
    return json.dumps(found).encode()


def _write_turn(
    log: Path, number: int, turn: Mapping[str, str], work: Path, *, is_codex: bool
) -> None:
    """Add one turn to the session as its harness writes it."""
    write = _write_codex if is_codex else _write_claude
    with log.open("a", encoding="utf-8") as file:
        if is_codex and not number:
            meta = {"id": "one", "cwd": str(work), "originator": "codex_cli_rs"}
            file.write(json.dumps({"type": "session_meta", "payload": meta}) + "\n")
        for role, text in (("assistant", turn.get("prev") or "Done."), ("user", turn["text"])):
            file.write(json.dumps(write(role, text, f"{number}{role[0]}")) + "\n")


def _write_claude(role: str, text: str, uuid: str) -> dict[str, Any]:
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    message = {"role": role, "content": content}
    return {"type": role, "sessionId": "one", "uuid": uuid, "message": message}


def _write_codex(role: str, text: str, _uuid: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"type": "response_item", "payload": item}


if __name__ == "__main__":
    sys.exit(main())
