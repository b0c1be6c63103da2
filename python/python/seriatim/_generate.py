"""Histories to try things with."""

from __future__ import annotations

from . import _native
from ._native import History


def gen(
    model: str = "sc",
    *,
    object: str | None = None,
    threads: int = 4,
    operations: int = 1000,
    locations: int = 8,
    writes: int = 50,
    rmws: int = 0,
    fences: int = 0,
    perturb: int = 0,
    values: int = 0,
    keys: int = 0,
    pending: int = 0,
    wrong: str | None = None,
    seed: int = 0,
) -> History:
    """A history of a simulated memory or, with `object`, of a simulated object. The same arguments give the same one.

    `model` is the machine: sc, tso, pso, ra, rc20, relaxed. `perturb` reads of a memory return another value. `wrong` is
    what goes wrong in an object: k-fifo, lost, duplicated, late-empty. `values` is how many different values there are;
    with 0 each insertion has its own.
    """
    if object is not None:
        return _native.generate_object(object, threads, operations, values, keys, pending, wrong, seed)
    return _native.generate_memory(model, threads, operations, locations, writes, rmws, fences, perturb, seed)
