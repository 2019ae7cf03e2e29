"""Rules on the files themselves: their names, kinds and frontmatter, and what was not read."""

from prowess.safety.model import Level, Rule
from prowess.safety.rules.example_text import folder

_NOTE = "Sort the notes."
_DEEP = 40_000


def _named(name: str, description: str = "Tidy up notes.") -> dict[str, str]:
    return {"SKILL.md": f"---\nname: {name}\ndescription: {description}\n---\n\nSort the notes.\n"}


RULES: tuple[Rule, ...] = (
    Rule(
        id="path-traversal",
        family="files",
        title="Leaves its folder",
        level=Level.CRITICAL,
        why=(
            "A file name leads out of the skill's folder, so that unpacking or copying it "
            "overwrites something else on your machine."
        ),
        fix="Name files relative to the skill, without `..`, drive letters or a leading slash.",
        references=("CWE-22", "CWE-23"),
        fires=(
            folder(_NOTE, {"references/../../../.bashrc": "id\n"}),
            folder(_NOTE, {"/etc/cron.d/notes": "* * * * * root id\n"}),
            folder(_NOTE, {"assets\\..\\..\\Startup\\n.cmd": "dir\n"}),
        ),
        quiet=(
            folder("See [the guide](../shared/guide.md).", {"references/..notes.md": "# Notes\n"}),
            folder("```bash\ncd .. && make\n```"),
            folder(_NOTE, {"references/a...b.md": "# Notes\n"}),
        ),
    ),
    Rule(
        id="odd-name",
        family="files",
        title="Has a file name that misleads",
        level=Level.WARN,
        why=(
            "Control characters, trailing spaces or names that a system reserves make a file look "
            "like another one, or make tools pass over it."
        ),
        fix="Use letters, digits, dots, dashes and underscores.",
        references=("CWE-451", "CWE-67"),
        fires=(
            folder(_NOTE, {"scripts/run.sh ": "id\n"}),
            folder(_NOTE, {"assets/aux.txt": "text\n"}),
            folder(_NOTE, {"assets/plan\u200b.md": "text\n"}),
        ),
        quiet=(
            folder(_NOTE, {"references/release-notes_v1.2.md": "text\n"}),
            folder(_NOTE, {"references/\u8bf4\u660e.md": "text\n"}),
        ),
    ),
    Rule(
        id="name-collision",
        family="files",
        title="Has two files that are one on other systems",
        level=Level.CRITICAL,
        why=(
            "On systems that do not tell the two names apart, one file replaces the other. What "
            "was reviewed is then not what is run."
        ),
        fix="Give each file a name that differs in more than case or accents.",
        references=("CWE-178", "CWE-176"),
        fires=(
            folder(_NOTE, {"scripts/run.py": "print(1)\n", "scripts/Run.py": "print(2)\n"}),
            folder(_NOTE, {"skill.md": "---\nname: other\ndescription: Other.\n---\n"}),
            folder(_NOTE, {"references/caf\u00e9.md": "a\n", "references/cafe\u0301.md": "b\n"}),
        ),
        quiet=(
            folder(_NOTE, {"scripts/run.py": "print(1)\n", "tests/run.py": "print(2)\n"}),
            folder(_NOTE, {"scripts/run.py": "print(1)\n", "scripts/run.sh": "true\n"}),
            folder(_NOTE, {"references/README.md": "a\n", "references/readme-old.md": "b\n"}),
        ),
    ),
    Rule(
        id="unscanned-content",
        family="files",
        title="Contains a file that was not read",
        level=Level.WARN,
        why="The scan says nothing about this file. Whatever is in it has not been checked.",
        fix="Ship text, or leave the file out.",
        references=("CWE-1104", "ATT&CK T1027"),
        fires=(
            folder(_NOTE, {"assets/state.dat": "\x00\x01\x02\x7f\x00\x03\x04\x00" * 40}),
            folder(
                _NOTE,
                {"references/report.pdf": "%PDF-1.7\n\x00\x01stream\x00\x02endstream\n%%EOF\n"},
            ),
        ),
        quiet=(
            folder(_NOTE, {"assets/words.dat": "alpha\nbeta\ngamma\n"}),
            folder(_NOTE, {"assets/dot.gif": "GIF89a\x01\x00\x01\x00\x00\x00\x00;"}),
        ),
    ),
    Rule(
        id="binary-content",
        family="files",
        title="Contains a compiled program",
        level=Level.WARN,
        why=(
            "A compiled program cannot be read by you or by the scan. It may do anything when it "
            "is started."
        ),
        fix="Ship the source, or install the program from its maker.",
        references=("CWE-506", "ATT&CK T1027"),
        fires=(
            folder(_NOTE, {"scripts/tool": "\x7fELF\x02\x01\x01\x00" + "\x00" * 56}),
            folder(_NOTE, {"scripts/tool.wasm": "\x00asm\x01\x00\x00\x00"}),
        ),
        quiet=(
            folder(_NOTE, {"scripts/tool": "#!/bin/sh\necho ok\n"}),
            folder("Programs for Linux begin with the bytes `7f 45 4c 46`."),
        ),
    ),
    Rule(
        id="bytecode",
        family="files",
        title="Contains compiled Python",
        level=Level.WARN,
        why=(
            "Python runs the compiled file even when the source beside it says something else. A "
            "reviewer reads one thing and another is run."
        ),
        fix="Delete `__pycache__` and `.pyc` files before publishing.",
        references=("CWE-506", "ATT&CK T1027"),
        fires=(
            folder(_NOTE, {"scripts/__pycache__/tidy.cpython-311.pyc": "\x17\x0d\x0d\x0a\x00\x00"}),
            folder(_NOTE, {"scripts/tidy.pyc": "\x17\x0d\x0d\x0a\x00\x00\x00\x00"}),
        ),
        quiet=(
            folder(_NOTE, {"scripts/tidy.py": "print(1)\n"}),
            folder(_NOTE, {".gitignore": "__pycache__/\n*.pyc\n"}),
        ),
    ),
    Rule(
        id="import-time-file",
        family="files",
        title="Contains a file that an interpreter runs unasked",
        level=Level.WARN,
        why=(
            "Files of this name are run as soon as the interpreter starts in the folder, without "
            "anybody calling them."
        ),
        fix="Give the module another name and call it where it is needed.",
        references=("CWE-427", "ATT&CK T1546"),
        fires=(
            folder("Run scripts/tidy.py.", {"scripts/sitecustomize.py": "print(1)\n"}),
            folder("Run scripts/tidy.py.", {"scripts/notes.pth": "import os\n"}),
        ),
        quiet=(
            folder("Run scripts/tidy.py.", {"scripts/__init__.py": ""}),
            folder("Run scripts/tidy.py.", {"scripts/customise.py": "print(1)\n"}),
        ),
    ),
    Rule(
        id="disguised-file",
        family="files",
        title="Contains a file that is not what its name says",
        level=Level.CRITICAL,
        why=(
            "A program carries the name of a picture or a document, so that it is passed over or "
            "opened without care."
        ),
        fix="Give the file the ending of what it is.",
        references=("ATT&CK T1036.007", "ATT&CK T1036.008", "CWE-646"),
        fires=(
            folder("Run `bash assets/logo.png`.", {"assets/logo.png": "#!/bin/bash\nid\n"}),
            folder(_NOTE, {"assets/plan.pdf.exe": "MZ\x00\x00"}),
            folder(_NOTE, {"assets/photo.jpg": "\x7fELF\x02\x01\x01\x00" + "\x00" * 56}),
        ),
        quiet=(
            folder(_NOTE, {"assets/logo.svg": '<svg xmlns="http://www.w3.org/2000/svg"></svg>\n'}),
            folder(_NOTE, {"scripts/tidy": "#!/usr/bin/env python3\nprint(1)\n"}),
            folder(
                _NOTE,
                {"assets/page.html.tmpl": "<p>{{ text }}</p>\n", "assets/a.d.ts": "export {};\n"},
            ),
        ),
    ),
    Rule(
        id="nested-archive",
        family="files",
        title="Contains an archive",
        level=Level.WARN,
        why=(
            "What is packed inside is not seen by the scan, and it may be unpacked over other "
            "files."
        ),
        fix="Ship the files themselves.",
        references=("CWE-506", "CWE-409"),
        fires=(
            folder(_NOTE, {"assets/data.zip": "PK\x03\x04\x14\x00\x00\x00\x08\x00"}),
            folder(_NOTE, {"assets/data.bin": "PK\x03\x04\x14\x00\x00\x00\x08\x00"}),
        ),
        quiet=(
            folder("```bash\nzip -r notes.zip notes/\n```"),
            folder(_NOTE, {"assets/data.csv": "a,b\n1,2\n"}),
        ),
    ),
    Rule(
        id="broad-tools",
        family="files",
        title="Asks for tools without limits",
        level=Level.WARN,
        why=(
            "The skill wants every command or every file without a question. If it is turned "
            "against you, nothing is asked."
        ),
        fix="Name the commands that the skill needs, such as `Bash(git diff:*)`.",
        references=("OWASP LLM06", "CWE-250"),
        fires=(
            folder(_NOTE, head="description: Notes.\nallowed-tools: Bash(*), Write(*)"),
            folder(_NOTE, head='description: Notes.\nallowed-tools:\n  - "*"'),
        ),
        quiet=(
            folder(_NOTE, head="description: Notes.\nallowed-tools: Read, Grep, Bash(git diff:*)"),
            folder("Do not write `Bash(*)` in `allowed-tools`."),
        ),
    ),
    Rule(
        id="unsafe-frontmatter",
        family="files",
        title="Has a frontmatter that readers disagree on",
        level=Level.WARN,
        why=(
            "Keys that stand twice, aliases or a second block are read differently by different "
            "programs. A reviewer and the runtime then see different skills."
        ),
        fix="Write each key once, in one block, without anchors.",
        references=("CWE-436", "CWE-776"),
        fires=(
            folder(_NOTE, head="description: Tidy notes.\ndescription: Something else."),
            folder(_NOTE, head="description: Notes.\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"),
            {
                "SKILL.md": (
                    "---\nname: notes\ndescription: Notes.\n---\n---\nname: other\n"
                    "description: Other.\n---\n\nText.\n"
                )
            },
        ),
        quiet=(
            folder(_NOTE, head="description: Notes.\nlicense: MIT"),
            folder("Text.\n\n---\n\nMore text below a rule."),
        ),
    ),
    Rule(
        id="name-lookalike",
        family="files",
        title="Has a name that imitates a known one",
        level=Level.WARN,
        why=(
            "The name looks like a well-known tool or vendor but is spelt differently, so that you "
            "take it for the real one."
        ),
        fix="Choose a name of its own.",
        references=("CWE-1007", "ATT&CK T1036.005"),
        fires=(_named("g1thub"), _named("cIaude-code"), _named("sl\u0430ck")),
        quiet=(_named("github-issues"), _named("meeting-notes"), _named("slack-digest")),
    ),
    Rule(
        id="scan-incomplete",
        family="files",
        title="Could not be scanned to the end",
        level=Level.CRITICAL,
        why=(
            "A part of the skill took too long or could not be analysed. What was not analysed may "
            "be anything, so the skill counts as not checked."
        ),
        fix="Split or simplify the file that is named, and leave generated code out.",
        references=("CWE-674", "CWE-400"),
        fires=(
            folder("Run scripts/tidy.py.", {"scripts/tidy.py": f"x = {'-' * _DEEP}1\n"}),
            folder("Run scripts/tidy.py.", {"scripts/tidy.py": f"x = a{'.b()' * _DEEP}\n"}),
            folder(_NOTE, {"assets/tree.json": "[" * _DEEP + "]" * _DEEP}),
        ),
        quiet=(
            folder("Run scripts/tidy.py.", {"scripts/tidy.py": "def broken(:\n"}),
            folder(_NOTE, {"assets/tree.json": "[" * 20 + "]" * 20}),
            folder(_NOTE, {"assets/list.csv": "a,b\n" * 20_000}),
        ),
    ),
    Rule(
        id="reviewer",
        family="review",
        title="A reviewing model found something",
        level=Level.CRITICAL,
        why=(
            "A language model that read the skill says so and quotes this line. It can be wrong, "
            "and it sees what no fixed rule describes: read the passage yourself."
        ),
        fix=("If the passage is harmless, say in the description what it is for; else remove it."),
        references=("OWASP LLM01",),
        # Only a model can make it fire: there is no text that always does.
        fires=(),
        quiet=(),
    ),
)
