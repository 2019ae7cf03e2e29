"""Dataclasses and patterns that cost little before they are used.

Every prompt of a coding agent waits for a hook, which loads a hundred classes and a hundred
patterns and uses a third of them. The standard library compiles six functions for every class when
its module is loaded, half a millisecond of processor time. Here a constructor is compiled by the
first instance, and what else a class gets are closures. Fields, slots, `replace`, `asdict`, `match`
and pickles are the standard library's own, and a class that derives from another dataclass is
wholly made by it. A pattern is compiled by the first text that it is held against.
"""

from typing import TYPE_CHECKING

__all__ = ["compile_late", "dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
    from re import compile as compile_late
else:
    import dataclasses
    import re
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
