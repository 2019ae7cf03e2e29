"""Namespaces, who may do what in them, and the tokens by which people are known.

A token is shown once, when it is made; what is kept is its hash.
"""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import sqlalchemy as sa

from prowess.errors import HubConflictError, HubDeniedError, HubError, HubNotFoundError
from prowess.host.store.hub_tables import DOCUMENTS, MEMBERS, NAMESPACES, TOKENS
from prowess.hub.model import HubCaller, HubRole, Namespace, TokenScope, check_name
from prowess.hub.search import Access
from prowess.hub.tables import HubDatabase
from prowess.safety.paths import shown

# So that scanners of secrets know one when they see it.
_PREFIX, _BYTES, _ID = "pwh_", 32, 8
_LONGEST_PERSON = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEntry:
    """A token as it is listed: everything but the token."""

    id: str
    person: str
    scopes: tuple[TokenScope, ...]
    is_operator: bool
    created_ms: int
    expires_ms: int | None = None
    revoked_ms: int | None = None


class HubPeople:
    """Knows people by their tokens, and what they may do."""

    def __init__(self, database: HubDatabase, now_ms: Callable[[], int]) -> None:
        self._database, self._now_ms = database, now_ms

    def create_token(
        self,
        person: str,
        scopes: Sequence[TokenScope],
        *,
        is_operator: bool = False,
        days: int | None = None,
    ) -> tuple[TokenEntry, str]:
        """Make a token, and return it with its text, which nobody can find out again.

        Raises:
            HubError: it is no name of a person.
        """
        if not person.isprintable() or not 0 < len(person.strip()) <= _LONGEST_PERSON:
            raise HubError(shown(person) or "''", "is no name of a person: give a short one.")
        now = self._now_ms()
        text = _PREFIX + secrets.token_urlsafe(_BYTES)
        entry = TokenEntry(
            id=secrets.token_hex(_ID // 2),
            person=person.strip(),
            scopes=tuple(scope for scope in TokenScope if scope in scopes),
            is_operator=is_operator,
            created_ms=now,
            expires_ms=None if days is None else now + days * 86_400_000,
        )
        row = {
            "id": entry.id,
            "hash": _hash(text),
            "person": entry.person,
            "scopes": " ".join(entry.scopes),
            "is_operator": is_operator,
            "created_ms": now,
            "expires_ms": entry.expires_ms,
        }
        with self._database.writing() as connection:
            connection.execute(sa.insert(TOKENS), row)
        return entry, text

    def list_tokens(self) -> list[TokenEntry]:
        """Return all tokens, the newest last."""
        query = sa.select(TOKENS).order_by(TOKENS.c.created_ms, TOKENS.c.id)
        with self._database.reading() as connection:
            return [_read_token(row) for row in connection.execute(query)]

    def revoke_token(self, token_id: str) -> None:
        """Let a token open nothing any more, at once.

        Raises:
            HubNotFoundError: there is none with that id.
        """
        change = sa.update(TOKENS).where(TOKENS.c.id == token_id, TOKENS.c.revoked_ms.is_(None))
        with self._database.writing() as connection:
            if not connection.execute(change.values(revoked_ms=self._now_ms())).rowcount:
                problem = "is no token that is in use: `prowess hub token list` names them."
                raise HubNotFoundError(shown(token_id), problem)

    def identify(self, text: str) -> HubCaller:
        """Return who has a token; nobody in particular where none is shown.

        Raises:
            HubDeniedError: nobody is known by it.
        """
        if not text:
            return HubCaller()
        query = sa.select(TOKENS).where(TOKENS.c.hash == _hash(text))
        with self._database.reading() as connection:
            row = connection.execute(query).one_or_none()
            late = (
                row is not None and row.expires_ms is not None and row.expires_ms <= self._now_ms()
            )
            if row is None or row.revoked_ms is not None or late:
                problem = "is unknown, expired or revoked: ask the hub's operator for another one."
                raise HubDeniedError("the token", problem, is_unknown=True)
            roles = {
                found.name: HubRole(found.role)
                for found in connection.execute(
                    sa.select(NAMESPACES.c.name, MEMBERS.c.role)
                    .join(NAMESPACES, NAMESPACES.c.id == MEMBERS.c.space)
                    .where(MEMBERS.c.person == row.person)
                )
            }
        scopes = frozenset(_read_scopes(row.scopes))
        return HubCaller(person=row.person, scopes=scopes, roles=roles, is_operator=row.is_operator)

    def create_namespace(self, name: str, *, is_public: bool, is_reviewed: bool) -> Namespace:
        """Make a namespace.

        Raises:
            HubError: it is no name.
            HubConflictError: there is one of that name.
        """
        row = {
            "name": check_name("namespace", name),
            "is_public": is_public,
            "is_reviewed": is_reviewed,
        }
        added = self._database.insert(NAMESPACES).values(row).on_conflict_do_nothing()
        with self._database.writing() as connection:
            if connection.execute(added.returning(NAMESPACES.c.id)).scalar_one_or_none() is None:
                raise HubConflictError(name, "is a namespace already.")
        return self.find_namespace(name)

    def change_namespace(
        self, name: str, *, is_public: bool | None = None, is_reviewed: bool | None = None
    ) -> Namespace:
        """Change who sees a namespace, and whether its versions are reviewed.

        Raises:
            HubNotFoundError: there is none of that name.
        """
        found = self.find_namespace(name)
        given = {"is_public": is_public, "is_reviewed": is_reviewed}
        values = {key: value for key, value in given.items() if value is not None}
        if values:
            with self._database.writing() as connection:
                mine = NAMESPACES.c.id == found.id
                connection.execute(sa.update(NAMESPACES).where(mine).values(values))
                if is_public is not None:
                    newest = sa.select(sa.func.coalesce(sa.func.max(DOCUMENTS.c.stamp), 0) + 1)
                    connection.execute(
                        sa.update(DOCUMENTS)
                        .where(DOCUMENTS.c.space == found.id)
                        .values(is_public=is_public, stamp=newest.scalar_subquery())
                    )
        return self.find_namespace(name)

    def find_namespace(self, name: str) -> Namespace:
        """Return the namespace of a name.

        Raises:
            HubNotFoundError: there is none.
        """
        with self._database.reading() as connection:
            row = connection.execute(
                sa.select(NAMESPACES).where(NAMESPACES.c.name == name)
            ).one_or_none()
        if row is None:
            problem = "is no namespace of this hub: `prowess hub namespace create` makes one."
            raise HubNotFoundError(shown(name), problem)
        return read_namespace(row)

    def list_namespaces(self) -> list[tuple[Namespace, dict[str, HubRole]]]:
        """Return every namespace with its people."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(NAMESPACES).order_by(NAMESPACES.c.name)).all()
            members = connection.execute(sa.select(MEMBERS).order_by(MEMBERS.c.person)).all()
        return [
            (
                read_namespace(row),
                {one.person: HubRole(one.role) for one in members if one.space == row.id},
            )
            for row in rows
        ]

    def set_role(self, namespace: str, person: str, role: HubRole | None) -> None:
        """Give a person a role in a namespace, or take it away.

        Raises:
            HubNotFoundError: there is no such namespace.
        """
        space = self.find_namespace(namespace).id
        key = {"space": space, "person": person}
        with self._database.writing() as connection:
            if role is None:
                mine = (MEMBERS.c.space == space) & (MEMBERS.c.person == person)
                connection.execute(sa.delete(MEMBERS).where(mine))
                return
            self._database.put(connection, MEMBERS, [{**key, "role": role.value}])

    def find_access(self, caller: HubCaller) -> Access:
        """Return whose skills a caller may see besides the public ones.

        Raises:
            HubDeniedError: the token may not be used for reading.
        """
        if TokenScope.READ not in caller.scopes:
            raise HubDeniedError("the token", "has no scope `read`: use another one.")
        if caller.is_operator:
            return Access(is_everything=True)
        if not caller.roles:
            return Access()
        query = sa.select(NAMESPACES.c.id).where(NAMESPACES.c.name.in_(list(caller.roles)))
        with self._database.reading() as connection:
            return Access(spaces=frozenset(connection.execute(query).scalars()))


# A row of the table, or of a query with its columns.
def read_namespace(row: "sa.Row[tuple[object, ...]]", id_: str = "id") -> Namespace:
    """Return the namespace that a row holds."""
    # The documented way to read a row by name.
    found = row._mapping  # noqa: SLF001
    return Namespace(
        id=found[id_],
        name=found["space_name" if "space_name" in found else "name"],
        is_public=bool(found["is_public"]),
        is_reviewed=bool(found["is_reviewed"]),
    )


# A row of the table.
def _read_token(row: "sa.Row[tuple[object, ...]]") -> TokenEntry:
    found = {one.name: getattr(row, one.name) for one in fields(TokenEntry)}
    return TokenEntry(**{**found, "scopes": _read_scopes(row.scopes)})


def _read_scopes(text: str) -> tuple[TokenScope, ...]:
    return tuple(TokenScope(one) for one in text.split())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
