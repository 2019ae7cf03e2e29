"""How well messages find their skills: every way to route over every labelled set, in one run.

    python benchmarks/quality/table.py DEV [--plain DIR] [--rerank DIR] [--json FILE]

DEV holds labelled sets (skills, queries and qrels as .jsonl or .xz). `--plain` is a folder with the
encoder before it was tuned (`training.export --weights base.npz`): "MiniLM on descriptions" is then
exactly what others ship; without it that row uses our encoder. `--rerank` is a folder with a
cross-encoder (`training.export --judge`), which judges our first ten again.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import prowess
from prowess.evaluation.metrics import Outcome, Summary, summarise
from prowess.evaluation.routing import (
    Baseline,
    Bm25Baseline,
    DescriptionBaseline,
    Evaluation,
    KeywordBaseline,
    NamedSkills,
)
from prowess.evaluation.suites import Bench, without_examples
from prowess.host.evaluation import bench_folders, read_bench_folder
from prowess.host.models.local import OnnxEncoder
from prowess.wire.routing import summary as shown

_COLUMNS = (
    ("Hit@1", "hit1", 100), ("Recall@5", "recall5", 100), ("AUROC", "auroc", 1),
    ("Rejected@95", "rejected95", 1), ("Precision", "precision", 1), ("Recall", "recall", 1),
    ("Abstained", "abstained", 1),
)  # fmt: skip


class Table:
    """Runs every way to route over one set after the other."""

    def __init__(self, runtime: prowess.Runtime, plain: Path | None, rerank: Path | None) -> None:
        self.runtime = runtime
        self.evaluation = Evaluation(runtime.routing, time.perf_counter)
        self.plain = OnnxEncoder(str(plain), english_only=True) if plain else None
        self.rerank = rerank

    def rows(self, bench: Bench) -> dict[str, list[Outcome]]:
        """Return the outcomes of each way on one set."""
        skills = [without_examples(skill) for skill in bench.skills]
        catalogue = NamedSkills.of(self.runtime.routing.index_of(skills), lambda skill: skill.id)
        encoder = self.plain or self.runtime.routing.needed_encoder()
        label = "MiniLM, description" if self.plain else "our encoder, description"
        simpler: dict[str, Baseline] = {
            "keyword rules": KeywordBaseline(skills),
            "BM25, description": Bm25Baseline(skills),
            label: DescriptionBaseline(skills, encoder.encode),
        }
        found = {
            name: self.evaluation.run_baseline(catalogue, bench.cases, baseline)
            for name, baseline in simpler.items()
        }
        found["prowess"] = self.evaluation.run(catalogue, bench.cases)
        if self.rerank is not None:
            found["prowess, reranked"] = self.reranked(catalogue, bench)
        if any(skill.fields.get("examples") for skill in bench.skills):
            whole = self.runtime.routing.index_of(bench.skills)
            told = NamedSkills.of(whole, lambda skill: skill.id)
            found["prowess, with its examples"] = self.evaluation.run(told, bench.cases)
        return found

    def reranked(self, catalogue: NamedSkills, bench: Bench) -> list[Outcome]:
        """Run with a cross-encoder over the first ten."""
        config = self.runtime.config.path
        Path(config).write_text(json.dumps({"skills": {"routing": {"rerank": str(self.rerank)}}}))
        self.runtime.skills.refresh()
        try:
            return self.evaluation.run(catalogue, bench.cases)
        finally:
            Path(config).unlink()
            self.runtime.skills.refresh()


def print_rows(name: str, rows: Sequence[tuple[str, Summary]]) -> None:
    """Print one set as a table."""
    heads = [title for title, _, _ in _COLUMNS]
    print(f"\n{name}\n{'':28}" + "".join(f"{head:>12}" for head in (*heads, "ms")))
    for method, found in rows:
        cells = []
        for _, field, factor in _COLUMNS:
            value = getattr(found, field)
            digits = 1 if factor > 1 else 3
            cells.append("-" if value is None else f"{factor * value:.{digits}f}")
        cells.append(f"{found.ms_median:.1f}")
        print(f"{method:28}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dev", type=Path)
    parser.add_argument("--plain", type=Path)
    parser.add_argument("--rerank", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        environ = {"HOME": folder, "PATH": ""}
        with prowess.open(folder, home=f"{folder}/state", environ=environ) as runtime:
            table = Table(runtime, options.plain, options.rerank)
            for path in bench_folders(str(options.dev)):
                bench = read_bench_folder(path)
                rows = [(name, summarise(found)) for name, found in table.rows(bench).items()]
                print_rows(bench.name, rows)
                kept += [{"set": bench.name, "method": name, **shown(row)} for name, row in rows]
    if options.json:
        options.json.write_text(json.dumps(kept, indent=2))


if __name__ == "__main__":
    main()
