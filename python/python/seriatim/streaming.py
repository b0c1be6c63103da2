"""Follows histories that arrive as a stream of Spark, each with a monitor of its own. `pip install 'seriatim[spark]'`.

```python
events = session.readStream.schema(...).parquet("events/")
watched = watch(events, "linearizable", object="queue")
watched.writeStream.outputMode("update").format("console").start()
```

A row is an event, with the columns of a table, and `index`: the number of the event in its history, from 0, without
gaps. An event is looked at as soon as all before it are there, whatever batch they came in, and however late. So the
verdict is exact: it is what the monitor says of the first events of the history, as many as `events` tells. Events that
came too early wait in the state of their history; `waiting` tells how many.

No watermark is needed, and without one a history is never forgotten. With `forgets`, the rows have a column `time`, a
timestamp, with a watermark (`withWatermark`). A history that had no event for so long, in the time of the watermark, is
forgotten, and its last row says so. Spark drops rows that are later than the watermark before we see them: the events
after them wait for ever, which `waiting` tells, and the verdict stays that of the events before. An event of a history
that was forgotten begins it anew, and waits for the event 0. So lateness costs an answer, and never makes a wrong one.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pandas
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from . import _native
from .spark import known_models, renamed

SCHEMA = "history string, model string, verdict string, events long, waiting long, event long, reason string"
"""The columns of the verdicts. `event` is the number of the event that made a violation certain. The verdict is `error`
if an event is bad, and `forgotten` in the last row of a history that is forgotten before its verdict is certain."""

COLUMNS = [field.split()[0] for field in SCHEMA.split(", ")]
STATE = "state binary"


class Followed:
    """One history: its monitor, and the events that came too early."""

    def __init__(self, model: str, object: str | None, initial: str | None) -> None:
        self._monitor = _native.Monitor(model, object, "jsonl", initial, None)
        self._next = 0
        self._waiting: dict[int, bytes] = {}
        self._end: tuple[str, int | None, str | None] | None = None

    def take(self, events: Iterable[tuple[str | None, str]]) -> None:
        """Takes in events, in any order: places and lines. One that was there before is left alone."""
        for place, line in events:
            if place is None or int(place) < 0:
                told = "NULL" if place is None else place
                self._end = self._end or ("error", None, f"an event has no place in the order: `index` is {told}")
            elif int(place) >= self._next and self._end is None:
                self._waiting.setdefault(int(place), line.encode() + b"\n")
        while self._end is None and self._next in self._waiting:
            event = self._waiting.pop(self._next)
            try:
                violation = self._monitor.push_lines(event)
            except ValueError as error:
                self._end = ("error", self._next, str(error))
                break
            if violation is not None:
                self._end = ("violation", self._next, violation.reason)
            self._next += 1
        if self._end is not None:
            self._waiting.clear()

    def row(self, name: str, model: str, is_forgotten: bool = False) -> tuple[Any, ...]:
        """What is known of it."""
        verdict, event, reason = self._end or (self._monitor.verdict, None, self._monitor.reason)
        if is_forgotten and self._end is None:
            verdict, reason = "forgotten", f"no event came for long; of the first {self._next} events: {verdict}"
        return (name, model, verdict, self._next, len(self._waiting), event, reason)


def watch(
    frame: DataFrame,
    model: str,
    *,
    object: str | None = None,
    initial: str | int | None = None,
    forgets: str | None = None,
) -> DataFrame:
    """Follows each history of a stream with a monitor. A row for each history that has news, in the output mode `update`.

    The model is one that has a monitor: `linearizable`, `sc-observed`, `ra`, `rc20`, `relaxed`, `wra`,
    `wsc`, `tso`, and isolation levels.
    """
    (model,) = known_models([model])
    rows = renamed(frame)
    if "index" not in rows.columns:
        raise ValueError("the stream needs a column `index`: the number of each event in its history, from 0")
    if forgets is not None and "time" not in rows.columns:
        raise ValueError("to forget histories, the stream needs a column `time` with a watermark")
    milliseconds = None if forgets is None else _milliseconds(frame, forgets)
    first = None if initial is None else str(initial)

    def follow(key: tuple[Any, ...], lots: Iterator[pandas.DataFrame], state: GroupState) -> Iterator[pandas.DataFrame]:
        followed = pickle.loads(bytes(state.get[0])) if state.exists else Followed(model, object, first)
        if state.hasTimedOut:
            state.remove()
            yield pandas.DataFrame([followed.row(key[0], model, is_forgotten=True)], columns=COLUMNS)
            return
        for lot in lots:
            followed.take(zip(lot["index"], lot["line"]))
        state.update((pickle.dumps(followed),))
        if milliseconds is not None:
            state.setTimeoutTimestamp(max(state.getCurrentWatermarkMs(), 0) + milliseconds)
        yield pandas.DataFrame([followed.row(key[0], model)], columns=COLUMNS)

    timeout = GroupStateTimeout.NoTimeout if forgets is None else GroupStateTimeout.EventTimeTimeout
    return _lines(rows).groupBy("history").applyInPandasWithState(follow, SCHEMA, STATE, "update", timeout)


def _milliseconds(frame: DataFrame, interval: str) -> int:
    """The milliseconds of an interval in Spark's words, such as `10 minutes`."""
    session = frame.sparkSession
    row = session.sql(f"SELECT CAST(INTERVAL {json.dumps(interval)} AS INTERVAL DAY TO SECOND) AS it").first()
    assert row is not None
    return int(row["it"].total_seconds() * 1000)


def _lines(rows: DataFrame) -> DataFrame:
    """Each event as a line of JSON, beside its history and its place. Places are texts, since pandas has no null integer.

    A null is left out, but for a value.
    """
    named = [name for name in rows.columns if name not in ("history", "index", "value", "time")]
    line = F.to_json(F.struct(*named))
    if "value" in rows.columns:
        value = F.to_json(F.struct("value"), {"ignoreNullFields": "false"})
        line = F.concat(F.regexp_replace(line, "[}]$", ","), F.regexp_replace(value, "^[{]", ""))
    kept = ["time"] if "time" in rows.columns else []
    return rows.select("history", F.col("index").cast("string").alias("index"), line.alias("line"), *kept)
