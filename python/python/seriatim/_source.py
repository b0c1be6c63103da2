"""From what the user has to histories."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Union, runtime_checkable

from . import _native
from ._native import History


@runtime_checkable
class Table(Protocol):
    """A table with Arrow's C stream interface: of pyarrow, pandas, polars and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


Source = Union[History, str, bytes, os.PathLike[str], Iterable[Mapping[str, Any]], Table]


def histories(
    source: Source, *, object: str | None = None, format: str | None = None, initial: str | int | None = None
) -> list[History]:
    """All histories of a source, such as a corpus in one file."""
    first = None if initial is None else str(initial)
    if isinstance(source, History):
        return [source]
    if isinstance(source, bytes):
        return _native.histories(content=source, format=format, object=object, initial=first)
    if isinstance(source, str) and "\n" in source:
        return _native.histories(content=source.encode(), format=format, object=object, initial=first)
    if isinstance(source, (str, os.PathLike)):
        return _native.histories(path=os.fspath(source), format=format, object=object, initial=first)
    if isinstance(source, Table):
        return _native.histories_of_table(source, object=object, initial=first)
    return _native.histories(content=lines(source), format="jsonl", object=object, initial=first)


def history(
    source: Source, *, object: str | None = None, format: str | None = None, initial: str | int | None = None
) -> History:
    """The one history of a source."""
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
    """A number of numpy as a plain one; a set as a list; anything else by its name."""
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot be part of a history")
