"""What a method of the gateway is: its name, who may call it, what it takes, and its answer.

A method sees one call at a time and knows neither sockets nor other clients. It returns what is
sent, raises `RpcError` for what the caller must mend, or returns a `Failure` where both an outcome
and an error belong to the answer. What is wrong with parameters is told by the field and the rule,
never by the value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import signature
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.alias_generators import to_camel

from prowess.errors import ProwessError
from prowess.skills.text import one_line
from prowess.spans import Timed

Json: TypeAlias = dict[str, Any]
# What a method sends: an object, or a list where other gateways send one.
Payload: TypeAlias = Json | list[Any]


class Code(StrEnum):
    """Why a request was refused."""

    INVALID_REQUEST = "INVALID_REQUEST"
    NOT_CONNECTED = "NOT_CONNECTED"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    PROTOCOL_MISMATCH = "PROTOCOL_MISMATCH"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    RATE_LIMITED = "RATE_LIMITED"
    UNAVAILABLE = "UNAVAILABLE"


class ClientScope(StrEnum):
    """What a client may do; admin may write, and who may write may read."""

    READ = "operator.read"
    WRITE = "operator.write"
    ADMIN = "operator.admin"
    # Of machines that only lend their programs.
    NODE = "node"


def describe_missing(missing: ClientScope) -> dict[str, object]:
    """Return for programs which right is missing."""
    names = {"missingScope": missing.value, "requiredScopes": [missing.value]}
    return {"code": "MISSING_SCOPE", **names}


class RpcError(ProwessError):
    """A request that cannot be answered; the message says what to do about it."""

    code = "rpc"

    def __init__(
        self, reason: Code, message: str, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.reason, self.message, self.details = reason, message, details


@dataclass(frozen=True, slots=True)
class RpcFailure:
    """An outcome that is worth sending although the request failed."""

    payload: Json
    message: str
    # What kind of failure it was, for programs.
    cause: str


class EncodedPayload(dict[str, Any]):
    """A payload that many will ask for, with its JSON, which is sent as it stands.

    Nobody may change it after it was made: the text would not follow.
    """

    __slots__ = ("text",)

    def __init__(self, payload: Json, text: str) -> None:
        super().__init__(payload)
        self.text = text


class Params(BaseModel):
    """The parameters of a method: closed, so that a wrong name is not passed over."""

    # Names are written as clients write them.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=False
    )


class NoParams(Params):
    """The parameters of a method that takes none."""


class LenientParams(Params):
    """What clients of other gateways ask for as they please: nothing of it changes the answer."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Who is calling, as far as methods may know."""

    # Of this connection alone.
    id: str
    role: str = "operator"
    scopes: frozenset[ClientScope] = frozenset()
    # What it calls itself; for display only, never for a decision.
    name: str = ""
    platform: str = ""
    # Whether it stays connected after this call, so that its leaving is noticed.
    stays: bool = True
    # What its call is a part of elsewhere, by the header `traceparent`.
    part_of: Timed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcCall:
    """One call of a method."""

    method: str
    params: Any
    client: Client
    # Sends an event to this client alone, such as progress; safe from any thread.
    notify: Callable[[str, Json], None] = field(default=lambda _event, _payload: None)


Answer: TypeAlias = Callable[[RpcCall], Payload | RpcFailure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A row of the method table."""

    name: str
    # None where it needs no rights at all.
    scope: ClientScope | None
    params: type[Params]
    # Runs in a thread; whatever it does with files and locks, the loop goes on.
    answer: Answer
    # Takes long (a model, a download): it gets a thread of its own, and never delays quick ones.
    slow: bool = False
    about: str = ""


_Answer = TypeVar("_Answer", bound=Callable[..., Payload | RpcFailure])


def rpc(
    name: str, scope: ClientScope | None, *, slow: bool = False, lenient: bool = False
) -> Callable[[_Answer], _Answer]:
    """Make a method of a class a method of the gateway; its docstring says what it is about.

    What a client may send is its signature: a parameter for each field, or one for a whole set of
    them. `call` is the call itself.
    """

    def mark(answer: _Answer) -> _Answer:
        about = (answer.__doc__ or "").partition("\n")[0]
        row = {"name": name, "scope": scope, "slow": slow, "about": about}
        base = LenientParams if lenient else Params
        setattr(answer, ROW, (row, _read_signature(answer, base)))
        return answer

    return mark


class Signature(NamedTuple):
    """What a method takes, as its parameters say."""

    model: type[Params]
    takes_call: bool
    # The parameter that is given all fields at once; empty where each has its own.
    whole: str


def _read_signature(answer: Callable[..., object], base: type[Params]) -> Signature:
    found = dict(signature(answer).parameters)
    del found["self"]
    takes_call = found.pop("call", None) is not None
    kinds = {name: one.annotation for name, one in found.items()}
    for name, kind in kinds.items():
        if isinstance(kind, type) and issubclass(kind, Params):
            return Signature(kind, takes_call, name)
    # Whatever types the fields have.
    fields: dict[str, Any] = {
        name: (one.annotation, ... if one.default is one.empty else one.default)
        for name, one in found.items()
    }
    return Signature(create_model(base.__name__, __base__=base, **fields), takes_call, "")


ROW = "rpc_row"
MOST_FIELD_CHARS = 120
_SENTENCES = {"extra_forbidden": "unknown field: check its spelling", "missing": "is required"}


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return the field that is wrong and what it must be."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # A name that the client made up may be anything, so it is cleaned and cut.
    field = one_line(".".join(str(part) for part in problem["loc"]))[:MOST_FIELD_CHARS]
    return field or "params", _SENTENCES.get(problem["type"]) or _simplify(problem["msg"])


def _simplify(sentence: str) -> str:
    """Return a sentence without what only the program knows: a list is a list to who sends it."""
    return sentence.replace(" after validation", "").replace("Tuple", "List")
