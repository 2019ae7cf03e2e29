"""JavaScript as a tree of Python's `ast`, so that one evaluator reads both languages.

Where the languages differ the tree says what happens, not how it is written: a pattern becomes one
assignment a name, a function expression is defined and then named (`Do`), a `switch` is its
branches. `lineno` and `end_lineno` of these nodes are indices of characters, not lines.
"""

import ast
import re
from collections.abc import Callable, Iterable
from typing import ClassVar, TypeVar

from prowess.safety.languages.code.expressions import Do
from prowess.safety.languages.decoding import LETTERS, character, join_halves
from prowess.safety.languages.javascript.tree import JsNode

_MAX_DEPTH = 170
_LONG_CHAIN = 40
_MAX_DIGITS = 18
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|[0-9]+")
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{1,3})|(\r\n|.))",
    re.DOTALL,
)
_OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "%": ast.Mod,
    "^": ast.BitXor,
    "|": ast.BitOr,
    "&": ast.BitAnd,
    "<<": ast.LShift,
    ">>": ast.RShift,
    ">>>": ast.RShift,
}
_CHECKS = frozenset(("rejectUnauthorized", "strictSSL"))
_CHOICES = frozenset(("||", "&&", "??"))
_FUNCTIONS = frozenset((
    "arrow_function", "function_expression", "function_declaration", "generator_function",
    "generator_function_declaration", "method_definition", "function",
))  # fmt: skip
_Made = TypeVar("_Made", bound=ast.AST)


