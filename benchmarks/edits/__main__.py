"""How edit_file's matcher does on real edits, and what an edit costs. Prints tables; exit 1 when a target is missed.

    python benchmarks/edits [--cache FOLDER]             source packages of the registries (fetched once), 3 languages
    python benchmarks/edits --git REPOSITORY ...         the histories of repositories
    python benchmarks/edits --versions OLD NEW           two versions of a package: folders or tar archives
    python benchmarks/edits --speed                      only what an edit of 5,000 lines and of 100 MB costs

Targets: harmless classes 99 % correct each (tabs 95 %), harmful classes 0 applied, bytes changed outside the edit 0;
an edit at most twice the time of reading and durably writing the file, in CPU time; 100 MB within 300 MB above idle.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import cases
import sources
import speed

from turnstone_lsp.workspace.matching import MatchError, find

OUTCOMES = ("correct", "wrong whitespace", "refused", "applied wrong")


@dataclass(slots=True)
class Tally:
    """What came of one class's cases. seconds: of each; outside: cases in which text outside the block changed."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    outside: int = 0
    shown: int = 0
    """Refusals whose text shows the block that was meant."""
    wrong: list[str] = field(default_factory=list)


def judge(case: cases.Case, tally: Tally) -> None:
    started = time.perf_counter()
    error = ""
    try:
        found = find(case.text, case.old, case.new)
    except MatchError as refused:
        tally.seconds.append(time.perf_counter() - started)
        tally.counts["refused"] += 1
        error = str(refused)
        first = next(line for line in case.edit.old.splitlines() if line.strip())
        tally.shown += first.strip()[:60] in error or refused.code == "ambiguous"
        if case.expected is not None:
            tally.wrong.append(f"{case.edit.name}: {error}\n--- old\n{case.old}\n--- new\n{case.new}")
        return
    tally.seconds.append(time.perf_counter() - started)
    result = case.text[: found.start] + found.replacement + case.text[found.end :]
    end = case.start + case.size
    if case.size and not (case.start <= found.start and found.end <= end):
        tally.outside += 1
    if result == case.expected:
        tally.counts["correct"] += 1
        return
    same = case.expected is not None and "".join(result.split()) == "".join(case.expected.split())
    tally.counts["wrong whitespace" if same else "applied wrong"] += 1
    tally.wrong.append(f"{case.edit.name} ({found.tier}, line {found.line})\n--- old\n{case.old}\n--- new\n{case.new}")


def table(tallies: dict[str, Tally]) -> list[str]:
    """Print it; the targets that were missed."""
    missed = []
    head = ("class", "cases", *OUTCOMES, "outside", "p50 ms", "p99 ms")
    print("{:<24}{:>7}{:>10}{:>18}{:>10}{:>15}{:>9}{:>9}{:>9}".format(*head))
    for kind, tally in tallies.items():
        total = sum(tally.counts.values())
        shares = [100 * tally.counts[outcome] / total for outcome in OUTCOMES]
        times = statistics.quantiles(tally.seconds, n=100) if len(tally.seconds) > 1 else tally.seconds * 99
        print(
            f"{kind:<24}{total:>7}{shares[0]:>9.2f}%{shares[1]:>17.2f}%{shares[2]:>9.2f}%{shares[3]:>14.2f}%"
            f"{tally.outside:>9}{1000 * times[49]:>9.2f}{1000 * times[98]:>9.2f}"
        )
        if tally.outside:
            missed.append(f"{kind}: {tally.outside} cases changed text outside the edit")
        if kind in cases.HARMFUL and shares[2] < 100:
            missed.append(f"{kind}: {total - tally.counts['refused']} of {total} were applied")
        if kind in cases.HARMLESS and shares[0] < (95 if kind == "tabs for spaces" else 99):
            missed.append(f"{kind}: {shares[0]:.2f} % correct")
    refused = [tally for kind, tally in tallies.items() if kind in cases.HARMFUL]
    shown, of = sum(tally.shown for tally in refused), sum(tally.counts["refused"] for tally in refused)
    print(f"\nRefusals of harmful calls whose text shows the place that was meant: {100 * shown / max(1, of):.1f} %")
    return missed


def quality(options: argparse.Namespace) -> list[str]:
    if options.git:
        pairs = [pair for place in options.git for pair in sources.of_git(place, options.commits)]
    elif options.versions:
        pairs = list(sources.of_versions(*options.versions))
    else:
        pairs = list(sources.fetched(options.cache))
    made = cases.build(pairs, options.edits, options.seed)
    tallies = {kind: Tally() for kind in (*cases.HARMLESS, *cases.HARMFUL)}
    for case in made:
        judge(case, tallies[case.kind])
    languages = Counter(case.edit.language for case in made)
    print(f"{len(made)} cases of {len({id(case.edit) for case in made})} edits: {dict(languages)}\n")
    if options.show:
        for text in tallies[options.show].wrong[:10]:
            print(text, end="\n\n")
    return table({kind: tally for kind, tally in tallies.items() if tally.counts})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "turnstone-lsp-benchmarks")
    parser.add_argument("--git", type=Path, nargs="+")
    parser.add_argument("--versions", type=Path, nargs=2, metavar=("OLD", "NEW"))
    parser.add_argument("--commits", type=int, default=500, help="of each history")
    parser.add_argument("--edits", type=int, default=250, help="edits of each language; each gives up to 13 cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", metavar="CLASS", help="print up to ten cases of a class that were not correct")
    parser.add_argument("--speed", action="store_true", help="only the cost of an edit")
    parser.add_argument("--no-speed", action="store_true", help="without the cost of an edit")
    options = parser.parse_args()
    missed = [] if options.speed else quality(options)
    if not options.no_speed:
        missed += speed.run()
    for text in missed:
        print(f"MISSED  {text}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
