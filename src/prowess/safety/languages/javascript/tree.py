"""The syntax tree of a JavaScript text, as plain objects with character offsets.

The parser is error tolerant: what it cannot read becomes an `ERROR` node whose children are still
there, which is also how TypeScript and JSX pass.
"""

import re
from functools import lru_cache

import tree_sitter_javascript
from tree_sitter import Language, Parser, Tree

# Spaces that are not ASCII, and characters that show nothing: none may split or join a name.
_BLANK = re.compile(
    "[\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufe00-\ufe0f"
    "\U000e0000-\U000e0fff]"
)
_WIDE = re.compile(r"[^\x00-\x7f]")
# Types of TypeScript, where they are plainly types: names in capitals and the built-in ones.
_TYPE = (
    r"(?:readonly )?(?:string|number|boolean|any|unknown|void|never|object|bigint|null|undefined"
    r"|(?:[A-Za-z]\w{0,40}\.)?[A-Z]\w{0,60}(?:<[\w\s,.\[\]|'\"<>{}:;]{0,200}>)?)(?:\[\]){0,3}"
)
# A type only beside another one: as values, texts and objects are not joined by these signs.
_MEMBER = rf"(?:{_TYPE}|'[^'\n]{{0,60}}'|\"[^\"\n]{{0,60}}\"|\({_TYPE} & \{{\}}\))(?:\[\]){{0,3}}"
_UNION = rf"\s{{0,40}}\|?\s{{0,4}}{_MEMBER}(?:\s{{0,40}}[|&]\s{{0,4}}{_MEMBER}){{1,12}}"
_TYPES = re.compile(
    rf"(?<=[\w\])}}])[?!]?:(?:{_UNION}|\s{{0,4}}{_TYPE})"
    r"(?=\s{0,40}(?:[,)=;{]|\n|$))"
    rf"|\s(?:as|satisfies)\s(?:const|{_TYPE})"
    r"|(?<=\w)!(?=[.)\];,])"
    r"|(?:^|(?<=\n))(?:export )?(?:declare )?interface \w{1,60}[^{}\n]{0,100}\{[^{}]{0,4000}\}"
    r"|(?:^|(?<=\n))(?:export )?type \w{1,60}[^=\n]{0,60}=[^;{}\n]{0,400};"
    r"|(?<=\n)[ \t]{0,8}(?:private|public|protected|readonly|declare|abstract)(?= )"
)
_MAX_NODES = 400_000
_LARGE = 12_288
_WINDOW = 512
_FEW = 6
# Errors in a window; code that is only cut off somewhere stays far below, prose and noise above.
_MANY_ERRORS = 100
_ESCAPES = re.compile(rb"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})")
_FEW_OTHERS = 40


class JsNode:
    """A named node: its kind, its stretch of the text, its named children."""

    __slots__ = ("end", "fields", "kids", "kind", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.kids: list[JsNode] = []
        self.fields: dict[str, JsNode] = {}

    def field(self, name: str) -> "JsNode | None":
        """Return the child that stands in the place `name` of the grammar."""
        return self.fields.get(name)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_javascript.language()))


def parse(text: str) -> tuple[JsNode, bool]:
    """Return the tree of `text`, and whether all of it was taken over."""
    # One byte for each character: offsets in bytes are then offsets in characters.
    flat = text if text.isascii() else _WIDE.sub("x", _BLANK.sub(" ", text))
    code = flat.encode("ascii")
    cleaned = _without_garbage(code) if len(code) > _LARGE else code
    tree = _parser().parse(cleaned)
    if tree.root_node.has_error and _TYPES.search(flat):
        tree = _parser().parse(_TYPES.sub(_blank_out, cleaned.decode("ascii")).encode("ascii"))
    root, complete = _copy(tree)
    return root, complete and cleaned is code


def _blank_out(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _without_garbage(code: bytes) -> bytes:
    """Return the code with stretches blanked that are no JavaScript, where there are many.

    The parser's recovery from errors takes time that grows with the square of what it has to skip.
    """
    parts = [code[at : at + _WINDOW] for at in range(0, len(code), _WINDOW)]
    # Noise repeats itself; each stretch is judged once.
    known: dict[bytes, bool] = {}
    for part in parts[::4]:
        known[part] = known[part] if part in known else _is_garbage(part)
    if sum(known[part] for part in parts[::4]) < _FEW:
        return code
    for part in parts:
        known[part] = known[part] if part in known else _is_garbage(part)
    return b"".join(re.sub(rb"[^\n]", b" ", part) if known[part] else part for part in parts)


def _is_garbage(part: bytes) -> bool:
    if len(_ESCAPES.sub(b"", part)) < _FEW_OTHERS:
        return False
    # A stretch out of a large constant is code only inside its brackets, perhaps begun in a text.
    wrapped = [part, b"x={" + part + b"}", b"x=[" + part + b"]"]
    for quote in (b"'", b'"'):
        if part.count(quote) > _FEW:
            wrapped += [b"x=[" + quote + part + end for end in (b"]", quote + b"]")]
    return all(_errors(code) > _MANY_ERRORS for code in wrapped)


def _errors(code: bytes) -> int:
    """Return how much the parser stumbles: each error and what lies in it."""
    queue = [_parser().parse(code).root_node]
    errors = 0
    while queue:
        node = queue.pop()
        if node.type == "ERROR":
            errors += node.child_count + 1
        if node.has_error:
            queue.extend(node.children)
    return errors


def _copy(tree: Tree) -> tuple[JsNode, bool]:
    cursor = tree.walk()
    root = JsNode("program", 0, tree.root_node.end_byte)
    stack = [root]
    budget = _MAX_NODES
    if not cursor.goto_first_child():
        return root, True
    while budget:
        budget -= 1
        seen = cursor.node
        if seen is not None and seen.is_named:
            node = JsNode(seen.type, seen.start_byte, seen.end_byte)
            parent = stack[-1]
            parent.kids.append(node)
            name = cursor.field_name
            if name is not None:
                parent.fields.setdefault(name, node)
            if cursor.goto_first_child():
                stack.append(node)
                continue
        while not cursor.goto_next_sibling():
            stack.pop()
            if not stack or not cursor.goto_parent():
                return root, True
    return root, False
