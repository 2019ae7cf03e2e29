"""The state of reading one JavaScript text: scopes, functions, and the facts found so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from prowess.safety.languages.javascript.javascript_names import global_name
from prowess.safety.languages.javascript.javascript_notes import Notebook
from prowess.safety.languages.javascript.javascript_tree import Node
from prowess.safety.languages.javascript.values import (
    NO_LABELS,
    UNKNOWN,
    Function,
    Scope,
    Value,
    join,
    relabel,
    same,
)

_MAX_DEPTH = 170

Evaluator: TypeAlias = "Callable[[Machine, Node], Value]"


@dataclass(slots=True, kw_only=True)
class Machine(Notebook):
    """Reads one text in passes, until what flows into its functions no longer changes."""

    evaluators: Mapping[str, Evaluator]
    # Labels of data that reaches the text from outside.
    outside: frozenset[str] = NO_LABELS
    functions: dict[int, Function] = field(default_factory=dict)
    # What is set on `this`, for all classes of the file together.
    own: dict[str, Value] = field(default_factory=dict)
    scopes: tuple[Scope, ...] = ({},)
    pending: list[Function] = field(default_factory=list)
    current: Function | None = None
    depth: int = 0
    # How many branches and loops surround the place: there an assignment adds, it does not replace.
    branch: int = 0
    inlined: int = 0
    inline_depth: int = 0
    changed: bool = False
    unread: str = ""

    def begin(self) -> None:
        """Start a pass: keep what is known of functions, forget the rest."""
        self.scopes = ({},)
        self.forget()
        self.pending.clear()
        self.current = None
        self.depth = self.branch = self.inlined = self.inline_depth = 0
        self.changed = False

    def source(self, node: Node) -> str:
        """Return the text of a node."""
        return self.view.text[node.start : node.end]

    def eval(self, node: Node | None) -> Value:
        """Return the value of a node, and note what it does."""
        if node is None:
            return UNKNOWN
        evaluator = self.evaluators.get(node.kind)
        if evaluator is None:
            if not node.kids:
                return UNKNOWN
            evaluator = self.evaluators[""]
        if self.depth >= _MAX_DEPTH:
            self.unread = "nested too deeply"
            return UNKNOWN
        self.depth += 1
        try:
            return evaluator(self, node)
        finally:
            self.depth -= 1

    def lookup(self, name: str) -> Value:
        """Return what a name holds here."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        known = global_name(name)
        return Value(name=known) if known else UNKNOWN

    def declare(self, name: str, value: Value) -> None:
        """Make a variable of the innermost scope."""
        scope = self.scopes[-1]
        scope[name] = join(scope[name], value) if self.branch and name in scope else value

    def assign(self, name: str, value: Value, *, add: bool = False) -> None:
        """Change a variable where it was declared; an undeclared one is a global."""
        for index in range(len(self.scopes) - 1, -1, -1):
            scope = self.scopes[index]
            if name in scope:
                inner = index == len(self.scopes) - 1
                if add or self.branch or not inner:
                    value = join(scope[name], value)
                scope[name] = value
                return
        if not global_name(name):
            self.scopes[0][name] = value

    def taint(self, name: str, labels: frozenset[str]) -> None:
        """Add labels to a variable: something with them was put into what it holds."""
        for scope in reversed(self.scopes):
            if name in scope:
                old = scope[name]
                if not labels <= old.labels:
                    scope[name] = relabel(old, old.labels | labels)
                return

    def function(self, node: Node) -> Value:
        """Return the function that a node makes; its body is read when the outer code was."""
        function = self.functions.get(node.start)
        if function is None:
            function = self.functions[node.start] = Function(node, self.scopes)
        function.scopes = self.scopes
        self.pending.append(function)
        return Value(function=function)

    def give(self, function: Function, index: int, value: Value) -> None:
        """Note what goes into a parameter."""
        if value is UNKNOWN:
            return
        old = function.given.get(index)
        # What was known first stays, so that passes come to an end.
        new = value if old is None else join(value, old)
        if not same(old, new):
            function.given[index] = new
            self.changed = True

    def give_all(self, value: Value, given: Value) -> None:
        """Note that a callback gets `given`; an error that comes first does not hold it."""
        function = value.function
        if function is None:
            return
        names = parameters(function.node)
        for index, node in enumerate(names):
            first = self.source(node) if index == 0 and len(names) > 1 else ""
            if not first.lower().startswith("e") and first != "_":
                self.give(function, index, given)


def parameters(function: Node) -> list[Node]:
    """Return the patterns of a function's parameters."""
    single = function.field("parameter")
    if single is not None:
        return [single]
    several = function.field("parameters")
    return several.kids if several is not None else []
