"""From what the user has to histories."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, Union, runtime_checkable

from . import _native
from ._native import History, Reader, Unread


@runtime_checkable
class Table(Protocol):
    """A table with Arrow's C stream interface: of pyarrow, pandas, Polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


Source = Union[History, str, bytes, os.PathLike[str], Iterable[Mapping[str, Any]], Table]
"""What is, or has, histories. A `str` with a line break is text; one without is the path of a file that is there."""

Corpus = Union[Source, Mapping[str, Source], Iterable[Source]]
"""A source, a dict of sources by name, or any iterable of sources."""

LOT = 1024
"""How many histories are read, and checked, together."""


def given(source: Any, text: str | bytes | None, path: str | os.PathLike[str] | None) -> Any:
    """The one source that is given, as it is or by the names `text` and `path`."""
    if sum(it is not None for it in (source, text, path)) != 1:
        raise TypeError("exactly one history is needed: a source, or text=…, or path=…")
    if text is not None:
        return text.encode() if isinstance(text, str) else text
    if path is not None:
        return _Path(os.fspath(path))
    return source


class _Path(str):
    """A string that is a path."""

    def __fspath__(self) -> str:
        return str(self)


def content(source: str | bytes | os.PathLike[str]) -> bytes | _Path:
    """Text as bytes, or the path of a file. A plain string without a line break is a path only if a file is there."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, _Path) or not isinstance(source, str):
        return _Path(os.fspath(source))
    if "\n" in source:
        return source.encode()
    if os.path.exists(source):
        return _Path(source)
    shown = source if len(source) <= 80 else source[:80] + "…"
    raise FileNotFoundError(
        f"there is no file {shown!r}: if this is a history, say text={shown!r}; if it is a path, path={shown!r}"
    )


class Reading:
    """How sources are read."""

    def __init__(self, object: str | None, format: str | None, initial: str | int | None) -> None:
        self.object = object
        self.format = format
        self.initial = None if initial is None else str(initial)

    def reader(self, source: Any) -> Reader:
        """A reader of one source that is not a history yet."""
        if isinstance(source, (str, bytes, os.PathLike)):
            found = content(source)
            if isinstance(found, bytes):
                return Reader(content=found, format=self.format, object=self.object, initial=self.initial)
            return Reader(path=str(found), format=self.format, object=self.object, initial=self.initial)
        if isinstance(source, Table):
            # A reader of batches gives them once, one by one: they are not held.
            rows = "together" if hasattr(source, "read_next_batch") else "scattered"
            try:
                return Reader(table=source, rows=rows, object=self.object, initial=self.initial)
            except TypeError:
                mixed = _of_mixed_columns(source)
                if mixed is None:
                    raise
                return Reader(table=mixed, rows=rows, object=self.object, initial=self.initial)
        return Reader(content=lines(source), format="jsonl", object=self.object, initial=self.initial)

    def lots(self, source: Any) -> Iterator[list[History | Unread]]:
        """The histories of a corpus in lots. One source that cannot be opened raises; one of many is a bad history."""
        if isinstance(source, (History, Unread)):
            return iter([[source]])
        if isinstance(source, Mapping):
            return self._together(self._named(name, unit) for name, unit in source.items())
        if isinstance(source, (str, bytes, os.PathLike, Table)):
            return _taken(self.reader(source))
        if not isinstance(source, Iterable):
            raise TypeError(f"a {type(source).__name__} is no source of histories")
        units = iter(source)
        first = next(units, None)
        if first is None:
            return iter([])
        if isinstance(first, Mapping):
            return _taken(self.reader(_after(first, units)))
        if not isinstance(first, (History, Unread, str, bytes, os.PathLike, Table)) and not isinstance(first, Iterable):
            raise TypeError(f"item 0 is neither a history nor an event but a {type(first).__name__}")
        return self._together(self._unit(unit) for unit in _after(first, units))

    def _unit(self, unit: Any) -> Iterator[list[History | Unread]]:
        try:
            yield from self.lots(unit)
        except (OSError, ValueError, TypeError) as error:
            yield [Unread(error, os.fspath(unit) if isinstance(unit, os.PathLike) else None)]

    def _named(self, name: str, unit: Any) -> Iterator[list[History | Unread]]:
        for lot in self._unit(unit):
            yield [it.with_id(name) for it in lot]

    @staticmethod
    def _together(units: Iterable[Iterator[list[History | Unread]]]) -> Iterator[list[History | Unread]]:
        """Small lots together."""
        waiting: list[History | Unread] = []
        for unit in units:
            for lot in unit:
                waiting += lot
                if len(waiting) >= LOT:
                    yield waiting
                    waiting = []
        if waiting:
            yield waiting


def _after(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _taken(reader: Reader) -> Iterator[list[History | Unread]]:
    while lot := reader.take(LOT):
        yield lot


def histories(
    source: Corpus | None = None,
    *,
    text: str | bytes | None = None,
    path: str | os.PathLike[str] | None = None,
    object: str | None = None,
    format: str | None = None,
    initial: str | int | None = None,
) -> list[History]:
    """All histories of a source, such as a corpus in one file. The first that cannot be read raises its error."""
    found: list[History] = []
    for lot in Reading(object, format, initial).lots(given(source, text, path)):
        for it in lot:
            if isinstance(it, Unread):
                raise it.error
            found.append(it)
    return found


def history(
    source: Source | None = None,
    *,
    text: str | bytes | None = None,
    path: str | os.PathLike[str] | None = None,
    object: str | None = None,
    format: str | None = None,
    initial: str | int | None = None,
) -> History:
    """The one history of a source."""
    source = given(source, text, path)
    if isinstance(source, History):
        return source
    found = histories(source, object=object, format=format, initial=initial)
    if len(found) != 1:
        raise ValueError(f"this holds {len(found)} histories: `histories` reads them all, `check_all` checks them all")
    return found[0]


def lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Records as lines of JSON."""
    texts = []
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TypeError(f"record {number} is not a mapping but a {type(record).__name__}")
        texts.append(json.dumps(dict(record), default=_plain))
    return "\n".join(texts).encode() + b"\n"


def _plain(value: Any) -> Any:
    """A number or an array of numpy as a plain one; a set as a list; anything else by its name."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be part of a history")


def _of_mixed_columns(frame: Any) -> Any:
    """A data frame of pandas, whose columns of several types become columns of JSON. None for anything else."""
    if type(frame).__module__.partition(".")[0] != "pandas":
        return None
    import pyarrow

    def column(series: Any) -> tuple[Any, Any]:
        if series.dtype != "O" or all(it is None or isinstance(it, str) for it in series):
            array = pyarrow.array(series, from_pandas=True)
            return array, pyarrow.field(str(series.name), array.type)
        is_missing = [it is None or (isinstance(it, float) and it != it) for it in series]
        cells = [None if none else json.dumps(it, default=_plain) for it, none in zip(series, is_missing)]
        named = pyarrow.field(str(series.name), pyarrow.string(), metadata={"json": "true"})
        return pyarrow.array(cells, pyarrow.string()), named

    columns = [column(frame[name]) for name in frame.columns]
    return pyarrow.table([array for array, _ in columns], schema=pyarrow.schema([named for _, named in columns]))
