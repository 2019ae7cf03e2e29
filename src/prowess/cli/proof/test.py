"""`test`: everything that can be tested of skills without a key, in one go."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import click

from prowess.cli.options import Common, common
from prowess.cli.render import ProgressBar, print_json, print_text
from prowess.cli.sarif import log, uri
from prowess.data import read_text
from prowess.errors import PathError
from prowess.evaluation.skill_tests import KINDS, SkillTest, SkillTests
from prowess.skills.text import clean
from prowess.wire import proof as wire_proof
from prowess.wire.skills import Json
from prowess.wiring import open_runtime
from prowess.wiring.skill_tests import TestedSkills, run_tests

_MOST_SHOWN = 20
_FILES = {
    "github": (".github/workflows/skills.yml", "cli/proof/workflow.txt"),
    "pre-commit": (".pre-commit-config.yaml", "cli/proof/pre_commit.txt"),
}


@click.command("test")
@click.argument("paths", nargs=-1, type=click.Path(exists=True))
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(KINDS),
    help="Test only this; may be given more than once.",
)
@click.option("--strict", is_flag=True, help="Hold files to the whole Agent Skills standard.")
@click.option("--junit", metavar="FILE", type=click.Path(), help="Write JUnit XML there.")
@click.option("--sarif", metavar="FILE", type=click.Path(), help="Write SARIF there.")
@click.option("--markdown", metavar="FILE", type=click.Path(), help="Write a summary there.")
@click.option(
    "--init",
    type=click.Choice(sorted(_FILES)),
    help="Write the file that runs this in CI or before a commit, and test nothing.",
)
@common
def test_command(
    given: Common,
    paths: Sequence[str],
    *,
    only: Sequence[str],
    strict: bool,
    junit: str | None,
    sarif: str | None,
    markdown: str | None,
    init: str | None,
) -> int:
    """Test skills: files, scanner, freshness, messages that should find them, and budgets.

    Messages are those of the suites beside the skills (`evals/triggers.yaml`, and what `prowess
    eval` reads) and those saved in the studio. With PATHS only the files and suites there count.
    Nothing needs a key. Exit code 1 when a test fails or a suite cannot be read.
    """
    if init is not None:
        return _init(init)
    with open_runtime(given.workspace) as runtime, ProgressBar() as bar:
        found = run_tests(runtime, TestedSkills(paths, given.agent, only or KINDS, strict), bar)
    for target, text in ((junit, _junit), (markdown, _markdown)):
        if target:
            _write(target, text(found))
    if sarif:
        import json

        _write(sarif, json.dumps(_sarif(found), indent=2) + "\n")
    if given.as_json:
        print_json(wire_proof.skill_tests(found))
    else:
        _print(found)
    return 0 if found.passed else 1


def _init(which: str) -> int:
    place, text = _FILES[which]
    target = Path(place)
    if target.exists():
        raise PathError(place, f"exists: add this to it yourself:\n{read_text(text)}")
    _write(place, read_text(text))
    print_text(f"written: {place}")
    return 0


def _write(path: str, text: str) -> None:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise PathError(path, f"cannot be written: {error.strerror}.") from error


def _print(found: SkillTests) -> None:
    for one in found.failed[:_MOST_SHOWN]:
        print_text(f"✗ {one.kind}: {one.name}", "red")
        for failure in one.failures[:_MOST_SHOWN]:
            print_text(f"    {failure}")
    if len(found.failed) > _MOST_SHOWN:
        print_text(f"and {len(found.failed) - _MOST_SHOWN} more; --json has them all", "dim")
    for problem in found.problems[:_MOST_SHOWN]:
        print_text(f"! {problem}", "yellow")
    for kind, (every, lost) in found.counts().items():
        if every:
            print_text(f"{kind:<11} {every - lost} of {every} passed", "red" if lost else "green")


def _junit(found: SkillTests) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for kind, (every, lost) in found.counts().items():
        lines.append(f'  <testsuite name="{kind}" tests="{every}" failures="{lost}">')
        for one in found.tests:
            if one.kind == kind:
                lines += _junit_case(one)
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _junit_case(one: SkillTest) -> Iterator[str]:
    head = (
        f"    <testcase classname={_attribute(one.skill or one.kind)} name={_attribute(one.name)}"
    )
    if one.passed:
        yield f"{head}/>"
        return
    yield f"{head}>"
    yield f"      <failure message={_attribute('; '.join(one.failures))}/>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(clean(text).replace("\n", " "))


def _markdown(found: SkillTests) -> str:
    lines = ["# Skills", "", "| test | passed | failed |", "| --- | --- | --- |"]
    lines += [
        f"| {kind} | {n - lost} | {lost} |" for kind, (n, lost) in found.counts().items() if n
    ]
    lines += [
        "",
        *(
            f"- **{_cell(one.kind)}** {_cell(one.name)}: {_cell('; '.join(one.failures))}"
            for one in found.failed
        ),
    ]
    lines += [f"- could not be tested: {_cell(one)}" for one in found.problems]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    # What a skill says is text here, and neither a link nor a column.
    plain = clean(text).replace("\n", " ")
    return "".join(f"\\{char}" if char in "|[]<>*_`\\" else char for char in plain)


def _sarif(found: SkillTests) -> Json:
    kinds = [kind for kind in KINDS if any(one.kind == kind for one in found.failed)]
    rules = [
        {"id": kind, "shortDescription": {"text": f"A skill fails its {kind}."}} for kind in kinds
    ]
    results = [
        {
            "ruleId": one.kind,
            "ruleIndex": kinds.index(one.kind),
            "level": "error",
            "message": {"text": clean("; ".join(one.failures))},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri(one.path or ".")},
                        "region": {"startLine": one.line},
                    }
                }
            ],
        }
        for one in found.failed
    ]
    return log(rules, results)
