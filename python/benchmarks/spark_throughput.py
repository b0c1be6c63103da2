"""What a corpus costs on Spark, beside one process on the same data (docs/spark.md).

    python benchmarks/spark_throughput.py --histories 100000 --operations 20
    python benchmarks/spark_throughput.py --histories 100000 --operations 20 --giant 1000000

The corpus is Parquet, a row an operation, in a shuffled order. Spark has executors with one core each, every one a
process (`local-cluster`); one process reads the same file, sorts it and checks it with `check_all`. Told are processor
times: of one process, and of all processes that Spark has, without their start. The ratio is to be 2 at most.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pyspark
from pyspark.sql import SparkSession

import seriatim
from seriatim import spark as on_spark

COLUMNS = ("history_id", "index", "process", "f", "key", "value")


def parsed(seed: int, operations: int) -> list[tuple[str, str, str, int]]:
    text = str(seriatim.gen("tso", threads=4, operations=operations, seed=seed))
    lines = [line.split() for line in text.splitlines() if line.startswith("[")]
    return [(line[0].strip("[]"), line[1], line[2], int(line[3])) for line in lines if len(line) > 3]


def make(folder: Path, histories: int, operations: int, giant: int) -> int:
    """A corpus in Parquet, a row an operation, not in the order of histories. Tells how many operations it has."""
    seeds = [parsed(seed, operations) for seed in range(200)]
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}

    def add(name: str, rows: list[tuple[str, str, str, int]]) -> None:
        for index, row in enumerate(rows):
            for column, cell in zip(COLUMNS, (name, index, *row)):
                columns[column].append(cell)

    for number in range(histories):
        add(f"h{number}", seeds[number % len(seeds)])
    if giant:
        add("giant", parsed(0, giant))
    table = pyarrow.table(columns)
    # The rows of a history are far apart.
    order = pyarrow.array([row for start in range(10) for row in range(start, table.num_rows, 10)])
    parquet.write_table(table.take(order), folder / "corpus.parquet", row_group_size=200_000)
    return int(table.num_rows)


def spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def one_process(corpus: Path, model: str) -> tuple[float, dict[str, int]]:
    start = spent()
    table = parquet.read_table(corpus).sort_by([("history_id", "ascending"), ("index", "ascending")])
    counts: dict[str, int] = {}
    for verdict in seriatim.check_all(table.to_reader(), model, iterator=True, jobs=1):
        counts[verdict.verdict] = counts.get(verdict.verdict, 0) + 1
    return spent() - start, counts


def below(root: int) -> dict[int, tuple[str, float, int]]:
    """The name, the processor time and the largest memory, in megabytes, of a process and of all that it started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    waiting = [root]
    while waiting:
        process = waiting.pop()
        waiting += parents.get(process, [])
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            continue
        peak = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
        # With the children that it has waited for.
        found[process] = (status.split()[1], sum(map(int, fields[11:15])) / tick, peak // 1024)
    return found


def measure(
    corpus: Path, executors: int, model: str, java: str
) -> tuple[dict[str, float], float, on_spark.Summary, int]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "700m",
        "spark.executor.extraJavaOptions": java,
    }
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]").appName("throughput")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(corpus))
    # The first run starts the executors and their Python workers, and their compilers compile the plan.
    on_spark.check(frame, model).summary()
    before = below(os.getpid())
    start = time.monotonic()
    summary = on_spark.check(frame, model).summary()
    clock = time.monotonic() - start
    after = below(os.getpid())
    session.stop()
    used: dict[str, float] = {}
    for process, (name, seconds, _) in after.items():
        earlier = before.get(process, ("", 0.0, 0))[1]
        used[name] = used.get(name, 0.0) + seconds - earlier
    largest = max(peak for process, (*_, peak) in after.items() if process != os.getpid())
    return used, clock, summary, largest


def main() -> int:
    arguments = argparse.ArgumentParser(description="What a corpus costs on Spark")
    arguments.add_argument("--histories", type=int, default=100_000)
    arguments.add_argument("--operations", type=int, default=20, help="of each history")
    arguments.add_argument("--giant", type=int, default=0, help="operations of one history more")
    arguments.add_argument("--executors", type=int, default=2)
    arguments.add_argument("--model", default="tso")
    arguments.add_argument("--java", default="", help="options of the executors' Java, such as -XX:+UseSerialGC")
    arguments.add_argument("--most", type=float, default=2.0, help="fail if the ratio is larger")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = make(Path(name), chosen.histories, chosen.operations, chosen.giant)
        corpus = Path(name) / "corpus.parquet"
        alone, counts = one_process(corpus, chosen.model)
        used, clock, summary, largest = measure(corpus, chosen.executors, chosen.model, chosen.java)
    told = {verdict: count for (_, verdict), count in summary.counts.items()}
    total = sum(used.values())
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in sorted(used.items()))
    assert told == counts, (told, counts)
    print(
        f"{sum(counts.values())} histories, {rows} operations: one process {alone:.1f} s of processor time; "
        f"Spark with {chosen.executors} executors {total:.1f} s ({parts}), {clock:.1f} s by the clock, "
        f"largest process {largest} MB; ratio {total / alone:.2f}"
    )
    return int(total / alone > chosen.most)


if __name__ == "__main__":
    sys.exit(main())
