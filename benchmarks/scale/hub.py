"""How the search of a hub grows: time, recall, bytes and building, with the access filter on.

    python -m benchmarks.scale.hub [--sizes 1000 10000 100000] [--json FILE]

Skills are made from a seed: what is done, to what, in which program. One text for each pair of deed
and thing is really encoded; the vector of every other skill is drawn around that of its pair (at a
cosine of about .9), for to encode a hundred thousand texts takes twenty minutes of processor time
and would measure the encoder. Words are those of each skill itself. Questions are really encoded,
as a hub does it, and that time is part of each search. A third of the skills is private, and
whoever asks may see the public ones and a few namespaces more. Beside the time that passes stands
the processor time of hub and server together, which other work on the machine changes less.

Recall compares with an exact search: the same score for every skill that may be seen. A skill that
scores as high as the tenth of those counts as found. SQLite is measured up to 10,000 skills, which
is what it is meant for; PostgreSQL (a real server, started here) up to all.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from tests.integration.postgres_world import new_database, running_postgres

from prowess.host.store.database import Database, open_database, open_file
from prowess.host.store.fleet.administration import migrate
from prowess.host.store.hub_tables import SKILLS, VERSIONS
from prowess.hub.catalogue import shape_name
from prowess.hub.model import HubCaller, HubRole
from prowess.hub.search import (
    FIELDS,
    Access,
    DocumentIndex,
    NewDocument,
    count_words,
    list_terms,
    read_asked,
    read_texts,
    weigh,
)
from prowess.hub.tables import NEAR_INDEX, HubDatabase
from prowess.routing.lexical_and_breadth import Collection, LexicalIndex
from prowess.runtime.ports import Encoder, Vectors
from prowess.testing import make_skill
from prowess.wiring.library import open_runtime
from prowess.wiring.sharing.hub import OpenHub, open_hub

_DEEDS = (
    "review", "draft", "deploy", "archive", "compare", "translate", "validate", "plan", "migrate",
    "summarise", "monitor", "repair", "forecast", "publish", "merge", "price", "audit", "convert",
    "encrypt", "label", "schedule", "search", "rename", "simulate",
)  # fmt: skip
_THINGS = (
    "invoice", "release", "cluster", "calendar", "report", "contract", "photo", "database",
    "newsletter", "ticket", "pipeline", "dashboard", "recipe", "budget", "podcast", "schema",
    "firmware", "translation", "survey", "warehouse", "certificate", "playlist", "backup", "slide",
    "payroll", "itinerary", "prescription", "blueprint", "transcript", "spreadsheet", "webhook",
    "container", "password", "forecast", "inventory", "poster", "grant", "lawsuit", "sensor",
    "resume",
)  # fmt: skip
_SYSTEMS = (
    "Stripe", "Jira", "Kubernetes", "Notion", "Salesforce", "Postgres", "Figma", "GitHub", "Slack",
    "Airtable", "Shopify", "Terraform", "Snowflake", "Zendesk", "Blender", "Ableton", "Arduino",
    "Excel", "Grafana", "Kafka", "Linear", "Mailchimp", "Obsidian", "Outlook", "Redis", "SAP",
    "Spark", "Tableau", "Unity", "Vercel", "Wikidata", "Xero", "Zoom", "Zotero", "Docker", "Ghost",
)  # fmt: skip
_MANNERS = (
    "step by step", "in one go", "with a checklist", "for auditors", "in plain words",
    "every night", "with two reviewers", "from a template", "without downtime", "for small teams",
)  # fmt: skip
_SPACES, _PRIVATE_SHARE, _MINE = 60, 3, 4
_NEAR, _QUESTIONS, _TOP, _BATCH = 0.9, 200, 10, 1_000
_WORD_INDEX = "hub_documents_terms"
_LIMITS = {"sqlite": 10_000, "postgresql": 10_000_000}


@dataclass(frozen=True)
class Made:
    """A generated skill."""

    name: str
    document: NewDocument


def make_skills(count: int, pairs: dict[tuple[str, str], Vectors], seed: int = 7) -> list[Made]:
    """Return so many skills, always the same for a seed."""
    draw, noise = random.Random(seed), np.random.default_rng(seed)
    made = []
    every = list(product(_DEEDS, _THINGS, _SYSTEMS, _MANNERS))
    for number, (deed, thing, system, manner) in enumerate(draw.sample(every, count), start=1):
        name = f"{deed}-{thing}-{system.lower()}-{manner.replace(' ', '-')}"
        text = describe(deed, thing, system, manner)
        texts = read_texts(make_skill(name=name, description=text))
        space = number % _SPACES + 1
        made.append(
            Made(
                name,
                NewDocument(
                    skill_id=number,
                    space=space,
                    is_public=space % _PRIVATE_SHARE != 0,
                    version="1.0.0",
                    words=texts.words,
                    vector=draw_near(pairs[deed, thing], noise),
                ),
            )
        )
    return made


def describe(deed: str, thing: str, system: str, manner: str) -> str:
    """Return the description of a skill."""
    return (
        f"Helps to {deed} a {thing} in {system}, {manner}. Use when somebody wants to {deed} the"
        f" {thing}s that they keep in {system}."
    )


def draw_near(vector: Vectors, noise: np.random.Generator) -> Vectors:
    """Return a vector at about the wanted cosine, as half precision keeps it."""
    away = np.sqrt(1 / _NEAR**2 - 1) / np.sqrt(len(vector))
    found = vector + away * noise.standard_normal(len(vector))
    unit = found / np.linalg.norm(found)
    kept: Vectors = unit.astype(np.float16).astype(np.float32)
    return kept


def encode_pairs(encoder: Encoder) -> dict[tuple[str, str], Vectors]:
    """Encode one text for each deed and thing."""
    keys = [(deed, thing) for deed in _DEEDS for thing in _THINGS]
    texts = [
        f"{deed} {thing}: {describe(deed, thing, 'Excel', 'step by step')}" for deed, thing in keys
    ]
    return dict(zip(keys, encoder.encode(texts), strict=True))


def ask_questions(seed: int = 11) -> list[str]:
    """Return what people look for."""
    draw = random.Random(seed)
    shapes = (
        "please {deed} the {thing} from {system}",
        "{deed} {thing}",
        "I need to {deed} my {thing}s in {system} before Friday",
        "something for {system} {thing}s",
    )
    return [
        draw.choice(shapes).format(
            deed=draw.choice(_DEEDS), thing=draw.choice(_THINGS), system=draw.choice(_SYSTEMS)
        )
        for _ in range(_QUESTIONS)
    ]


@contextmanager
def open_engine(kind: str, folder: Path) -> Iterator[Database]:
    """Give an empty database."""
    with ExitStack() as stack:
        if kind == "sqlite":
            yield open_file(str(folder / "hub.db"))
            return
        server = stack.enter_context(running_postgres())
        database = open_database(stack.enter_context(new_database(server.url)))
        stack.callback(database.close)
        migrate(database)
        yield database


def fill(hub: OpenHub, made: Sequence[Made], width: int) -> dict[str, float]:
    """Write the skills; return how long rows and the index of vectors took."""
    database, index = hub.database, DocumentIndex(hub.database)
    for number in range(1, _SPACES + 1):
        hub.service.people.create_namespace(
            f"space-{number}", is_public=number % _PRIVATE_SHARE != 0, is_reviewed=False
        )
    started = time.perf_counter()
    with database.writing() as connection:
        if database.is_server:
            # As a restore does it: rows first, then each index at once.
            connection.exec_driver_sql(f"DROP INDEX {NEAR_INDEX}, {_WORD_INDEX}")
    for start in range(0, len(made), _BATCH):
        some = made[start : start + _BATCH]
        with database.writing() as connection:
            connection.execute(sa.insert(SKILLS), [_skill_row(one) for one in some])
            connection.execute(sa.insert(VERSIONS), [_version_row(one) for one in some])
            index.put(connection, [one.document for one in some])
    rows = time.perf_counter() - started
    if database.is_server:
        database.rebuild_near(width)
        with database.writing() as connection:
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            connection.exec_driver_sql(
                f"CREATE INDEX {_WORD_INDEX} ON hub_documents USING gin (terms)"
            )
            connection.exec_driver_sql("ANALYZE hub_documents, hub_skills, hub_versions")
            # Whoever publishes next gets a number that is free.
            for table in (SKILLS, VERSIONS):
                most = sa.func.max(table.c.id)
                connection.execute(sa.select(sa.func.setval(f"{table.name}_id_seq", most)))
    return {"rows_s": rows, "indexes_s": time.perf_counter() - started - rows}


def _skill_row(one: Made) -> dict[str, Any]:
    return {
        "id": one.document.skill_id,
        "space": one.document.space,
        "name": one.name,
        "title": one.name,
        "summary": one.name,
        "created_ms": 0,
        "updated_ms": 0,
        **shape_name(one.name),
    }


def _version_row(one: Made) -> dict[str, Any]:
    texts = ("digest", "archive", "publisher", "reviewer", "changelog", "reason")
    return {
        "skill_id": one.document.skill_id,
        "version": "1.0.0",
        "state": "published",
        "manifest": "{}",
        "scan": "{}",
        "provenance": "{}",
        "created_ms": 0,
        **dict.fromkeys(texts, ""),
    }


class ExactSearch:
    """The score of every skill that may be seen."""

    def __init__(self, made: Sequence[Made], access: Access) -> None:
        documents = [one.document for one in made]
        seen = [one for one in documents if one.is_public or one.space in access.spaces]
        counts = Counter(term for one in documents for term in list_terms(one.words))
        lengths = np.array([count_words(one.words) for one in documents])
        filled = np.maximum((lengths > 0).sum(axis=0), 1)
        collection = Collection(
            size=len(documents),
            words_per_skill=float(lengths.sum() / len(documents)),
            typical=tuple(float(lengths[:, at].sum() / filled[at]) for at in range(FIELDS)),
            counts=counts,
        )
        self._index = LexicalIndex.build([one.words for one in seen], collection)
        self._vectors = np.stack([one.vector for one in seen if one.vector is not None])
        self._places = {one.skill_id: at for at, one in enumerate(seen)}

    def recall(self, question: str, vector: Vectors, found: Sequence[int]) -> float:
        """Return how many of the best ten were found."""
        near = np.einsum("ij,j->i", self._vectors, vector)
        scores = weigh(read_asked(question), self._index, near, english_only=True)
        least = np.partition(scores, -_TOP)[-_TOP]
        kept = [one for one in found if float(scores[self._places[one]]) >= float(least) - 1e-4]
        return len(kept) / _TOP


def measure_search(hub: OpenHub, made: Sequence[Made], encoder: Encoder) -> dict[str, float]:
    """Return times and recall of searches by somebody who may not see everything."""
    mine = [f"space-{number}" for number in range(3, 3 + 3 * _MINE, 3)]
    caller = HubCaller(person="ann", roles=dict.fromkeys(mine, HubRole.READER))
    access = hub.service.people.find_access(caller)
    questions = ask_questions()
    for question in questions[:20]:
        hub.service.search(caller, question)
    exact, times, bare, recalls = ExactSearch(made, access), [], [], []
    spent = 0.0
    for question in questions:
        started = time.perf_counter()
        vector = encoder.encode([read_asked(question).text])[0]
        encoded = time.perf_counter()
        before = read_processor(hub.database)
        began = time.perf_counter()
        hits = hub.service.search(caller, question)
        times.append(time.perf_counter() - began)
        spent += read_processor(hub.database) - before
        bare.append(encoded - started)
        recalls.append(exact.recall(question, vector, [hit.skill.id for hit in hits]))
    return {
        "p50_ms": 1000 * statistics.median(times),
        "p95_ms": 1000 * statistics.quantiles(times, n=20)[-1],
        "processor_ms": 1000 * spent / len(questions),
        "encoder_p50_ms": 1000 * statistics.median(bare),
        "recall_at_10": statistics.fmean(recalls),
        "seen_share": len(exact._places) / len(made),  # noqa: SLF001 - its own measure
    }


def read_processor(database: HubDatabase) -> float:
    """Return the processor time of this process and of the server's part for it, in seconds."""
    used = time.process_time()
    if not database.is_server:
        return used
    with database.reading() as connection:
        backend = connection.scalar(sa.select(sa.func.pg_backend_pid()))
    fields = Path(f"/proc/{backend}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return used + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_bytes(database: HubDatabase, count: int, folder: Path) -> dict[str, float]:
    """Return how large indexes are for each skill."""
    if not database.is_server:
        size = sum(path.stat().st_size for path in folder.glob("hub.db*"))
        return {"file_bytes": size / count}
    names = {"vector_index": NEAR_INDEX, "word_index": _WORD_INDEX, "key": "hub_documents_pkey"}
    with database.reading() as connection:

        def measure_one(size: sa.Function[Any]) -> float:
            return float(connection.execute(sa.select(size)).scalar_one()) / count

        sizes = {name: measure_one(sa.func.pg_relation_size(at)) for name, at in names.items()}
        terms = measure_one(sa.func.pg_total_relation_size("hub_terms"))
        whole = measure_one(sa.func.pg_total_relation_size("hub_documents"))
    return {**sizes, "terms": terms, "index_bytes": sum(sizes.values()) + terms, "all_bytes": whole}


def measure(kind: str, count: int) -> dict[str, Any]:
    """Fill a hub of one size, and search it."""
    with tempfile.TemporaryDirectory(prefix="prowess-hub-") as name:
        folder = Path(name)
        with open_engine(kind, folder) as engine, open_runtime(name, home=folder / "s") as runtime:
            encoder = runtime.routing.needed_encoder()
            pairs = encode_pairs(encoder)
            hub = open_hub(runtime, HubDatabase(engine), name)
            made = make_skills(count, pairs)
            built = fill(hub, made, len(next(iter(pairs.values()))))
            found = measure_search(hub, made, encoder)
            sizes = measure_bytes(hub.database, count, folder)
    return {"engine": kind, "skills": count, **built, **found, **sizes}


def main() -> None:
    """Measure each size on each engine, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--engines", nargs="+", default=list(_LIMITS), choices=list(_LIMITS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for kind in given.engines:
        for count in (size for size in given.sizes if size <= _LIMITS[kind]):
            row = measure(kind, count)
            rows.append(row)
            shown = (f"{key}={value:.4g}" for key, value in row.items() if isinstance(value, float))
            print(f"{kind} {count}: {' '.join(shown)}", flush=True)
    for kind in given.engines:
        mine = [row for row in rows if row["engine"] == kind]
        for small, large in pairwise(mine):
            grown = {key: large[key] / small[key] for key in ("p95_ms", "rows_s")}
            said = " ".join(f"{key} x{value:.2f}" for key, value in grown.items())
            print(f"{kind} from {small['skills']} to {large['skills']} skills: {said}")
    if given.json:
        report = {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "rows": rows}
        given.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
