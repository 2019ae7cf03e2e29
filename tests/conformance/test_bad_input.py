"""Broken and hostile input, tried through the terminal: one sentence, siblings load."""

import os
import socket
from collections.abc import Iterable
from pathlib import Path

import pytest

from .world import Json, World, alias_bomb

HEAD = "---\nname: bad\ndescription: Bad.\n"

# Each must keep the skill out, with this diagnostic.
REFUSED: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "FRONTMATTER_MISSING"),
    "only blanks": (b" \n\n \n", "FRONTMATTER_MISSING"),
    "only a fence": (b"---\n", "UNTERMINATED_FRONTMATTER"),
    "empty block": (b"---\n---\nBody.\n", "DESCRIPTION_MISSING"),
    "scalar root": (b"---\nbad\n---\nBody.\n", "INVALID_ROOT"),
    "unclosed bracket": (HEAD.encode() + b"tags: [a, b\n---\nBody.\n", "YAML_EXCEPTION"),
    "unclosed quote": (HEAD.encode() + b'license: "MIT\n---\nBody.\n', "YAML_EXCEPTION"),
    "a tag of its own": (HEAD.encode() + b"x: !secret value\n---\nBody.\n", "CUSTOM_TAG"),
    "unknown alias": (HEAD.encode() + b"x: *nowhere\n---\nBody.\n", "ALIAS_FORBIDDEN"),
    "alias to itself": (HEAD.encode() + b"x: &x [*x]\n---\nBody.\n", "ALIAS_FORBIDDEN"),
    "alias bomb": (f"{HEAD}{alias_bomb(15)}\n---\nBody.\n".encode(), "ALIAS_FORBIDDEN"),
    "NUL in the block": (HEAD.encode() + b"x: a\x00b\n---\nBody.\n", "NUL_BYTE"),
    "NUL in the body": (HEAD.encode() + b"---\nBody \x00 more.\n", "NUL_BYTE"),
    "invalid UTF-8 in the block": (HEAD.encode() + b"x: \xff\xfe\n---\nB.\n", "INVALID_UTF8"),
    "invalid UTF-8 in the body": (HEAD.encode() + b"---\nBody \xc3\x28.\n", "INVALID_UTF8"),
    "UTF-16": ((HEAD + "---\nBody.\n").encode("utf-16"), "NUL_BYTE"),
    "binary": (b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)) * 8, "NUL_BYTE"),
    "too many bytes": (HEAD.encode() + b"---\n" + b"x" * 256_001, "FILE_TOO_LARGE"),
    "brackets without end": (f"{HEAD}x: {'[' * 5000}\n---\nBody.\n".encode(), "TOO_DEEP"),
}

