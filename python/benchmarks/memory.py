"""How much memory a corpus of small histories takes, when its verdicts come one by one.

    python benchmarks/memory.py
    python benchmarks/memory.py --from generator

A million histories of four operations, from a file or from a generator of texts, are to take less than 300 MB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import seriatim

TEXT = "[0] w x 1\n[1] r x 1\n[1] w y 2\n[0] r y 0\n"


def peak() -> float:
    """In megabytes, of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    arguments = argparse.ArgumentParser(description="How much memory a corpus takes")
    arguments.add_argument("--histories", type=int, default=1_000_000)
    arguments.add_argument("--from", dest="kind", choices=["file", "generator"], default="file")
    arguments.add_argument("--most", type=float, default=300.0, help="fail if it takes more megabytes")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.hist"
        with open(path, "w") as file:
            for _ in range(chosen.histories):
                file.write(TEXT + "---\n")
        texts: Iterator[str] = (TEXT for _ in range(chosen.histories))
        source = path if chosen.kind == "file" else texts
        counts = Counter(it.verdict for it in seriatim.check_all(source, "sc", iterator=True))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    spent = usage.ru_utime + usage.ru_stime
    print(f"{chosen.histories} histories from a {chosen.kind}: {dict(counts)}, {peak():.0f} MB, {spent:.1f} s")
    return int(peak() > chosen.most)


if __name__ == "__main__":
    sys.exit(main())
