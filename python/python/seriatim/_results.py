"""What the answers look like."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html import escape
from typing import Any

from . import _convert
from ._native import History, Verdict

SHOWN = 20
"""How many rows a notebook shows."""


class Results(list[Verdict]):
    """The verdicts on a corpus, in the order of its histories, and for each in the order of the models."""

    def counts(self) -> dict[tuple[str | None, str], int]:
        """How many histories there are by model and verdict."""
        return dict(sorted(Counter((it.model, it.verdict) for it in self).items(), key=str))

    def with_verdict(self, *verdicts: str) -> Results:
        """Those with one of these verdicts, such as `violation` or `error`."""
        return Results(it for it in self if it.verdict in verdicts)

    def to_dict(self) -> list[dict[str, Any]]:
        """A list of dicts of plain values."""
        return _convert.to_dict(self)

    def to_arrow(self) -> Any:
        """A table of pyarrow, a row a verdict."""
        return _convert.to_arrow(self)

    def to_pandas(self) -> Any:
        """A data frame of pandas, a row a verdict."""
        return _convert.to_pandas(self)

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {model or 'unread'} {verdict}" for (model, verdict), count in self.counts().items())
        return f"<Results: {told or 'none'}>"

    def _repr_html_(self) -> str:
        rows = [
            [it.id or it.number, it.file or "", it.line or "", it.model or "", it.verdict, it.reason or ""]
            for it in self[:SHOWN]
        ]
        more = f"<p>and {len(self) - SHOWN} more</p>" if len(self) > SHOWN else ""
        table = html_table(["history", "file", "line", "model", "verdict", ""], rows)
        return f"<p>{escape(repr(self))}</p>{table}{more}"


def html_table(names: list[str], rows: list[list[Any]]) -> str:
    """A table for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Place:
    """The place of a history among the memory models."""

    satisfies: list[str]
    """The strongest models that it satisfies."""
    breaks: list[str]
    """The weakest models that it breaks."""
    verdicts: list[tuple[str, str | None]]
    """For each model its verdict; None if the model does not apply."""
    svg: str = field(default="", repr=False, compare=False)
    """The models and their verdicts, as a picture."""

    def __hash__(self) -> int:
        return hash((tuple(self.satisfies), tuple(self.breaks), tuple(self.verdicts)))

    def to_dict(self) -> dict[str, str | None]:
        """The verdict of each model."""
        return dict(self.verdicts)

    def to_arrow(self) -> Any:
        """A table of pyarrow, a row a model."""
        import pyarrow

        return pyarrow.table(self._columns())

    def to_pandas(self) -> Any:
        """A data frame of pandas, a row a model."""
        import pandas

        return pandas.DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        edges = {**dict.fromkeys(self.satisfies, "strongest satisfied"), **dict.fromkeys(self.breaks, "weakest broken")}
        return {
            "model": [model for model, _ in self.verdicts],
            "verdict": [verdict or "does not apply" for _, verdict in self.verdicts],
            "edge": [edges.get(model) for model, _ in self.verdicts],
        }

    def __str__(self) -> str:
        return f"satisfies {', '.join(self.satisfies) or 'nothing'}; breaks {', '.join(self.breaks) or 'nothing'}"

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = [[cell or "" for cell in row] for row in zip(*columns.values())]
        return f"<div>{self.svg}<p>{escape(str(self))}</p>{html_table(list(columns), rows)}</div>"


@dataclass(frozen=True)
class Shrunk:
    """A minimal counterexample."""

    history: History
    """What is left of the history."""
    verdict: Verdict
    """Why it violates the model."""
    is_minimal: bool
    """Whether no operation can be removed."""

    def _repr_html_(self) -> str:
        return self.verdict._repr_html_()


@dataclass(frozen=True, repr=False)
class Violation:
    """The event that made a violation certain."""

    event: int
    """The number of the event, from 0."""
    reason: str
    """The reason in a few words."""

    def __repr__(self) -> str:
        return f"<Violation at event {self.event}: {self.reason}>"


@dataclass(frozen=True)
class Progress:
    """How far a check of a corpus is."""

    histories: int
    """How many histories were checked."""
    violations: int
    """How many verdicts are violations."""
    unknown: int
    """How many verdicts are unknown."""
    errors: int
    """How many verdicts are errors."""
    total: int | None
    """How many histories there are, if that is known."""