# Each may load or not, but never stops anything.
ODD: dict[str, bytes] = {
    "a number of 5000 digits": f"{HEAD}x: {'9' * 5000}\n---\nBody.\n".encode(),
    "an impossible date": HEAD.encode() + b"updated: 2024-99-99\n---\nBody.\n",
    "infinities": HEAD.encode() + b"a: .inf\nb: -.inf\nc: .nan\n---\nBody.\n",
    "bytes": HEAD.encode() + b"x: !!binary aGVsbG8=\n---\nBody.\n",
    "merge keys": HEAD.encode() + b"a: &a {k: v}\nb: {<<: {c: d}}\n---\nBody.\n",
    "keys that are no strings": HEAD.encode() + b"1: a\ntrue: b\n~: c\n---\nBody.\n",
    "a list as a key": HEAD.encode() + b"? [a, b]\n: c\n---\nBody.\n",
    "a lone surrogate": b'---\nname: bad\ndescription: "Bad \\ud800 one."\n---\nBody.\n',
    "a description that is a map": b"---\nname: bad\ndescription: {a: b}\n---\nBody.\n",
    "a name that is a list": b"---\nname: [bad]\ndescription: Bad.\n---\nBody.\n",
    "a name with a path in it": b"---\nname: ../../etc/bad\ndescription: Bad.\n---\nBody.\n",
    "a name with line breaks": b'---\nname: "bad\\n\\nname"\ndescription: Bad.\n---\nBody.\n',
    "a name of 10000 characters": b"---\nname: " + b"n" * 10_000 + b"\ndescription: B.\n---\n",
    "two documents": HEAD.encode() + b"--- \n--- \nname: second\n---\nBody.\n",
    "an end mark": HEAD.encode() + b"...\nx: y\n---\nBody.\n",
    "a YAML directive": b"---\n%YAML 1.2\nname: bad\ndescription: Bad.\n---\nBody.\n",
    "metadata nested deeply": (
        HEAD + "metadata: '" + '{"a":' * 3000 + "1" + "}" * 3000 + "'\n---\nBody.\n"
    ).encode(),
    "config paths of a prototype": HEAD.encode()
    + b'metadata: {"openclaw": {"requires": {"config": ["__proto__.x", "", "."]}}}\n---\nB.\n',
    "install of odd types": HEAD.encode()
    + b"metadata: {openclaw: {install: [1, null, {kind: 7}, []], emoji: [x]}}\n---\nB.\n",
    "control characters": HEAD.encode() + b"x: a\x01\x02\x1bb\n---\nBody.\n",
    "line separators": (HEAD + "x: a\u2028b\u2029c\u0085d\n---\nBody.\n").encode(),
}


def folders(contents: Iterable[str]) -> dict[str, str]:
    """A folder for each kind of content."""
    return {name: name.replace(" ", "-").lower() for name in contents}


@pytest.mark.requirement(
    "bad:siblings-load", "bad:binary", "bad:invalid-utf8", "bad:nul", "validate:exit-one"
)
def test_every_bad_file_is_refused_with_its_code_and_siblings_load(world: World) -> None:
    world.skill("sibling")
    for name, folder in folders(REFUSED).items():
        world.raw(folder, REFUSED[name][0])

    result = world.run("validate", world.skills, "--format", "json").calm()

    found = {name: world.codes(f"/{folder}/") for name, folder in folders(REFUSED).items()}
    invalid = [item for item in result.json["files"] if not item["valid"]]
    assert found == {name: {code} for name, (_, code) in REFUSED.items()}
    assert world.own() == {"sibling"}
    assert world.prompt_names()[-2:] == ["sibling", "skill-authoring"]
    assert (result.code, len(invalid)) == (1, len(REFUSED))


@pytest.mark.requirement("frontmatter:never-raises", "bad:siblings-load")
def test_odd_files_never_stop_their_siblings(world: World) -> None:
    world.skill("sibling")
    for name, folder in folders(ODD).items():
        world.raw(folder, ODD[name])

    for args in (("list",), ("check",), ("snapshot", "--json"), ("validate",), ("prompt",)):
        world.run(*args).calm()

    assert world.ready("sibling")
    assert world.run("validate", "--format", "sarif").calm().code == 1


@pytest.mark.requirement("bad:not-a-file", "containment:reason-codes")
@pytest.mark.parametrize("kind", ["folder", "pipe", "socket"])
def test_what_is_no_file_is_no_skill_and_never_hangs(
    world: World, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world.skills / "odd" / "SKILL.md"
    path.parent.mkdir(parents=True)
    world.skill("sibling")
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        # The name of a socket must be short, so it is bound from where it stands.
        monkeypatch.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)

    assert world.own() == {"sibling"}
    assert len(world.codes("odd") & {"not-a-file", "unreadable"}) == 1
    assert world.run("validate").calm().code == 1


@pytest.mark.requirement("bad:not-a-file")
def test_a_pipe_among_stand_alone_files_never_hangs(world: World) -> None:
    world.skill("sibling")
    os.mkfifo(world.skills / "note.md")

    assert world.own() == {"sibling"}


