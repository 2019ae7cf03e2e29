"""What costs nothing before its first use: tables beside the code, patterns and dataclasses.

Every prompt of a coding agent waits for a hook, which loads a hundred classes and a hundred
patterns and uses a third of them. The standard library compiles six functions for every class, half
a millisecond. Here a constructor is compiled by the first instance, what else a class gets are
closures, and a class that derives from another dataclass is wholly the standard library's. A
pattern is compiled by the first text that it is held against.

Tables ship with the code, as TOML beside their readers: words, hosts, names, rule texts. A list of
words is one long string with blanks between them: that is short to read, and a TOML parser written
in Python takes it as fast as a file can be read.

A pattern of a table is one text or a list of alternatives; a list is joined by `|`. Phrases stand
in packs, groups of regular expressions by language where that matters; an item of theirs may be a
list of pieces, which are one expression, and may name a place of its file in angle brackets
(`<BEGIN>`). They are compiled late and once: so many take longer to compile than most commands run.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # The same name again says that it is meant for others.
    from dataclasses import dataclass as dataclass  # noqa: PLC0414

    compile_late = re.compile
else:
    import dataclasses
    from operator import attrgetter

    class compile_late:
        """A pattern: what is asked of it is asked of the compiled one, and kept."""

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self._given = pattern, flags

        def __getattr__(self, name: str) -> object:
            found = getattr(re.compile(*self._given), name)
            setattr(self, name, found)
            return found

    def dataclass(**options: bool):
        """Return what makes a class a dataclass; takes `frozen`, `slots`, `kw_only` and `eq`."""

        def make(given: type) -> type:
            if any(dataclasses.is_dataclass(base) for base in given.__bases__):
                return dataclasses.dataclass(**options)(given)
            return _make(given, **options)

        return make

    def _make(
        given: type,
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        eq: bool = True,
    ) -> type:
        own = set(given.__dict__)
        made = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
        )(given)
        made.__dataclass_params__.frozen, made.__dataclass_params__.eq = frozen, eq
        methods = {**_be_made(made, frozen=frozen), **_be_shown(made)}
        if eq:
            methods |= _be_compared(made, frozen=frozen)
        if frozen:
            methods |= _be_left_alone(made, keeps_slots=slots)
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return made

    def _be_made(made: type, *, frozen: bool) -> dict[str, object]:
        def __init__(self, *values, **named):
            made.__init__ = _compile(made, frozen=frozen)
            made.__init__(self, *values, **named)

        return {"__init__": __init__}

    def _compile(made: type, *, frozen: bool):
        """Return the constructor of a class, as the standard library would write it."""
        known, taken, lines = {"_set": object.__setattr__, "_unset": dataclasses.MISSING}, {}, []
        for field in dataclasses.fields(made):
            name, value, parameter = field.name, field.name, field.name
            if field.default_factory is not dataclasses.MISSING:
                known[f"_make_{name}"], parameter = field.default_factory, f"{name}=_unset"
                fresh = f"_make_{name}()"
                value = f"{fresh} if {name} is _unset else {name}" if field.init else fresh
            elif field.default is not dataclasses.MISSING:
                known[f"_value_{name}"], parameter = field.default, f"{name}=_value_{name}"
                value = name if field.init else f"_value_{name}"
            elif not field.init:
                continue
            if field.init:
                taken.setdefault(field.kw_only, []).append(parameter)
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(made, "__post_init__"):
            lines.append("self.__post_init__()")
        named = ["*", *taken[True]] if True in taken else []
        parameters = ", ".join(["self", *taken.get(False, ()), *named])
        body = "\n ".join(lines or ["pass"])
        # Names of fields and nothing else: the text is ours.
        exec(f"def __init__({parameters}):\n {body}", known)
        known["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
        return known["__init__"]

    def _be_shown(made: type) -> dict[str, object]:
        def __repr__(self) -> str:
            shown = (field.name for field in dataclasses.fields(made) if field.repr)
            parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
            return f"{type(self).__qualname__}({parts})"

        return {"__repr__": __repr__}

    def _be_compared(made: type, *, frozen: bool) -> dict[str, object]:
        names = [field.name for field in dataclasses.fields(made) if field.compare]
        read = (
            attrgetter(*names) if len(names) > 1 else lambda one: [getattr(one, n) for n in names]
        )

        def __eq__(self, other: object):
            return read(self) == read(other) if type(other) is type(self) else NotImplemented

        def __hash__(self) -> int:
            return hash(tuple(read(self)))

        return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}

    def _be_left_alone(made: type, *, keeps_slots: bool) -> dict[str, object]:
        names = frozenset(field.name for field in dataclasses.fields(made))

        def __setattr__(self, name: str, value: object) -> None:
            if type(self) is made or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(made, self).__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if type(self) is made or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(made, self).__delattr__(name)

        def __getstate__(self) -> list[object]:
            return [getattr(self, field.name) for field in dataclasses.fields(self)]

        def __setstate__(self, state: list[object]) -> None:
            for field, value in zip(dataclasses.fields(self), state, strict=True):
                object.__setattr__(self, field.name, value)

        kept = {"__getstate__": __getstate__, "__setstate__": __setstate__} if keeps_slots else {}
        return {"__setattr__": __setattr__, "__delattr__": __delattr__, **kept}


_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CODE = (".py", ".toml", ".txt")


@cache
def read_table(name: str) -> dict[str, Any]:
    """Return a TOML file of the package; callers share it and must not change it.

    Args:
        name: its path below the package, such as `safety/prose/lexicon.toml`.
    """
    # Late: many modules have a table, and most quick commands need none of them.
    import tomllib

    with open(os.path.join(_PACKAGE, *name.split("/")), "rb") as file:
        return tomllib.load(file)


@cache
def read_text(name: str) -> str:
    """Return a text file of the package, such as a part of a script."""
    with open(os.path.join(_PACKAGE, *name.split("/")), encoding="utf-8") as file:
        return file.read()


@cache
def hash_code(*places: str) -> str:
    """Return what tells the code and tables in some places of the package from any others."""
    # Late: only what keeps something asks by which code it was made.
    import hashlib

    found = hashlib.sha256()
    for path in sorted(path for place in places for path in _list_code(place)):
        with open(path, "rb") as file:
            content = file.read()
        found.update(f"{os.path.relpath(path, _PACKAGE)}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def _list_code(place: str) -> Iterator[str]:
    top = os.path.join(_PACKAGE, *place.split("/"))
    if place.endswith(_CODE):
        yield top
    for base, _folders, names in os.walk(top):
        yield from (os.path.join(base, name) for name in names if name.endswith(_CODE))


@cache
def read_word_group(name: str, group: str) -> frozenset[str]:
    """Return the `words` of one group of a TOML file of the package."""
    return read_words(read_table(name)[group]["words"])


def read_words(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one string."""
    return frozenset(text.split())


