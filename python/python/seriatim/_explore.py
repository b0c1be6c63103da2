"""Litmus tests: small programs with a condition on their final states, in the formats of herd."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from . import _native
from ._native import History
from ._results import html_table
from ._source import content, given


@dataclass(frozen=True)
class State:
    """A final state of a litmus test."""

    values: dict[str, int]
    """By the name of the register (`0:r1`) or of the location."""
    count: int
    """In how many executions the test may end so."""
    is_positive: bool
    """Whether it satisfies the proposition of the condition."""
    witness: History | None
    """An execution that may end so, if witnesses were asked for."""

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.values.items())), self.count, self.is_positive))


@dataclass(frozen=True)
class Exploration:
    """What a litmus test may do under a model."""

    test: str
    """The name of the test."""
    model: str
    condition: str
    """The condition, in herd's form."""
    verdict: str
    """`ok` if the condition holds, `no` if not, `unknown` if executions that were not seen could change it."""
    states: list[State]
    """The final states, in the order of their values."""
    executions: int
    """How many executions there are; those that read the same are one."""
    blocked: int
    deadlocks: int
    races: int
    is_reachable: bool
    """Whether some state satisfies the proposition."""
    is_complete: bool
    """Whether every execution was seen."""
    never_ends: bool
    """Whether it is certain that no execution ends."""

    @property
    def ok(self) -> bool | None:
        """Whether the condition holds; None if that is not known."""
        return {"ok": True, "no": False}.get(self.verdict)

    @property
    def witness(self) -> History | None:
        """An execution that satisfies the proposition, if there is one and witnesses were asked for."""
        return next((state.witness for state in self.states if state.is_positive), None)

    def __bool__(self) -> bool:
        raise TypeError("an exploration is neither true nor false: ask for its `.ok`, which is True, False or None")

    def __hash__(self) -> int:
        return hash((self.test, self.model, self.condition, self.verdict, tuple(self.states)))

    def to_dict(self) -> list[dict[str, Any]]:
        """A dict for each state: its values, and `count` and `satisfies`."""
        return [{**state.values, "[count]": state.count, "[satisfies]": state.is_positive} for state in self.states]

    def to_arrow(self) -> Any:
        """A table of pyarrow, a row a state."""
        import pyarrow

        return pyarrow.Table.from_pylist(self.to_dict())

    def to_pandas(self) -> Any:
        """A data frame of pandas, a row a state."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def __str__(self) -> str:
        return f"{self.test} under {self.model}: {self.condition}: {self.verdict}, {len(self.states)} states"

    def _repr_html_(self) -> str:
        rows = self.to_dict()
        table = html_table(list(rows[0]), [list(row.values()) for row in rows]) if rows else ""
        told = [self.test, self.model, self.condition, self.verdict]
        heading = html_table(["test", "model", "condition", "verdict"], [told])
        return f"<div>{heading}{table}</div>"


@overload
def explore(
    source: str | bytes | os.PathLike[str] | None = None,
    model: str | None = None,
    *,
    text: str | bytes | None = None,
    path: str | os.PathLike[str] | None = None,
    timeout: float | None = 60.0,
    steps: int = 100,
    jobs: int = 1,
    witnesses: bool = True,
    spurious: int = 1,
) -> Exploration: ...
@overload
def explore(
    source: str | bytes | os.PathLike[str] | None = None,
    model: Sequence[str] = ...,
    *,
    text: str | bytes | None = None,
    path: str | os.PathLike[str] | None = None,
    timeout: float | None = 60.0,
    steps: int = 100,
    jobs: int = 1,
    witnesses: bool = True,
    spurious: int = 1,
) -> list[Exploration]: ...
def explore(
    source: str | bytes | os.PathLike[str] | None = None,
    model: str | Sequence[str] | None = None,
    *,
    text: str | bytes | None = None,
    path: str | os.PathLike[str] | None = None,
    timeout: float | None = 60.0,
    steps: int = 100,
    jobs: int = 1,
    witnesses: bool = True,
    spurious: int = 1,
) -> Exploration | list[Exploration]:
    """Explores every execution of a litmus test that a model allows; with several models, one after the other.

    Without a model: `c20` for a test of C, `tso` for one of x86. A thread does `steps` accesses at most. Witnesses are
    kept by one worker, so `jobs` counts only without them. `spurious` is how often a weak compare-exchange may fail
    without a reason.

    >>> test = '''C SB
    ... { }
    ... P0 (atomic_int* x, atomic_int* y) {
    ...   atomic_store_explicit(x, 1, memory_order_release);
    ...   int r0 = atomic_load_explicit(y, memory_order_acquire);
    ... }
    ... P1 (atomic_int* x, atomic_int* y) {
    ...   atomic_store_explicit(y, 1, memory_order_release);
    ...   int r0 = atomic_load_explicit(x, memory_order_acquire);
    ... }
    ... exists (0:r0=0 /\\\\ 1:r0=0)'''
    >>> found = explore(test)
    >>> found.verdict, found.executions, [state.values for state in found.states if state.is_positive]
    ('ok', 4, [{'0:r0': 0, '1:r0': 0}])
    >>> explore(test, "sc").ok
    False
    """
    if model is not None and not isinstance(model, str):
        named = {"timeout": timeout, "steps": steps, "jobs": jobs, "witnesses": witnesses, "spurious": spurious}
        return [explore(source, one, text=text, path=path, **named) for one in model]  # type: ignore[call-overload]
    found = content(given(source, text, path))
    if isinstance(found, str):
        with open(found, "rb") as file:
            found = file.read()
    told, states = _native.explore(found, model, timeout, steps, jobs, witnesses, spurious)
    return Exploration(
        test=told.test,
        model=told.model,
        condition=told.condition,
        verdict=told.verdict,
        states=[State(*state) for state in states],
        executions=told.executions,
        blocked=told.blocked,
        deadlocks=told.deadlocks,
        races=told.races,
        is_reachable=told.reachable,
        is_complete=told.complete,
        never_ends=told.never_ends,
    )
