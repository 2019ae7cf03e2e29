"""The lock: the same bytes for the same skills, honest about damage, and deaf to what it is not."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import LockError
from prowess.sharing.lock import ALGORITHM, Lock, LockEntry, content_digest, dump, find_drift, parse

ONE, TWO, THREE = ("1" * 64, "2" * 64, "3" * 64)
names = st.text("abcdefgh-", min_size=1, max_size=8).filter(lambda name: name.strip("-") == name)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)


def entry(**changes: object) -> LockEntry:
    values: dict[str, object] = {
        "source": "acme/skills@main",
        "kind": "git",
        "url": "https://github.com/acme/skills.git",
        "path": "skills/notes",
        "ref": "main",
        "resolved": "a" * 40,
        "files": {"SKILL.md": ONE, "scripts/run.sh": TWO},
        "scan": {"verdict": "clean", "scanner": "7"},
        "approval": {"digest": "sha256:x", "by": "ann", "when": "2026-11-16"},
    }
    return LockEntry(**(values | changes))  # type: ignore[arg-type]


def test_the_digest_is_the_one_that_the_lock_names() -> None:
    files = {"b": TWO, "a/é": ONE, "a": THREE}

    rows = b"a\0" + THREE.encode() + b"\n" + "a/é\0".encode() + ONE.encode() + b"\nb\0"
    expected = hashlib.sha256(rows + TWO.encode() + b"\n").hexdigest()
    assert content_digest(files) == f"sha256:{expected}"


def test_the_text_of_a_lock_says_all_that_is_promised_in_order() -> None:
    text = dump(Lock().put("notes", entry()))

    found = json.loads(text)
    assert found["lockVersion"] == 1
    assert found["algorithm"] == ALGORITHM
    one = found["skills"]["notes"]
    assert {
        "source", "resolved", "contentDigest", "files", "scan", "approval", "provenance",
        "requiredBy",
    } <= one.keys()  # fmt: skip
    assert one["provenance"] == {"unsigned": True}
    assert text == json.dumps(found, sort_keys=True, indent=2).encode() + b"\n"


@given(st.dictionaries(names, st.dictionaries(names, digests, max_size=3), max_size=4))
def test_reading_and_writing_changes_no_byte(skills: dict[str, dict[str, str]]) -> None:
    lock = Lock()
    for name, files in skills.items():
        lock = lock.put(name, entry(files=files))

    text = dump(lock)

    assert dump(parse(text, "prowess.lock")) == text


def test_the_order_in_which_skills_are_added_does_not_show() -> None:
    one = Lock().put("a", entry()).put("b", entry())
    other = Lock().put("b", entry()).put("a", entry())

    assert dump(one) == dump(other)


def test_keys_of_others_survive_at_every_level() -> None:
    values = json.loads(dump(Lock().put("notes", entry())))
    values["futureTop"] = {"x": [1]}
    values["skills"]["notes"]["futureKey"] = "kept"

    found = json.loads(dump(parse(json.dumps(values).encode(), "prowess.lock").put("b", entry())))

    assert found["futureTop"] == {"x": [1]}
    assert found["skills"]["notes"]["futureKey"] == "kept"


def test_a_digest_by_an_older_way_is_made_anew_and_nothing_is_lost() -> None:
    values = json.loads(dump(Lock().put("notes", entry())))
    values["algorithm"] = "sha256-older"
    values["skills"]["notes"]["contentDigest"] = "older:123"
    values["skills"]["notes"]["approval"]["digest"] = "older:123"

    found = parse(json.dumps(values).encode(), "prowess.lock")

    # Who approved those files approved them still.
    assert found.skills["notes"].approval["digest"] == entry().digest

    assert found.skills["notes"].files == entry().files
    assert json.loads(dump(found))["skills"]["notes"]["contentDigest"] == entry().digest


@each_row("version", [0, 2, 99, "1", None, True])
def test_an_unknown_version_is_an_error_that_names_it(version: object) -> None:
    text = json.dumps({"lockVersion": version, "algorithm": ALGORITHM, "skills": {}}).encode()

    with pytest.raises(LockError, match="lockVersion"):
        parse(text, "prowess.lock")


def _damaged(**changes: object) -> bytes:
    values = json.loads(dump(Lock().put("notes", entry())))
    values["skills"]["notes"].update(changes)
    return json.dumps(values).encode()


@each_row(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"lockVersion": 1}',
        b'{"lockVersion": 1, "skills": []}',
        b'{"lockVersion": 1, "skills": {"a": {}, "a": {}}}',
        b"[" * 100_000,
        _damaged(files={"SKILL.md": "short"}),
        _damaged(files={"../SKILL.md": ONE}),
        _damaged(files={"a": ONE, "A": ONE}),
        _damaged(files=[]),
        _damaged(source=7),
        _damaged(contentDigest="sha256:" + ONE),
        _damaged(requiredBy="x"),
        dump(Lock().put("notes", entry()))[:-40],
        dump(Lock().put("notes", entry())).replace(b'"notes"', b'"../notes"'),
    ],
)
def test_a_damaged_lock_is_an_error_and_never_an_empty_one(text: bytes) -> None:
    with pytest.raises(LockError, match="damaged") as raised:
        parse(text, "place/prowess.lock")

    assert "place/prowess.lock" in str(raised.value)


def test_what_differs_is_named_by_what_happened_to_it() -> None:
    locked = {"same": ONE, "changed": ONE, "gone": TWO, "old-name": THREE}
    found = {"same": ONE, "changed": TWO, "new": ONE, "new-name": THREE}

    drift = find_drift(locked, found)

    assert drift.lines == (
        "changed changed",
        "added new",
        "removed gone",
        "renamed old-name to new-name",
    )
    assert not find_drift(locked, dict(locked))
