"""Recall against a bare FTS5 query, and opening a session against reading its rows. Prints a table and the ratios.

    python benchmarks/recall.py [--messages 1000000] [--runs 9] [--keep FILE]

The yardsticks use the same database file through plain sqlite3: the bare query asks the same index for the same words
(all of them) with the same limit and fetches the message rows, newest first; reading is one SELECT * of the session's
rows. A second bare query, ranked by BM25, is shown for comparison and not used as a target.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.memory import query, sessions
from turnstone_lsp.memory.database import Database
from turnstone_lsp.memory.search import search
from turnstone_lsp.memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 20
QUERIES = {
    "rare": "walrus",
    "common": "parser",
    "two common": "parser editor",
    "no hit": "xyzzyplugh",
    "rare and common": "parser walrus",
    "common, never together": "alpha omega",
}
TARGET_RECALL, TARGET_OPEN = 3.0, 2.0


def fill(db: Database, count: int) -> None:
    """Messages of 8 to 60 words, half of them with "parser", half with "editor", one in 50,000 with "walrus"."""
    rng = random.Random(1)
    vocabulary = [f"word{n}" for n in range(20_000)]
    written = 0
    while written < count:
        size = min(2_000, count - written)
        name = f"s{written}"
        sessions.create(db, name, f"/w/{written % 7}")
        batch = []
        for n in range(size):
            words = rng.choices(vocabulary, k=rng.randint(8, 60))
            words.append("parser" if rng.random() < 0.5 else "alpha")
            words.append("editor" if rng.random() < 0.5 else "other")
            if "alpha" not in words and rng.random() < 0.2:
                words.append("omega")
            if (written + n) % 50_000 == 7:
                words.append("walrus")
            rng.shuffle(words)
            batch.append({"role": ("user", "assistant")[n % 2], "content": " ".join(words)})
        sessions.append(db, name, batch, "", "")
        written += size


def cost(job: Callable[[], object]) -> float:
    """Milliseconds of CPU of one call, averaged over as many as take 20 ms."""
    calls, start = 0, time.process_time()
    while (spent := time.process_time() - start) < 0.02:
        job()
        calls += 1
    return spent / calls * 1000


def compare(ours: Callable[[], object], theirs: Callable[[], object], runs: int) -> tuple[float, float, float]:
    """Median CPU milliseconds of both, measured in turn so that the machine's moods hit both; median ratio."""
    pairs = [(cost(ours), cost(theirs)) for _ in range(runs + 1)][1:]  # the first warms the caches
    mine, limit = (statistics.median(side) for side in zip(*pairs, strict=True))
    return mine, limit, statistics.median(a / b for a, b in pairs)


def bare(plain: sqlite3.Connection, text: str) -> list[tuple[object, ...]]:
    return plain.execute(
        "SELECT m.id, m.session, m.role, m.created, m.content FROM messages_fts f JOIN messages m ON m.id = f.rowid"
        " WHERE messages_fts MATCH ? ORDER BY f.rowid DESC LIMIT ?",
        (query.every(query.terms(text)), LIMIT),
    ).fetchall()


def ranked(plain: sqlite3.Connection, text: str) -> list[tuple[object, ...]]:
    return plain.execute(
        "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rank LIMIT ?",
        (query.every(query.terms(text)), LIMIT),
    ).fetchall()


def recall_table(db: Database, plain: sqlite3.Connection, runs: int) -> bool:
    print(f"{'recall':24}{'ours ms':>10}{'bare ms':>10}{'ratio':>8}{'ranked ms':>12}   (CPU)")
    held = True
    for name, text in QUERIES.items():
        ours, limit, ratio = compare(
            lambda text=text: search(db, text, limit=LIMIT), lambda text=text: bare(plain, text), runs
        )
        best = cost(lambda text=text: ranked(plain, text))
        counted = name in list(QUERIES)[:4]
        held &= ratio <= TARGET_RECALL or not counted
        print(f"{name:24}{ours:10.3f}{limit:10.3f}{ratio:8.2f}{best:12.3f}   {'' if counted else '(no target)'}")
    return held


def open_table(path: Path, db: Database, plain: sqlite3.Connection, runs: int) -> bool:
    if db.row("SELECT 1 FROM sessions WHERE id = 'long'"):
        sessions.delete(db, "long")
    sessions.create(db, "long", "/w")
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    pair = [
        {"role": "user", "content": "do it " * 40},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "line of output\n" * 60},
        {"role": "assistant", "content": "Done, and here is what changed. " * 20},
    ]
    for _ in range(10):
        sessions.append(db, "long", pair * 250, "", "")
    sql = "SELECT * FROM messages WHERE session = ? AND thread = '' ORDER BY id"
    ours, reading, ratio = compare(
        lambda: sessions.load(db, "long"), lambda: plain.execute(sql, ("long",)).fetchall(), runs
    )

    async def through_store() -> float:
        store = Store(path)
        await store.load("long")
        start = time.perf_counter()
        await store.load("long")
        took = (time.perf_counter() - start) * 1000
        store.close()
        return took

    print(f"\nopen 10,000 messages: {ours:.1f} ms, reading the rows {reading:.1f} ms, ratio {ratio:.2f} (CPU);")
    print(f"through the async store {asyncio.run(through_store()):.1f} ms wall")
    return ratio <= TARGET_OPEN


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--keep", type=Path, help="use this database file again, or make it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "turnstone.db"
        filled = path.exists()
        db = Database(path)
        start = time.perf_counter()
        if not filled:
            fill(db, given.messages)
        took = time.perf_counter() - start
        (count,) = db.row("SELECT count(*) FROM messages") or (0,)
        print(f"{count:,} messages in {took:.0f} s, {path.stat().st_size / 1e6:.0f} MB\n")
        plain = sqlite3.connect(path)
        held = recall_table(db, plain, given.runs)
        held &= open_table(path, db, plain, given.runs)
        plain.close()
        db.close()
    print("\nall targets hold" if held else "\nA TARGET DOES NOT HOLD")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
