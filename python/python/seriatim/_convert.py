"""Results as plain dicts, as tables of pyarrow and as data frames of pandas."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ._native import History, Verdict

COLUMNS = {
    "id": "string",
    "file": "string",
    "number": "int64",
    "line": "int64",
    "model": "string",
    "verdict": "string",
    "consistent": "bool",
    "strategy": "string",
    "reason": "string",
    "explanation": "string",
}
"""What is told of a verdict, with the types of Arrow. Only a violation has an explanation."""


def verdict_to_dict(verdict: Verdict) -> dict[str, Any]:
    cells = {name: getattr(verdict, name) for name in COLUMNS if name != "explanation"}
    cells["explanation"] = verdict.explanation if verdict.verdict == "violation" else None
    return cells


def to_dict(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Verdicts as a list of dicts of plain values."""
    return [verdict_to_dict(verdict) for verdict in verdicts]


def to_arrow(verdicts: Iterable[Verdict]) -> Any:
    """Verdicts as a table of pyarrow, a row each. An iterator is read one by one."""
    import pyarrow

    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for verdict in verdicts:
        for name, cell in verdict_to_dict(verdict).items():
            columns[name].append(cell)
    arrays = [pyarrow.array(columns[name], pyarrow.type_for_alias(kind)) for name, kind in COLUMNS.items()]
    return pyarrow.table(arrays, names=list(COLUMNS))


def to_pandas(verdicts: Iterable[Verdict]) -> Any:
    """Verdicts as a data frame of pandas, a row each. An iterator is read one by one."""
    import pandas

    rows = to_dict(verdicts)
    kinds = {"string": "object", "int64": "Int64", "bool": "boolean"}
    columns = {name: pandas.Series([row[name] for row in rows], dtype=kinds[kind]) for name, kind in COLUMNS.items()}
    return pandas.DataFrame(columns)


def verdict_to_arrow(verdict: Verdict) -> Any:
    return to_arrow([verdict])


def verdict_to_pandas(verdict: Verdict) -> Any:
    return to_pandas([verdict])


def history_to_dict(history: History) -> list[dict[str, Any]]:
    return [json.loads(line) for line in history.to("jsonl").splitlines() if line]


def history_to_arrow(history: History) -> Any:
    import pyarrow
    import pyarrow.ipc

    content = pyarrow.BufferReader(history.to_bytes("arrow"))
    try:
        return pyarrow.ipc.open_file(content).read_all()
    except pyarrow.ArrowInvalid:
        content.seek(0)
        return pyarrow.ipc.open_stream(content).read_all()


def history_to_pandas(history: History) -> Any:
    table = history_to_arrow(history)
    frame = table.to_pandas()
    for named in table.schema:
        if (named.metadata or {}).get(b"json") == b"true":
            frame[named.name] = [None if cell is None else json.loads(cell) for cell in frame[named.name]]
    return frame