@cache
# What a table holds is known to who asks for it.
def load_table(name: str, *keys: str) -> Any:
    """Return what a table of the readers holds under `keys`; nobody may change it."""
    found: Any = read_table(f"safety/languages/{name}.toml")
    for key in keys:
        found = found[key]
    return found


@cache
def load_words(name: str, *keys: str) -> frozenset[str]:
    """Return a list of words."""
    return read_words(load_table(name, *keys))


@cache
def load_pattern(name: str, *keys: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern, compiled."""
    return re.compile(join_pattern(load_table(name, *keys)), flags)


def join_pattern(written: str | list[str]) -> str:
    """Return a pattern as one text."""
    return written if isinstance(written, str) else "|".join(written)


@cache
def load_index(name: str, *keys: str) -> dict[str, str]:
    """Return each word of several lists with the name of its list."""
    lists: dict[str, str] = load_table(name, *keys)
    return {word: kind for kind, text in lists.items() for word in text.split()}


def read_pack(pack: str) -> dict[str, Any]:
    """Return a whole file of phrases."""
    return read_table(f"language/data/{pack}.toml")


@cache
def compile_group(pack: str, group: str, key: str = "", flags: int = 0) -> re.Pattern[str]:
    """Return what finds any phrase of a group.

    Args:
        pack: the name of the file.
        group: the group in it.
        key: one list of the group; all of them where it is empty.
        flags: those of `re.compile`.
    """
    return re.compile(join_phrases(pack, group, key), flags)


def join_phrases(pack: str, group: str, key: str = "") -> str:
    """Return an expression that finds any phrase of a group."""
    lists = read_pack(pack)[group]
    found = [lists[key]] if key else [value for value in lists.values() if isinstance(value, list)]
    return "|".join(f"(?:{item})" for items in found for item in _expand(pack, items))


def join_pieces(item: str | list[str]) -> str:
    """Return an item as one expression."""
    return item if isinstance(item, str) else "".join(item)


def _expand(pack: str, items: list[str | list[str]]) -> Iterator[str]:
    places = read_pack(pack).get("places", {})
    for item in map(join_pieces, items):
        for name, value in places.items():
            if name != "reason" and f"<{name}>" in item:
                # No place names another one.
                item = item.replace(f"<{name}>", join_pieces(value))  # noqa: PLW2901
        yield item
