"""What a corpus costs on Spark: a row an operation, checked with 1 and with 2 executors (docs/scale.md).

    python benchmarks/spark_throughput.py

Each executor is a process with one core (`local-cluster`). Told are the time by the clock, the processor time of the
executors (of the JVM, and of the Python worker in which the checker runs), and the bytes that the shuffle wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import seriatim
from seriatim import spark as on_spark

CPU = "_processor_time"


def timed(work: on_spark.Work) -> on_spark.Work:
    """The same work, which also tells how much processor time its partition took."""

    def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        start = time.process_time()
        yield from work(batches)
        columns: list[str | None] = [CPU, None, None, None, str(time.process_time() - start), None]
        names = [field.split()[0] for field in on_spark.SCHEMA.split(", ")]
        arrays = [pyarrow.array([value], pyarrow.string()) for value in columns]
        yield pyarrow.RecordBatch.from_arrays(arrays, names)

    return run


def make(folder: Path, histories: int, operations: int) -> None:
    """A corpus in Parquet, a row an operation."""
    seeds = 200
    rows: dict[str, list[object]] = {name: [] for name in ("history", "index", "process", "f", "key", "value")}
    texts = [str(seriatim.gen("tso", threads=4, operations=operations, seed=seed)) for seed in range(seeds)]
    parsed = []
    for text in texts:
        lines = [line.split() for line in text.splitlines() if line.startswith("[")]
        parsed.append([(line[0].strip("[]"), line[1], line[2], int(line[3])) for line in lines if len(line) > 3])
    for number in range(histories):
        for index, (process, f, key, value) in enumerate(parsed[number % seeds]):
            for name, cell in zip(rows, (str(number), index, process, f, key, value)):
                rows[name].append(cell)
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.table(rows), folder / "corpus.parquet", row_group_size=100_000)


def measure(corpus: Path, executors: int, logs: Path) -> dict[str, float]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
        "spark.executor.memory": "700m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": logs.as_uri(),
    }
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]").appName("throughput")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(corpus / "corpus.parquet"))
    work = timed(on_spark._of_rows(("tso",), None, 60.0))

    def run() -> list[Any]:
        placed = on_spark._placed(frame.withColumn("history", F.col("history").cast("string")), 8 * executors)
        return list(placed.mapInArrow(work, on_spark.SCHEMA).select("history", "verdict", "reason").collect())

    run()  # So that the executors and their Python workers are up.
    session.sparkContext.setJobDescription("measured")
    start = time.monotonic()
    rows = run()
    clock = time.monotonic() - start
    session.stop()
    python = sum(float(row["reason"]) for row in rows if row["history"] == CPU)
    verdicts = [row["verdict"] for row in rows if row["history"] != CPU]
    assert set(verdicts) == {"consistent"}, set(verdicts)
    java, shuffled = 0.0, 0
    measured: set[int] = set()
    for log in logs.iterdir():
        for line in log.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerJobStart":
                if (event.get("Properties") or {}).get("spark.job.description") == "measured":
                    measured.update(event["Stage IDs"])
            elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in measured:
                metrics = event["Task Metrics"]
                java += metrics["Executor CPU Time"] / 1e9
                shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        log.unlink()
    return {"histories": len(verdicts), "clock": clock, "python": python, "java": java, "shuffled": shuffled}


def main() -> None:
    arguments = argparse.ArgumentParser(description="What a corpus costs on Spark")
    arguments.add_argument("--histories", type=int, default=20_000)
    arguments.add_argument("--operations", type=int, default=100)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, logs = Path(name), Path(name) / "logs"
        logs.mkdir()
        make(folder, chosen.histories, chosen.operations)
        for executors in (1, 2):
            found = measure(folder, executors, logs)
            million = chosen.histories * chosen.operations / 1e6
            print(
                f"{executors} executors: {million:.1f} million operations in {found['histories']} histories: "
                f"{found['clock']:.1f} s by the clock, {1e6 * million / found['clock']:,.0f} operations a second; "
                f"for a million operations: {found['python'] / million:.2f} s of processor time in Python, "
                f"{found['java'] / million:.2f} s in the JVM, {found['shuffled'] / million / 1e6:.1f} MB shuffled"
            )


if __name__ == "__main__":
    main()
