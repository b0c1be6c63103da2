"""Checks corpora that are larger than one machine, with Apache Spark. `pip install 'seriatim[spark]'`.

A corpus is a DataFrame in one of two forms:

- a row a history: the columns `history` (its name) and `text` (its content, in any format that files have);
- a row an event or an operation, with the columns of a table (`process`, `f`, `key`, `value` …), and `history`. Shuffled
  rows have no order, so a column `index` gives the order of events. Operations with `call` and `return` need none.

The checkers run inside the executors. One giant history does not hold up a stage: it has a partition of its own.

>>> checked = check(frame, ["sc", "tso"])        # doctest: +SKIP
>>> checked.verdicts.show()                      # doctest: +SKIP
>>> checked.summary()                            # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from . import _native

SCHEMA = "history string, model string, verdict string, strategy string, reason string, explanation string"
"""The columns of the verdicts. If a history cannot be read, or the model does not fit it, `verdict` is `error`."""

LOCAL = ("linearizable", "coherence")
"""The models that hold for a history iff they hold for each of its keys alone."""

PER_CORE = 4
"""How many partitions a core gets, if nothing is said: so that it can take another when one is done."""


class LostWork(RuntimeError):
    """Some history has no verdict, or several: the verdicts do not speak for the corpus."""


@dataclass(frozen=True)
class Summary:
    """The verdict on a corpus: any violation wins, else any error, else any unknown, else it is consistent."""

    verdict: str
    counts: dict[tuple[str, str], int]
    """How many histories, by model and verdict."""


@dataclass(frozen=True)
class Checked:
    """The verdicts on a corpus. They are computed when they are asked for."""

    verdicts: DataFrame
    expected: DataFrame
    """The name of every history, once."""
    models: tuple[str, ...]

    def summary(self) -> Summary:
        """Counts the verdicts. Raises `LostWork` unless each history has one verdict for each model."""
        verdicts = self.verdicts.select("history", "model", "verdict").persist()
        try:
            found = verdicts.groupBy("history").agg(F.count("*").alias("count"), F.countDistinct("model").alias("models"))
            wanted = len(self.models)
            joined = self.expected.join(found, "history", "full_outer")
            wrong = joined.where(F.col("count").isNull() | (F.col("count") != wanted) | (F.col("models") != wanted))
            lost = [row["history"] for row in wrong.limit(5).collect()]
            extra = verdicts.join(self.expected, "history", "left_anti").limit(1).count()
            if lost or extra:
                raise LostWork(f"not every history has one verdict for each model; for example: {', '.join(lost)}")
            rows = verdicts.groupBy("model", "verdict").count().collect()
        finally:
            verdicts.unpersist()
        counts = {(row["model"], row["verdict"]): row["count"] for row in rows}
        return Summary(worst(verdict for _, verdict in counts), dict(sorted(counts.items())))


def worst(verdicts: Iterator[str] | Sequence[str]) -> str:
    """The verdict on all: any violation wins, else any error, else any unknown, else all are consistent."""
    found = set(verdicts)
    return next((it for it in ("violation", "error", "unknown") if it in found), "consistent")


def check(
    frame: DataFrame,
    models: str | Sequence[str],
    *,
    object: str | None = None,
    timeout: float | None = 60.0,
    partitions: int | None = None,
) -> Checked:
    """Checks each history of a corpus against each model."""
    names = (models,) if isinstance(models, str) else tuple(models)
    known = dict(_native.models())
    for name in names:
        if name not in known:
            raise ValueError(f"there is no model {name}, only {', '.join(known)}")
    if "history" not in frame.columns:
        raise ValueError("the corpus needs a column `history`: the name of the history that a row belongs to")
    frame = frame.withColumn("history", F.col("history").cast("string"))
    expected = frame.select("history").distinct()
    if "text" in frame.columns:
        placed = frame.select("history", "text")
        work = _of_texts(names, object, timeout)
    else:
        placed = _placed(frame, partitions)
        work = _of_rows(names, object, timeout)
    return Checked(placed.mapInArrow(work, SCHEMA), expected, names)


def check_by_key(
    frame: DataFrame,
    model: str,
    *,
    object: str | None = None,
    timeout: float | None = 60.0,
    partitions: int | None = None,
) -> Summary:
    """Checks one huge history, each key by itself. That is sound only for models that are local to a key."""
    if model not in LOCAL:
        raise ValueError(
            f"{model} is not local: a history can violate it although each key alone satisfies it. "
            f"Only {' and '.join(LOCAL)} can be checked key by key"
        )
    if "key" not in frame.columns:
        raise ValueError("the history needs a column `key`")
    by_key = frame.withColumn("history", F.coalesce(F.col("key").cast("string"), F.lit("")))
    summary = check(by_key, model, object=object, timeout=timeout, partitions=partitions).summary()
    if summary.verdict == "error":
        raise ValueError("some key cannot be checked: `check` with the key as `history` tells why")
    return summary


def _placed(frame: DataFrame, partitions: int | None) -> DataFrame:
    """All rows of a history in one partition, in order. A giant is alone there; the others share what is left."""
    columns = frame.columns
    if "index" not in columns and "call" not in columns:
        raise ValueError("rows need an order: a column `index`, or the columns `call` and `return`")
    wanted = partitions or frame.sparkSession.sparkContext.defaultParallelism * PER_CORE
    sizes = frame.groupBy("history").count()
    total = sizes.agg(F.sum("count")).collect()[0][0] or 0
    # There are fewer giants than partitions, since each has more than its share.
    giants = sizes.where(F.col("count") * wanted > total).orderBy(F.desc("count"), "history").collect()
    rest = max(wanted - len(giants), 1)
    place = F.pmod(F.hash("history"), F.lit(rest)) + len(giants)
    if giants:
        pairs = [F.lit(part) for number, row in enumerate(giants) for part in (row["history"], number)]
        place = F.coalesce(F.create_map(*pairs)[F.col("history")], place)
    placed = frame.withColumn("_partition", place.cast("int")).repartitionById(len(giants) + rest, "_partition")
    order = ["history", "index"] if "index" in columns else ["history", "call"]
    return placed.drop("_partition").sortWithinPartitions(*order)


Work = Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


def _of_texts(models: tuple[str, ...], object: str | None, timeout: float | None) -> Work:
    def work(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            rows: list[tuple[Any, ...]] = []
            for name, text in zip(batch.column("history").to_pylist(), batch.column("text").to_pylist()):
                rows += _judged(name, lambda: _one(text, object), models, timeout)
            yield _batch(rows)

    return work


def _one(text: str | None, object: str | None) -> _native.History:
    found = _native.histories(content=(text or "").encode(), object=object)
    if len(found) != 1:
        raise ValueError(f"this text holds {len(found)} histories")
    return found[0]


def _of_rows(models: tuple[str, ...], object: str | None, timeout: float | None) -> Work:
    def work(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for name, table in _histories(batches):
            rows = _judged(name, lambda: _table(table, object), models, timeout)
            yield _batch(rows)

    return work


def _table(table: pyarrow.Table, object: str | None) -> _native.History:
    return _native.histories_of_table(table.drop_columns(["history"]), object=object)[0]


def _histories(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[tuple[str, pyarrow.Table]]:
    """The histories of a partition, whose rows are sorted by history. A history may go on in the next batch."""
    name: str | None = None
    parts: list[pyarrow.RecordBatch] = []
    for batch in batches:
        names = batch.column("history")
        runs = names.dictionary_encode() if not pyarrow.types.is_dictionary(names.type) else names
        start = 0
        codes = runs.indices.to_pylist()
        words = runs.dictionary.to_pylist()
        for end in range(1, len(codes) + 1):
            if end < len(codes) and codes[end] == codes[start]:
                continue
            of = words[codes[start]]
            if name is not None and of != name:
                yield name, pyarrow.Table.from_batches(parts)
                parts = []
            name = of
            parts.append(batch.slice(start, end - start))
            start = end
    if name is not None:
        yield name, pyarrow.Table.from_batches(parts)


def _judged(
    name: str, read: Callable[[], _native.History], models: tuple[str, ...], timeout: float | None
) -> list[tuple[Any, ...]]:
    """A row for each model. What is wrong with one history does not stop the others."""
    try:
        history = read()
    except ValueError as error:
        return [(name, model, "error", None, str(error), None) for model in models]
    rows: list[tuple[Any, ...]] = []
    for model in models:
        try:
            verdict = _native.check(history, model, timeout)
        except ValueError as error:
            rows.append((name, model, "error", None, str(error), None))
            continue
        told = verdict.explanation if verdict.verdict == "violation" else None
        rows.append((name, model, verdict.verdict, verdict.strategy, verdict.reason, told))
    return rows


def _batch(rows: list[tuple[Any, ...]]) -> pyarrow.RecordBatch:
    names = [field.split()[0] for field in SCHEMA.split(", ")]
    columns = [pyarrow.array([row[at] for row in rows], pyarrow.string()) for at in range(len(names))]
    return pyarrow.RecordBatch.from_arrays(columns, names)
