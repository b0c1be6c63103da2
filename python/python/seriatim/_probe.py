"""Workloads against real databases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _native
from ._native import History, Verdict


@dataclass(frozen=True)
class Probe:
    """What the clients of a database saw."""

    url: str
    workload: str
    history: History
    """The history, with the recorded times in nanoseconds after the beginning."""
    committed: int
    """How many transactions or operations were committed."""
    aborted: int
    unknown: int
    """How many ended nobody knows how, because the connection broke."""
    seconds: float
    """How long the clients ran."""
    wrong_sums: int
    """How many transactions read all accounts of a bank, and found a wrong sum."""

    def check(self, model: str | None = None, *, timeout: float | None = 60.0) -> Verdict:
        """Checks the history. Without a model: `linearizable` for registers, else `strict-serializable`."""
        return _native.check(self.history, model, timeout)

    def to_dict(self) -> list[dict[str, Any]]:
        """The events as dicts, with Jepsen's fields."""
        return self.history.to_dict()

    def to_arrow(self) -> Any:
        """The operations as a table of pyarrow, with the columns of Parquet files."""
        return self.history.to_arrow()

    def to_pandas(self) -> Any:
        """The operations as a data frame of pandas, with the columns of Parquet files."""
        return self.history.to_pandas()

    def __str__(self) -> str:
        return (
            f"{self.workload} on {self.url.split('@')[-1]}: {self.committed} committed, {self.aborted} aborted, "
            f"{self.unknown} of unknown end in {self.seconds:.1f} s"
        )


def probe(
    url: str,
    workload: str = "register",
    *,
    isolation: str = "serializable",
    clients: int = 8,
    seconds: float = 10.0,
    keys: int = 8,
    length: int = 4,
    writes: int = 50,
    timeout: float = 5.0,
    seed: int = 0,
) -> Probe:
    """Runs a workload against PostgreSQL, Redis or etcd (`postgres://…`, `redis://…`, `etcd://…`), and records it.

    `workload` is `register`, `list`, `bank` or `transaction`; only PostgreSQL has a choice of `isolation`:
    `read-committed`, `repeatable-read` or `serializable`. A transaction has `length` operations on average, of which
    `writes` of a hundred write. A client waits `timeout` seconds for an answer.
    """
    found = _native.run_probe(url, workload, isolation, clients, seconds, keys, length, writes, timeout, seed)
    return Probe(url, workload, *found)
