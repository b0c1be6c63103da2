"""Checks corpora that are larger than one machine, with Apache Spark. `pip install 'seriatim[spark]'`.

A corpus is a DataFrame in one of two forms:

- a row a history: the columns `history` (its name) and `text` (its content, in any format that files have);
- a row an event or an operation, with the columns of a table (`process`, `f`, `key`, `value` …, and `history`), by any of
  the names that tables have. Shuffled rows have no order, so a column `index` gives the order of events. Operations with
  `call` and `return` need none.

Rows are sent to their history once, and sorted there. A Python worker gets batches with many histories, and the checker
reads them where they are. It holds one lot of histories in memory, or one long history.

>>> checked = check(frame, ["sc", "tso"])        # doctest: +SKIP
>>> checked.verdicts.show()                      # doctest: +SKIP
>>> checked.summary()                            # doctest: +SKIP

`seriatim.streaming` follows a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from . import _native
from ._source import LOT

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
        """Counts the verdicts, in one job. Raises `LostWork` unless each history has one verdict for each model."""
        told = F.struct("model", "verdict")
        found = self.verdicts.select("history", told.alias("told"), F.lit(0).alias("expected"))
        nothing = F.lit(None).cast(found.schema["told"].dataType)
        wanted = self.expected.select("history", nothing.alias("told"), F.lit(1).alias("expected"))
        by_history = found.union(wanted).groupBy("history")
        each = by_history.agg(F.sort_array(F.collect_list("told")).alias("told"), F.sum("expected").alias("expected"))
        groups = each.groupBy("told", "expected").agg(F.count("*").alias("count"), F.min("history").alias("example"))
        with _one_job(self.verdicts):
            rows = groups.collect()
        counts: dict[tuple[str, str], int] = {}
        lost = []
        for row in rows:
            models = [it["model"] for it in row["told"]]
            if row["expected"] != 1 or sorted(models) != sorted(self.models):
                lost.append(str(row["example"]))
            for it in row["told"]:
                key = (it["model"], it["verdict"])
                counts[key] = counts.get(key, 0) + row["count"]
        if lost:
            examples = ", ".join(sorted(lost)[:5])
            raise LostWork(f"not every history has one verdict for each model; for example: {examples}")
        return Summary(worst(verdict for _, verdict in counts), dict(sorted(counts.items())))


@contextmanager
def _one_job(frame: DataFrame) -> Iterator[None]:
    """A plan that is not changed on the way: Spark starts a job for each stage that it may plan anew."""
    session = frame.sparkSession
    wanted = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(max(session.sparkContext.defaultParallelism, 1)),
    }
    before = {name: session.conf.get(name) for name in wanted}
    try:
        for name, value in wanted.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is not None:
                session.conf.set(name, old)


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
    names = known_models((models,) if isinstance(models, str) else models)
    frame = renamed(frame)
    expected = frame.select("history").distinct()
    if "text" in frame.columns:
        work = _of_texts(names, object, timeout)
        return Checked(frame.select("history", "text").mapInArrow(work, SCHEMA), expected, names)
    work = _of_rows(names, object, timeout)
    return Checked(_placed(frame, partitions).mapInArrow(work, SCHEMA), expected, names)


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
    keys = [name for name in frame.columns if _native.column_named(name) == "key"]
    if len(keys) != 1:
        raise ValueError("the history needs a column `key`")
    others = [name for name in frame.columns if _native.column_named(name) != "history"]
    by_key = frame.select(*others, F.coalesce(F.col(keys[0]).cast("string"), F.lit("")).alias("history"))
    summary = check(by_key, model, object=object, timeout=timeout, partitions=partitions).summary()
    if summary.verdict == "error":
        raise ValueError("some key cannot be checked: `check` with the key as `history` tells why")
    return summary


def known_models(models: Sequence[str]) -> tuple[str, ...]:
    """The models by their own names. Each is known."""
    known = dict(_native.models())
    for name in models:
        if name not in known:
            raise ValueError(f"there is no model {name}, only {', '.join(known)}")
    return tuple(models)


def renamed(frame: DataFrame) -> DataFrame:
    """The columns that count, by the names that they have in the documents, and `index` and `text`."""
    columns: dict[str, str] = {}
    for name in frame.columns:
        plain = name.lower()
        meant = plain if plain in ("index", "text") else _native.column_named(name)
        if meant is None:
            continue
        if meant in columns:
            raise ValueError(f"the columns {columns[meant]!r} and {name!r} both mean `{meant}`: drop or rename one")
        columns[meant] = name
    if "f" not in columns and "type" in columns:
        columns["f"] = columns.pop("type")
    if "history" not in columns:
        raise ValueError("the corpus needs a column `history`: the name of the history that a row belongs to")
    quoted = {meant: F.col(f"`{name}`") for meant, name in columns.items()}
    quoted["history"] = quoted["history"].cast("string")
    return frame.select(*(column.alias(meant) for meant, column in quoted.items()))


def _placed(frame: DataFrame, partitions: int | None) -> DataFrame:
    """All rows of a history in one partition, in order."""
    order = next((name for name in ("index", "call") if name in frame.columns), None)
    if order is None:
        raise ValueError("rows need an order: a column `index`, or the columns `call` and `return`")
    wanted = partitions or frame.sparkSession.sparkContext.defaultParallelism * PER_CORE
    return frame.repartition(wanted, "history").sortWithinPartitions("history", order)


Work = Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


def _of_texts(models: tuple[str, ...], object: str | None, timeout: float | None) -> Work:
    def work(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            names, texts = batch.column("history").to_pylist(), batch.column("text").to_pylist()
            for start in range(0, len(names), LOT):
                rows = zip(names[start : start + LOT], texts[start : start + LOT])
                lot = [_one(text, object).with_id(name or "") for name, text in rows]
                yield _told(_native.check_many(lot, models, timeout, False, 1), frozenset())

    return work


def _one(text: str | None, object: str | None) -> _native.History | _native.Unread:
    if text is None:
        return _native.Unread(ValueError("the text is NULL"))
    try:
        found = _native.Reader(content=text.encode(), object=object).take(2)
    except ValueError as error:
        return _native.Unread(error)
    return found[0] if len(found) == 1 else _native.Unread(ValueError("this text does not hold one history"))


def _of_rows(models: tuple[str, ...], object: str | None, timeout: float | None) -> Work:
    def work(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        first = next(batches, None)
        if first is None:
            return
        rows = _Rows(chain([first], batches))
        table = pyarrow.RecordBatchReader.from_batches(first.schema, rows)
        reader = _native.Reader(table=table, rows="apart", object=object)
        while True:
            lot = reader.take(LOT)
            if rows.failure is not None:
                raise rows.failure
            if not lot:
                return
            yield _told(_native.check_many(lot, models, timeout, False, 1), rows.unordered)

    return work


class _Rows:
    """The batches of a partition. It keeps why they ended early, and which histories have rows without an index."""

    def __init__(self, batches: Iterator[pyarrow.RecordBatch]) -> None:
        self._batches = batches
        self.failure: BaseException | None = None
        self.unordered: set[str] = set()

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        try:
            for batch in self._batches:
                if "index" in batch.schema.names and batch.column("index").null_count:
                    names = batch.column("history").filter(batch.column("index").is_null())
                    self.unordered.update(names.unique().to_pylist())
                yield batch
        except BaseException as error:
            self.failure = error
            raise


def _told(verdicts: list[_native.Verdict], unordered: frozenset[str] | set[str]) -> pyarrow.RecordBatch:
    """The verdicts as rows."""
    rows: list[tuple[str | None, ...]] = []
    for it in verdicts:
        name, model, verdict = it.id or None, it.model, it.verdict
        if name is None:
            rows.append((None, model, "error", None, "these rows belong to no history: `history` is NULL", None))
        elif name in unordered:
            rows.append((name, model, "error", None, "a row has no place in the order: `index` is NULL", None))
        else:
            told = it.explanation if verdict == "violation" else None
            rows.append((name, model, verdict, None if verdict == "error" else it.strategy, it.reason, told))
    names = [field.split()[0] for field in SCHEMA.split(", ")]
    columns = [pyarrow.array([row[at] for row in rows], pyarrow.string()) for at in range(len(names))]
    return pyarrow.RecordBatch.from_arrays(columns, names)
