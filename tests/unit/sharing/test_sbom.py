"""A lock as a bill of materials: whole, and the same for the same lock."""

import json

from tests.rows import each_row

from prowess.sharing.lock import Lock, LockEntry, make_cyclonedx, make_spdx

FILES = {"SKILL.md": "1" * 64, "a.md": "2" * 64}
LOCK = (
    Lock()
    .put(
        "notes",
        LockEntry(
            source="Acme/skills",
            kind="git",
            url="https://github.com/Acme/skills.git",
            path="tools/notes",
            resolved="a" * 40,
            files=FILES,
            scan={"verdict": "clean"},
        ),
    )
    .put("hub", LockEntry(source="clawhub:hub", kind="clawhub", version="1.0.0", files=FILES))
    .put(
        "pack",
        LockEntry(source="npm:@acme/pack@2", kind="npm", version="2.0.0", path="x", files=FILES),
    )
)


def test_cyclonedx_names_every_skill_with_its_digests() -> None:
    made = make_cyclonedx(LOCK, "1.0")

    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    purls = {one["name"]: one["purl"] for one in made["components"]}
    assert purls == {
        "hub": "pkg:generic/hub@1.0.0",
        "notes": f"pkg:github/acme/skills@{'a' * 40}#tools/notes",
        "pack": "pkg:npm/%40acme/pack@2.0.0#x",
    }
    notes = next(one for one in made["components"] if one["name"] == "notes")
    assert [one["name"] for one in notes["components"]] == ["SKILL.md", "a.md"]
    assert len({one["bom-ref"] for one in made["components"]}) == len(made["components"])


def test_spdx_describes_every_skill() -> None:
    made = make_spdx(LOCK, "1.0", "2026-11-16T00:00:00Z")

    assert made["spdxVersion"] == "SPDX-2.3"
    ids = [one["SPDXID"] for one in made["packages"]]
    assert [one["relatedSpdxElement"] for one in made["relationships"]] == ids
    notes = next(one for one in made["packages"] if one["name"] == "notes")
    assert notes["downloadLocation"].startswith("git+https://github.com/Acme/skills.git@aaaa")


@each_row("kind", ["cyclonedx", "spdx"])
def test_the_same_lock_gives_the_same_document(kind: str) -> None:
    made = [
        make_cyclonedx(LOCK, "1") if kind == "cyclonedx" else make_spdx(LOCK, "1", "t")
        for _ in range(2)
    ]

    assert json.dumps(made[0]) == json.dumps(made[1])
