"""An agent without a model: it does what the prompt and the skills beside it spell out.

`Write "text" to file.` and `Say "text".` are obeyed, in the prompt and in every skill of the folder
`skills`; nothing else is. So a proof can be run from end to end where nobody has a key.
"""

import os
import re
import sys

_WRITE = re.compile(r"Write [\"“](?P<text>[^\"”\n]*)[\"”] to `?(?P<path>[\w./-]+\w)`?")
_SAY = re.compile(r"Say [\"“](?P<text>[^\"”\n]*)[\"”]")
_FOLDER, _FILE = "skills", "SKILL.md"


def act(prompt: str) -> str:
    """Do what is spelled out, in the current folder, and return what is said."""
    said = []
    for text in (prompt, *_read_skills()):
        for found in _WRITE.finditer(text):
            path = os.path.normpath(found["path"])
            if os.path.isabs(path) or path.startswith(".."):
                continue
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(found["text"] + "\n")
        said += [found["text"] for found in _SAY.finditer(text)]
    return "\n".join(said) or "Done."


def _read_skills() -> list[str]:
    found = []
    for name in sorted(os.listdir(_FOLDER)) if os.path.isdir(_FOLDER) else ():
        path = os.path.join(_FOLDER, name, _FILE)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found.append(file.read())
    return found


if __name__ == "__main__":
    sys.stdout.write(act(" ".join(sys.argv[1:])) + "\n")
