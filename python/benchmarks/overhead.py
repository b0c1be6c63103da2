"""How much Python adds: a corpus of small histories through `check_all`, and through the command.

    python benchmarks/overhead.py ../target/release/seriatim

Both read the same file, with the same number of threads, in turns. What counts is processor time, which other work on the
machine disturbs less than the clock. The ratio is to be 1.3 at most.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import seriatim


def spent(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    arguments = argparse.ArgumentParser(description="What Python adds to a check of a corpus")
    arguments.add_argument("command", help="the command `seriatim`, built for release")
    arguments.add_argument("--histories", type=int, default=10_000)
    arguments.add_argument("--operations", type=int, default=20)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--most", type=float, default=1.3, help="fail if the ratio is larger")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.hist"
        made = (str(seriatim.gen("tso", operations=chosen.operations, seed=seed)) for seed in range(chosen.histories))
        corpus.write_text("---\n".join(made))
        python, command = [], []
        for _ in range(chosen.rounds):
            start = spent(resource.RUSAGE_SELF)
            verdicts = [verdict.verdict for verdict in seriatim.check_all(corpus, "sc")]
            python.append(spent(resource.RUSAGE_SELF) - start)
            start = spent(resource.RUSAGE_CHILDREN)
            ran = subprocess.run([chosen.command, "check", "--quiet", "--model", "sc", corpus], capture_output=True)
            command.append(spent(resource.RUSAGE_CHILDREN) - start)
            # With --quiet, the command prints a line for each violation, and nothing else.
            told = len(ran.stdout.splitlines())
            if told != verdicts.count("violation"):
                print(f"{verdicts.count('violation')} violations, and the command has {told}", file=sys.stderr)
                return 2
    ratio = statistics.median(python) / statistics.median(command)
    print(
        f"{chosen.histories} histories of {chosen.operations} operations: Python {statistics.median(python):.3f} s, "
        f"command {statistics.median(command):.3f} s of processor time (medians of {chosen.rounds}), ratio {ratio:.2f}"
    )
    return int(ratio > chosen.most)


if __name__ == "__main__":
    sys.exit(main())
