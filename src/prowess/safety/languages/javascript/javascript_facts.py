"""What a JavaScript or TypeScript text does."""

from collections.abc import Mapping

from prowess.safety.facts import Reading
from prowess.safety.languages.javascript import expressions
from prowess.safety.languages.javascript import javascript_calls as calls
from prowess.safety.languages.javascript import javascript_imports as imports
from prowess.safety.languages.javascript.facts import HANDLERS
from prowess.safety.languages.javascript.javascript_machine import Evaluator, Machine
from prowess.safety.languages.javascript.javascript_tree import Node, parse
from prowess.safety.languages.javascript.values import UNKNOWN, Value
from prowess.safety.views import View

_MAX_PASSES = 4
_SHORT_COMMENT = 12


def _true(_machine: Machine, _node: Node) -> Value:
    return Value(name="true")


def _nothing(_machine: Machine, _node: Node) -> Value:
    return UNKNOWN


_CALL = calls.reader(HANDLERS)
_EVALUATORS: Mapping[str, Evaluator] = {
    "": expressions.read_children,
    "program": expressions.read_block,
    "statement_block": expressions.read_block,
    **dict.fromkeys(
        ("if_statement", "while_statement", "do_statement", "switch_statement", "try_statement"),
        expressions.read_branch,
    ),
    "for_statement": expressions.read_loop,
    "for_in_statement": expressions.read_loop,
    "string": expressions.read_string,
    "template_string": expressions.read_template,
    "number": expressions.read_number,
    "regex": expressions.read_regex,
    "identifier": expressions.read_identifier,
    "this": expressions.read_this,
    "true": _true,
    "comment": _nothing,
    "member_expression": expressions.read_member,
    "subscript_expression": expressions.read_member,
    "binary_expression": expressions.read_binary,
    "ternary_expression": expressions.read_ternary,
    **dict.fromkeys(
        ("parenthesized_expression", "sequence_expression", "await_expression",
         "expression_statement", "yield_expression", "spread_element"),
        expressions.read_last,
    ),
    "array": expressions.read_array,
    "object": expressions.read_object,
    **dict.fromkeys(
        ("arrow_function", "function_expression", "function_declaration", "generator_function",
         "generator_function_declaration", "method_definition", "function"),
        expressions.read_function,
    ),
    "return_statement": expressions.read_return,
    "variable_declarator": expressions.read_declarator,
    "assignment_expression": expressions.read_assignment,
    "augmented_assignment_expression": expressions.read_assignment,
    "import_statement": imports.read_import,
    "call_expression": _CALL,
    "new_expression": _CALL,
}  # fmt: skip


def read_javascript(view: View, flow: frozenset[str] = frozenset()) -> Reading:
    """Return what the JavaScript of `view` does; `flow` are labels of data that reaches it."""
    root, complete = parse(view.text)
    machine = Machine(view=view, evaluators=_EVALUATORS, outside=flow)
    unread = "" if complete else "too large"
    try:
        for _ in range(_MAX_PASSES):
            machine.begin()
            _pass(machine, root)
            if not machine.changed:
                break
    except RecursionError:
        unread = "nested too deeply"
    return Reading(
        facts=machine.found(),
        snippets=machine.snippets(),
        texts=(*_comments(view, root), *machine.texts()),
        imports=tuple(machine.imports),
        unread=unread or machine.unread,
    )


def _pass(machine: Machine, root: Node) -> None:
    machine.eval(root)
    done: set[int] = set()
    at = 0
    while at < len(machine.pending):
        function = machine.pending[at]
        at += 1
        if function.node.start not in done:
            done.add(function.node.start)
            expressions.read_body(machine, function)


def _comments(view: View, root: Node) -> list[View]:
    """Return comments as prose, lines that follow each other as one text."""
    groups: list[list[Node]] = []
    queue = [root]
    found: list[Node] = []
    while queue:
        node = queue.pop()
        if node.kind in {"comment", "html_comment", "hash_bang_line"}:
            found.append(node)
        queue.extend(node.kids)
    for node in sorted(found, key=lambda comment: comment.start):
        if groups and not view.text[groups[-1][-1].end : node.start].strip():
            groups[-1].append(node)
        else:
            groups.append([node])
    return [text for group in groups if (text := _prose(view, group)) is not None]


def _prose(view: View, group: list[Node]) -> View | None:
    if len(group) == 1:
        alone = view.cut(group[0].start, group[0].end)
        return alone if len(alone.text.strip()) >= _SHORT_COMMENT else None
    parts: list[str] = []
    indices: list[int] = []
    for node in group:
        start, end = node.start, node.end
        if view.text.startswith(("//", "/*"), start):
            start += 2
        if view.text.startswith("*/", end - 2):
            end -= 2
        parts.append(view.text[start:end])
        indices.extend(range(start, end))
        parts.append("\n")
        indices.append(max(end - 1, 0))
    text = "".join(parts)
    return view.derive(text, indices) if len(text.strip()) >= _SHORT_COMMENT else None