@pytest.mark.requirement("bad:not-a-file", "containment:file-stays-in-its-folder")
def test_a_link_to_an_endless_device_never_hangs(world: World) -> None:
    world.link(world.managed / "odd" / "SKILL.md", Path("/dev/zero"))
    world.skill("sibling")

    assert world.own() == {"sibling"}


@pytest.mark.requirement("bad:not-a-file", "sources:missing-root")
def test_a_file_in_place_of_the_skills_folder_is_no_crash(world: World) -> None:
    world.file(world.skills, "not a folder\n")
    world.skill("sibling", root=world.managed)

    assert world.own() == {"sibling"}


@pytest.mark.requirement("config:broken-is-one-sentence", "exit:errors-are-one-sentence")
def test_a_broken_configuration_ends_with_one_sentence(world: World) -> None:
    torn: tuple[str | bytes, ...] = ("{ skills: { entries: ", "words", "[1, 2]", b"\xff\xfe\x00{")
    for content in torn:
        world.config(content)

        result = world.run("list").one_sentence()

        assert result.code == 1
        assert str(world.config_file) in result.err


@pytest.mark.requirement("config:broken-is-one-sentence")
def test_a_broken_configuration_names_the_line(world: World) -> None:
    world.config('{\n  "skills": {\n    "entries": oops oops\n  }\n}\n')

    result = world.run("list").one_sentence()

    assert result.code == 1
    assert "3" in result.err.replace(str(world.root), "")


@pytest.mark.requirement("config:broken-is-one-sentence")
def test_a_folder_in_place_of_the_configuration_is_one_sentence(world: World) -> None:
    world.config_file.mkdir()

    assert world.run("list").one_sentence().code == 1


@pytest.mark.requirement("config:json5")
def test_an_empty_configuration_is_fine(world: World) -> None:
    for content in ("", "{}", "// nothing yet\n{}\n"):
        world.config(content)

        assert world.run("list").calm().code == 0


WRONG_TYPES: Json = {
    "skills": {
        "limits": {"maxSkillsInPrompt": "many", "maxSkillsPromptChars": -5},
        "load": {"extraDirs": "just-one", "precedence": "upside-down"},
        "entries": {"alpha": True, "beta": {"env": ["A"], "enabled": "no"}},
        "nodes": "den",
    },
    "agents": {"list": [{"name": "no id"}, {"id": "a"}, {"id": "a"}]},
    "plugins": {"load": {"paths": 7}},
}


@pytest.mark.requirement("config:wrong-type-reported")
def test_values_of_the_wrong_type_are_reported_and_no_error(world: World) -> None:
    world.config(WRONG_TYPES)
    world.skill("alpha")

    result = world.run("list", "--json").calm()

    assert result.code == 0
    assert {problem["key"] for problem in result.json["configProblems"]} == {
        "skills.limits.maxSkillsInPrompt",
        "skills.limits.maxSkillsPromptChars",
        "skills.load.extraDirs",
        "skills.load.precedence",
        "skills.entries.alpha",
        "skills.entries.beta.env",
        "skills.entries.beta.enabled",
        "skills.nodes",
        "agents.list[0]",
        "agents.list[2]",
        "plugins.load.paths",
    }


@pytest.mark.requirement("config:wrong-type-reported")
def test_a_section_of_the_wrong_type_is_reported_and_no_error(world: World) -> None:
    sections: tuple[tuple[str, Json], ...] = (
        ("skills", {"skills": []}),
        ("skills.load", {"skills": {"load": "x"}}),
        ("skills.limits", {"skills": {"limits": 5}}),
        ("agents", {"agents": 7}),
    )
    for key, content in sections:
        world.config(content)

        assert [item["key"] for item in world.document("list")["configProblems"]] == [key]


@pytest.mark.requirement("config:wrong-type-reported", "filter:never-opens-by-mistake")
def test_a_filter_of_the_wrong_type_never_opens_everything(world: World) -> None:
    world.config({"agents": {"list": [{"id": "main", "skills": "alpha"}]}})
    world.skill("alpha")
    world.skill("beta")

    assert world.prompt_names() == []
