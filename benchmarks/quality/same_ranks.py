"""Whether SQLite and PostgreSQL rank routing sets identically: the hub's search, and the router.

    python -m benchmarks.quality.same_ranks FOLDER... [--most 500]

Each folder is one set: `skills.jsonl.xz` (id, name, description, body) and `queries.jsonl.xz`
(text). The skills of a set become the catalogue of a hub on either engine, really encoded; every
list that a question gets is compared as far as anybody may ask for it (50), ids and scores. For the
router the index is made from vectors of either store, once as they were made and once as they came
back, and must be the same bytes. Exit code 1 where anything differs.
"""

import argparse
import json
import lzma
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.scale.hub import Made, fill, open_engine

from prowess.host.store.fleet.caches import StoredVectors
from prowess.host.store.routing import SqliteVectors
from prowess.hub.search import Access, DocumentIndex, NewDocument, read_asked, read_texts
from prowess.hub.service import MOST_FOUND
from prowess.hub.tables import HubDatabase
from prowess.runtime.ports import Encoder, VectorStore
from prowess.runtime.route.index import IndexBuilder, pack_index
from prowess.skills.model import Skill
from prowess.testing import make_skill
from prowess.wiring.library import Runtime, open_runtime
from prowess.wiring.sharing.hub import open_hub


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a set."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_skills(folder: Path) -> list[Skill]:
    """Return the skills of a set."""
    return [
        make_skill(name=row["name"], description=row["description"], body=row.get("body") or "")
        for row in read_rows(folder / "skills.jsonl.xz")
    ]


def make_documents(skills: Sequence[Skill], encoder: Encoder) -> list[Made]:
    """Return the skills as a hub finds them, in sixty namespaces of which some are private."""
    texts = [read_texts(skill) for skill in skills]
    vectors = encoder.encode([one.text for one in texts])
    return [
        # Names of a set may repeat.
        Made(
            f"{skill.name[:40]}-{number}",
            NewDocument(
                skill_id=number,
                space=number % 60 + 1,
                is_public=number % 3 != 0,
                version="1.0.0",
                words=text.words,
                vector=vector,
            ),
        )
        for number, (skill, text, vector) in enumerate(
            zip(skills, texts, vectors, strict=True), start=1
        )
    ]


def rank_all(
    runtime: Runtime, kind: str, skills: Sequence[Skill], asked: Sequence[str], folder: Path
) -> tuple[list[object], list[bytes]]:
    """Return the lists that a hub gives on one engine, and two indexes of the router."""
    encoder = runtime.routing.needed_encoder()
    folder.mkdir()
    with open_engine(kind, folder) as engine:
        hub = open_hub(runtime, HubDatabase(engine), str(folder))
        vectors = encoder.encode(list(asked))
        fill(hub, make_documents(skills, encoder), vectors.shape[1])
        index, seen = DocumentIndex(hub.database), Access(spaces=frozenset((3, 6, 9)))
        lists: list[object] = [
            index.search(read_asked(text), vector, seen, english_only=encoder.english_only)[
                :MOST_FOUND
            ]
            for text, vector in zip(asked, vectors, strict=True)
        ]
        path = str(folder / "vectors.db")
        store: VectorStore = StoredVectors(engine) if engine.is_server else SqliteVectors(path)
        built = [IndexBuilder(store).build(skills, encoder, {}).index for _ in range(2)]
        store.close()
    return lists, [pack_index(one) for one in built]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare each set on both engines, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=500, help="Questions of each set, from a seed.")
    given = parser.parse_args(arguments)
    differs = 0
    for place in given.sets:
        skills = read_skills(place)
        texts = [str(row["text"]) for row in read_rows(place / "queries.jsonl.xz")]
        asked = random.Random(5).sample(texts, min(given.most, len(texts)))
        with tempfile.TemporaryDirectory(prefix="prowess-ranks-") as name:
            folder = Path(name)
            with open_runtime(name, home=folder / "state") as runtime:
                (ours, indexes), (theirs, others) = (
                    rank_all(runtime, kind, skills, asked, folder / kind)
                    for kind in ("sqlite", "postgresql")
                )
        alike = sum(one == other for one, other in zip(ours, theirs, strict=True))
        routed = len({*indexes, *others}) == 1
        print(
            f"{place.name}: {len(skills)} skills, {alike} of {len(asked)} lists of the hub alike,"
            f" indexes of the router {'alike' if routed else 'DIFFER'}",
            flush=True,
        )
        differs += len(asked) - alike + (not routed)
    return int(differs > 0)


if __name__ == "__main__":
    sys.exit(main())
