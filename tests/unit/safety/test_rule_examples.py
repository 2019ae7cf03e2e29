"""Each example of the rule table, scanned: those that must fire and those that must not."""

from tests.rows import each_row

from prowess.safety.model import Example, Level, Profile
from prowess.safety.rules.table import read_examples, read_rules
from prowess.safety.scan import ScanOptions, scan

_TRUSTED = ("github", "claude-code", "slack", "notion", "skill-creator")
_FRONT = "---\nname: example\ndescription: A skill for the test.\n---\n\n"


def _files(example: Example) -> dict[str, bytes]:
    if isinstance(example, str):
        return {"SKILL.md": (_FRONT + example).encode()}
    return {path: text.encode("utf-8", "surrogatepass") for path, text in example.items()}


def _name(files: dict[str, bytes]) -> str:
    for line in files.get("SKILL.md", b"").decode("utf-8", "replace").splitlines():
        if line.startswith("name:"):
            return line.partition(":")[2].strip()
    return ""


def _hits(example: Example, rule_id: str) -> list[Level]:
    files = _files(example)
    options = ScanOptions(skill=_name(files), trusted_names=_TRUSTED)
    report = scan(files, Profile.PACKAGE, options)
    return [found.level for found in report.findings if found.rule_id == rule_id]


_FIRES = [(rule, at) for rule in read_rules() for at in range(len(read_examples(rule).fires))]
_QUIET = [(rule, at) for rule in read_rules() for at in range(len(read_examples(rule).quiet))]


@each_row(("rule_id", "number"), _FIRES)
def test_an_example_fires_at_least_at_the_level_of_its_row(rule_id: str, number: int) -> None:
    rule = read_rules()[rule_id]
    example = read_examples(rule_id).fires[number]

    assert any(level.rank <= rule.level.rank for level in _hits(example, rule_id))


@each_row(("rule_id", "number"), _QUIET)
def test_an_honest_look_alike_does_not_fire(rule_id: str, number: int) -> None:
    levels = _hits(read_examples(rule_id).quiet[number], rule_id)

    assert Level.CRITICAL not in levels
    assert Level.WARN not in levels