def unescape(text: str) -> str:
    """Return what stands between quotes, escapes decoded."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    high, low, two, four, braced, octal, plain = match.groups()
    if high:
        return join_halves(high, low)
    digits = two or four or braced
    if digits or (octal and octal != "0"):
        return character(int(digits, 16) if digits else int(octal, 8))
    letter = octal or plain or ""
    return LETTERS.get(letter, letter)


def _number(text: str) -> int | None:
    plain = text.replace("_", "").rstrip("n")
    if len(plain) > _MAX_DIGITS or not _NUMBER.fullmatch(plain):
        return None
    return int(plain) if plain.isdigit() else int(plain, 0)


def _at(made: _Made, node: JsNode) -> _Made:
    # Every node that is made here has a place; the type of all nodes does not say so.
    made.lineno, made.end_lineno = node.start, node.end  # type: ignore[attr-defined]
    # As above.
    made.col_offset = made.end_col_offset = 0  # type: ignore[attr-defined]
    return made


def _load(name: str, node: JsNode) -> ast.Name:
    return _at(ast.Name(name), node)


class Lowering:
    """Turns the nodes of one text into statements and expressions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.deep = False
        # Options that switch the checks of TLS off.
        self.unverified: list[ast.expr] = []
        self._depth = 0
        self._count = 0

    def module(self, root: JsNode) -> ast.Module:
        """Return the whole text."""
        return ast.Module(body=self.block(root.kids), type_ignores=[])

    def source(self, node: JsNode) -> str:
        """Return the text of a node."""
        return self.text[node.start : node.end]

    def _make_name(self) -> str:
        self._count += 1
        return f"%{self._count}"

    # Statements

    def block(self, nodes: Iterable[JsNode]) -> list[ast.stmt]:
        """Return statements; functions come first, as they may be called above their place."""
        first: list[ast.stmt] = []
        rest: list[ast.stmt] = []
        for node in nodes:
            for made in self.statement(node):
                (first if isinstance(made, ast.FunctionDef) else rest).append(made)
        return first + rest

    def statement(self, node: JsNode | None) -> list[ast.stmt]:
        """Return one statement as those that say the same."""
        if node is None or node.kind == "comment":
            return []
        if self._depth >= _MAX_DEPTH:
            self.deep = True
            return []
        self._depth += 1
        try:
            return self._STATEMENTS.get(node.kind, Lowering._lower_plain)(self, node)
        finally:
            self._depth -= 1

    def _lower_plain(self, node: JsNode) -> list[ast.stmt]:
        if node.kind in self._EXPRESSIONS:
            return [_at(ast.Expr(self.expression(node)), node)]
        return self.block(node.kids)

    def _expression_statement(self, node: JsNode) -> list[ast.stmt]:
        inner = node.kids[0] if len(node.kids) == 1 else node
        if inner.kind in {"assignment_expression", "augmented_assignment_expression"}:
            return self._assignment(inner)
        if inner is node:
            return self.block(node.kids)
        return [_at(ast.Expr(self.expression(inner)), node)]

    def _declaration(self, node: JsNode) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for kid in node.kids:
            name, value = kid.field("name"), kid.field("value")
            if name is not None and value is not None:
                made += self.bind(name, self.expression(value))
            elif name is None:
                made += self.statement(kid)
        return made

    def _assignment(self, node: JsNode) -> list[ast.stmt]:
        left, value = node.field("left"), self.expression(node.field("right"))
        if left is None:
            return [_at(ast.Expr(value), node)]
        while left.kind == "parenthesized_expression" and left.kids:
            left = left.kids[0]
        simple = left.kind in {"identifier", "member_expression", "subscript_expression"}
        if not simple:
            return self.bind(left, value)
        target = self.expression(left)
        if node.kind == "augmented_assignment_expression":
            right = node.field("right")
            sign = self.text[left.end : right.start if right else node.end].strip().rstrip("=")
            if sign in _CHOICES:
                value = _at(ast.BoolOp(ast.Or(), [target, value]), node)
            elif isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
                operator = _OPERATORS.get(sign, ast.Sub)()
                return [_at(ast.AugAssign(target, operator, value), node)]
        return [_at(ast.Assign([target], value), node)]

    def bind(self, pattern: JsNode, value: ast.expr) -> list[ast.stmt]:
        """Return the assignments that put a value, or its parts, into the names of a pattern."""
        if pattern.kind in {"identifier", "shorthand_property_identifier_pattern"}:
            return [_at(ast.Assign([_load(self.source(pattern), pattern)], value), pattern)]
        if pattern.kind in {"member_expression", "subscript_expression"}:
            return [_at(ast.Assign([self.expression(pattern)], value), pattern)]
        if pattern.kind in {"assignment_pattern", "object_assignment_pattern"}:
            left, default = pattern.field("left"), self.expression(pattern.field("right"))
            if left is None:
                return []
            if left.kind == "shorthand_property_identifier_pattern":
                value = _at(ast.Attribute(value, self.source(left)), left)
            return self.bind(left, _at(ast.BoolOp(ast.Or(), [value, default]), pattern))
        if pattern.kind in {"object_pattern", "array_pattern"}:
            return self._bind_parts(pattern, value)
        return self.bind(pattern.kids[0], value) if pattern.kids else []

    def _bind_parts(self, pattern: JsNode, value: ast.expr) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        held = value
        if not isinstance(value, ast.Name):
            held = _load(self._make_name(), pattern)
            made.append(_at(ast.Assign([held], value), pattern))
        for index, kid in enumerate(pattern.kids):
            if pattern.kind == "array_pattern":
                key = _at(ast.Constant(index), kid)
                made += self.bind(kid, _at(ast.Subscript(held, key), kid))
            elif kid.kind == "pair_pattern":
                inner, name = kid.field("value"), kid.field("key")
                if inner is not None and name is not None:
                    made += self.bind(inner, self._part(held, name))
            elif kid.kind == "shorthand_property_identifier_pattern":
                made += self.bind(kid, self._part(held, kid))
            else:
                made += self.bind(kid, held)
        return made

    def _part(self, held: ast.expr, key: JsNode) -> ast.expr:
        if key.kind in {"string", "computed_property_name", "number"}:
            return _at(ast.Subscript(held, self._key(key)), key)
        return _at(ast.Attribute(held, self.source(key)), key)

    def _function_statement(self, node: JsNode) -> list[ast.stmt]:
        name = node.field("name")
        return [self.function(node, self.source(name) if name is not None else self._make_name())]

    def function(self, node: JsNode, name: str, *, owned: bool = False) -> ast.FunctionDef:
        """Return a function; a method takes `this` first."""
        single, several = node.field("parameter"), node.field("parameters")
        patterns = [single] if single is not None else several.kids if several is not None else []
        args = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        if owned:
            args.args.append(_at(ast.arg("this"), node))
        first: list[ast.stmt] = []
        for pattern in patterns:
            if pattern.kind != "comment":
                self._parameter(args, pattern, first)
        body = node.field("body")
        if body is not None and body.kind == "statement_block":
            inner = self.statement(body)
        elif body is not None:
            inner = [_at(ast.Return(self.expression(body)), body)]
        else:
            inner = []
        return _at(ast.FunctionDef(name, args, first + inner, []), node)

    def _parameter(self, args: ast.arguments, pattern: JsNode, first: list[ast.stmt]) -> None:
        default = pattern.field("right") if pattern.kind == "assignment_pattern" else None
        inner = pattern.field("left") if default is not None else pattern
        if inner is not None and inner.kind == "rest_pattern" and inner.kids:
            args.vararg = _at(ast.arg(self.source(inner.kids[-1])), inner)
            return
        name = self._make_name()
        if inner is not None and inner.kind == "identifier":
            name = self.source(inner)
        elif inner is not None:
            first.extend(self.bind(inner, _load(name, inner)))
        args.args.append(_at(ast.arg(name), pattern))
        if default is not None or args.defaults:
            args.defaults.append(self.expression(default))

    def _class(self, node: JsNode) -> list[ast.stmt]:
        name, body = node.field("name"), node.field("body")
        made = ast.ClassDef(self.source(name) if name else self._make_name(), [], [], [], [])
        for kid in node.kids:
            if kid.kind == "class_heritage":
                made.bases = [self.expression(part) for part in kid.kids]
        for kid in body.kids if body is not None else ():
            made.body += self._class_member(kid)
        return [_at(made, node)]

    def _class_member(self, node: JsNode) -> list[ast.stmt]:
        name = node.field("name") or node.field("property")
        called = self.source(name) if name is not None else self._make_name()
        if node.kind == "method_definition":
            static = self.text.startswith("static ", node.start)
            made = self.function(
                node, "__init__" if called == "constructor" else called, owned=not static
            )
            if static:
                made.decorator_list = [_load("staticmethod", node)]
            return [made]
        value = node.field("value")
        if value is not None and name is not None:
            return [_at(ast.Assign([_load(called, name)], self.expression(value)), node)]
        return self.statement(node) if node.kind == "class_static_block" else []

    def _if(self, node: JsNode) -> list[ast.stmt]:
        test = self.expression(node.field("condition"))
        body = self.statement(node.field("consequence"))
        return [_at(ast.If(test, body, self.statement(node.field("alternative"))), node)]

    def _while(self, node: JsNode) -> list[ast.stmt]:
        body = self.statement(node.field("body"))
        return [_at(ast.While(self.expression(node.field("condition")), body, []), node)]

    def _for(self, node: JsNode) -> list[ast.stmt]:
        step = node.field("increment")
        body = self.statement(node.field("body"))
        if step is not None:
            body.append(_at(ast.Expr(self.expression(step)), step))
        start, test = node.field("initializer"), node.field("condition")
        loop = _at(ast.While(self.expression(test), body, []), node)
        return [*self.statement(start), loop]

    def _for_in(self, node: JsNode) -> list[ast.stmt]:
        left, right = node.field("left"), node.field("right")
        if left is None or right is None:
            return self.block(node.kids)
        item = _load(self._make_name(), left)
        body = [*self.bind(left, item), *self.statement(node.field("body"))]
        return [_at(ast.For(item, self.expression(right), body, []), node)]

    def _try(self, node: JsNode) -> list[ast.stmt]:
        handler, last = node.field("handler"), node.field("finalizer")
        body = self.statement(node.field("body"))
        caught = self.statement(handler.field("body")) if handler is not None else []
        handlers = [ast.ExceptHandler(None, None, caught)] if handler is not None else []
        return [_at(ast.Try(body, handlers, [], self.statement(last)), node)]

    def _switch(self, node: JsNode) -> list[ast.stmt]:
        made: list[ast.stmt] = [_at(ast.Expr(self.expression(node.field("value"))), node)]
        cases = node.field("body")
        for case in cases.kids if cases is not None else ():
            test = self.expression(case.field("value"))
            named = case.field("value")
            body = self.block(kid for kid in case.kids if kid is not named)
            made.append(_at(ast.If(test, body, []), case))
        return made

    def _return(self, node: JsNode) -> list[ast.stmt]:
        value = self.expression(node.kids[0]) if node.kids else None
        return [_at(ast.Return(value), node)]

    def _export(self, node: JsNode) -> list[ast.stmt]:
        inner = node.field("declaration") or node.field("value")
        return self.statement(inner) if inner is not None else []

    def _import(self, node: JsNode) -> list[ast.stmt]:
        source = node.field("source")
        if source is None:
            return []
        asked = _at(ast.Call(_load("import", node), [self.expression(source)], []), node)
        held = _load(self._make_name(), node)
        made: list[ast.stmt] = [_at(ast.Assign([held], asked), node)]
        for clause in node.kids:
            for kid in clause.kids if clause.kind == "import_clause" else ():
                made += self._bind_imported(kid, held)
        return made

    def _bind_imported(self, kid: JsNode, held: ast.expr) -> list[ast.stmt]:
        if kid.kind == "identifier":
            return self.bind(kid, held)
        if kid.kind == "namespace_import" and kid.kids:
            return self.bind(kid.kids[-1], held)
        made: list[ast.stmt] = []
        for name in kid.kids if kid.kind == "named_imports" else ():
            original = name.field("name")
            alias = name.field("alias") or original
            if original is not None and alias is not None:
                part = _at(ast.Attribute(held, self.source(original)), name)
                made.append(_at(ast.Assign([_load(self.source(alias), alias)], part), name))
        return made

    # Expressions

    def expression(self, node: JsNode | None) -> ast.expr:
        """Return one expression; what has no counterpart is a tuple of its parts."""
        if node is None:
            return ast.Constant(None, lineno=0, end_lineno=0, col_offset=0, end_col_offset=0)
        if self._depth >= _MAX_DEPTH:
            self.deep = True
            return _at(ast.Constant(None), node)
        self._depth += 1
        try:
            return self._EXPRESSIONS.get(node.kind, Lowering._parts)(self, node)
        finally:
            self._depth -= 1

    def _parts(self, node: JsNode) -> ast.expr:
        if node.kind.endswith("_statement") or node.kind == "statement_block":
            return self._do(self.statement(node), _at(ast.Constant(None), node), node)
        if not node.kids:
            value = {"true": True, "false": False}.get(node.kind)
            return _at(ast.Constant(value), node)
        return _at(ast.Tuple([self.expression(kid) for kid in node.kids]), node)

    def _do(self, body: list[ast.stmt], value: ast.expr, node: JsNode) -> ast.expr:
        return _at(Do(body, value), node)

    def _name(self, node: JsNode) -> ast.expr:
        name = self.source(node)
        if name in {"__dirname", "__filename"}:
            return _at(ast.Constant("."), node)
        return _load(name, node)

    def _string(self, node: JsNode) -> ast.expr:
        return _at(ast.Constant(unescape(self.text[node.start + 1 : node.end - 1])), node)

    def _template(self, node: JsNode) -> ast.expr:
        holes = [kid for kid in node.kids if kid.kind == "template_substitution"]
        if not holes:
            return self._string(node)
        values: list[ast.expr] = []
        at = node.start + 1
        for hole in holes:
            self._piece(values, at, hole.start)
            if hole.kids:
                inner = self.expression(hole.kids[0])
                values.append(_at(ast.FormattedValue(inner, -1), hole))
            at = hole.end
        self._piece(values, at, node.end - 1)
        return _at(ast.JoinedStr(values), node)

    def _piece(self, values: list[ast.expr], start: int, end: int) -> None:
        if end > start:
            piece = JsNode("piece", start, end)
            values.append(_at(ast.Constant(unescape(self.text[start:end])), piece))

    def _numeral(self, node: JsNode) -> ast.expr:
        return _at(ast.Constant(_number(self.source(node))), node)

    def _regex(self, node: JsNode) -> ast.expr:
        pattern = node.field("pattern")
        text = ast.Constant(self.source(pattern) if pattern is not None else "")
        return _at(ast.Call(_load("RegExp", node), [_at(text, node)], []), node)

    def _member(self, node: JsNode) -> ast.expr:
        name = node.field("property")
        made = ast.Attribute(
            self.expression(node.field("object")), self.source(name) if name is not None else ""
        )
        return _at(made, node)

    def _subscript(self, node: JsNode) -> ast.expr:
        held = self.expression(node.field("object"))
        return _at(ast.Subscript(held, self.expression(node.field("index"))), node)

    def _call(self, node: JsNode) -> ast.expr:
        given = node.field("arguments")
        if given is None:
            args = []
        elif given.kind == "template_string":
            args = [self.expression(given)]
        else:
            args = [self.expression(kid) for kid in given.kids if kid.kind != "comment"]
        target = node.field("function") or node.field("constructor")
        if target is not None and target.kind == "import":
            callee: ast.expr = _load("import", target)
        else:
            callee = self.expression(target)
        made = _at(ast.Call(callee, args, []), node)
        # A command is a tagged template only.
        made.tagged = given is not None and given.kind == "template_string"  # type: ignore[attr-defined]
        return made

    def _spread(self, node: JsNode) -> ast.expr:
        return _at(ast.Starred(self.expression(node.kids[0] if node.kids else None)), node)

    def _array(self, node: JsNode) -> ast.expr:
        kids = [kid for kid in node.kids if kid.kind != "comment"]
        return _at(ast.List([self.expression(kid) for kid in kids]), node)

    def _object(self, node: JsNode) -> ast.expr:
        made = ast.Dict([], [])
        for kid in node.kids:
            key: ast.expr | None
            if kid.kind == "pair":
                key, value = self._key(kid.field("key")), self.expression(kid.field("value"))
                if getattr(key, "value", "") in _CHECKS and getattr(value, "value", None) is False:
                    self.unverified.append(_at(ast.Constant(None), kid))
            elif kid.kind == "shorthand_property_identifier":
                key, value = _at(ast.Constant(self.source(kid)), kid), self._name(kid)
            elif kid.kind == "spread_element":
                key, value = None, self.expression(kid.kids[0] if kid.kids else None)
            elif kid.kind == "method_definition":
                key, value = self._key(kid.field("name")), self._define(kid)
            else:
                continue
            made.keys.append(key)
            made.values.append(value)
        return _at(made, node)

    def _key(self, node: JsNode | None) -> ast.expr:
        if node is not None and node.kind in {"string", "number"}:
            return self.expression(node)
        if node is not None and node.kind == "computed_property_name" and node.kids:
            return self.expression(node.kids[0])
        text = self.source(node) if node is not None else ""
        return _at(ast.Constant(text), node or JsNode("", 0, 0))

    def _define(self, node: JsNode) -> ast.expr:
        name = self._make_name()
        return self._do([self.function(node, name)], _load(name, node), node)

    def _class_expression(self, node: JsNode) -> ast.expr:
        (made,) = self._class(node)
        name = made.name if isinstance(made, ast.ClassDef) else ""
        return self._do([made], _load(name, node), node)

    def _binary(self, node: JsNode) -> ast.expr:
        """Take a chain apart without going deeper at each operator."""
        chain: list[tuple[JsNode, str, JsNode]] = []
        first = node
        while first.kind == "binary_expression":
            left, right = first.field("left"), first.field("right")
            if left is None or right is None:
                return self._parts(first)
            chain.append((first, self.text[left.end : right.start].strip(), right))
            first = left
        if len(chain) > _LONG_CHAIN and all(sign == "+" for _, sign, _ in chain):
            parts = [first, *(right for _, _, right in reversed(chain))]
            values = [_at(ast.FormattedValue(self.expression(part), -1), part) for part in parts]
            return _at(ast.JoinedStr([*values]), node)
        made = self.expression(first)
        for outer, sign, right in reversed(chain):
            made = _at(self._operate(made, sign, self.expression(right)), outer)
        return made

    def _operate(self, left: ast.expr, sign: str, right: ast.expr) -> ast.expr:
        if sign in _CHOICES:
            return ast.BoolOp(ast.Or(), [left, right])
        if sign in _OPERATORS:
            return ast.BinOp(left, _OPERATORS[sign](), right)
        return ast.Compare(left, [ast.Eq()], [right])

    def _unary(self, node: JsNode) -> ast.expr:
        inner = node.field("argument")
        sign = self.text[node.start : inner.start].strip() if inner is not None else ""
        operator = {"-": ast.USub(), "!": ast.Not(), "typeof": ast.Not()}.get(sign, ast.UAdd())
        return _at(ast.UnaryOp(operator, self.expression(inner)), node)

    def _ternary(self, node: JsNode) -> ast.expr:
        parts = (node.field(name) for name in ("condition", "consequence", "alternative"))
        return _at(ast.IfExp(*map(self.expression, parts)), node)

    def _lower_last(self, node: JsNode) -> ast.expr:
        kids = [kid for kid in node.kids if kid.kind != "comment"]
        if len(kids) == 1:
            return self.expression(kids[0])
        body: list[ast.stmt] = []
        for kid in kids[:-1]:
            body += self._lower_plain(kid)
        return self._do(body, self.expression(kids[-1] if kids else None), node)

    def _assign(self, node: JsNode) -> ast.expr:
        body = self._assignment(node)
        # A broken left side leaves nothing to assign to.
        last = body[-1] if body else None
        target = last.targets[0] if isinstance(last, ast.Assign) else getattr(last, "target", None)
        value = target if isinstance(target, ast.expr) else _at(ast.Constant(None), node)
        return self._do(body, value, node)

    def _yield(self, node: JsNode) -> ast.expr:
        return _at(ast.Yield(self.expression(node.kids[0] if node.kids else None)), node)

    _STATEMENTS: ClassVar[dict[str, Callable[["Lowering", JsNode], list[ast.stmt]]]] = {
        "expression_statement": _expression_statement,
        "lexical_declaration": _declaration,
        "variable_declaration": _declaration,
        "function_declaration": _function_statement,
        "generator_function_declaration": _function_statement,
        "class_declaration": _class,
        "if_statement": _if,
        "while_statement": _while,
        "do_statement": _while,
        "for_statement": _for,
        "for_in_statement": _for_in,
        "try_statement": _try,
        "switch_statement": _switch,
        "return_statement": _return,
        "export_statement": _export,
        "import_statement": _import,
    }
    _EXPRESSIONS: ClassVar[dict[str, Callable[["Lowering", JsNode], ast.expr]]] = {
        "identifier": _name,
        "shorthand_property_identifier": _name,
        "this": _name,
        "super": _name,
        "string": _string,
        "template_string": _template,
        "number": _numeral,
        "regex": _regex,
        "member_expression": _member,
        "subscript_expression": _subscript,
        "call_expression": _call,
        "new_expression": _call,
        "spread_element": _spread,
        "array": _array,
        "object": _object,
        "class": _class_expression,
        "binary_expression": _binary,
        "unary_expression": _unary,
        "ternary_expression": _ternary,
        "sequence_expression": _lower_last,
        "parenthesized_expression": _lower_last,
        "await_expression": _lower_last,
        "assignment_expression": _assign,
        "augmented_assignment_expression": _assign,
        "yield_expression": _yield,
        **dict.fromkeys(_FUNCTIONS - {"function_declaration"}, _define),
    }
