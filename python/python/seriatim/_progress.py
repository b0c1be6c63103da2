"""Shows how far a check of a corpus is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Union

from ._native import Verdict
from ._results import Progress

Wanted = Union[bool, Callable[[Progress], Any]]
"""Nothing, a bar, or a function that is told."""


class Bar:
    """A bar of tqdm, a line on the terminal without it, a function that is called, or nothing."""

    def __init__(self, wanted: Wanted, total: int | None) -> None:
        self._tell = wanted if callable(wanted) else None
        self._total = total
        self._histories = 0
        self._counts: Counter[str] = Counter()
        self._bar: Any = None
        self._has_line = wanted is True
        if wanted is True:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._has_line = False
            self._bar = tqdm(total=total, unit=" histories")

    def add(self, histories: int, verdicts: Sequence[Verdict]) -> None:
        """So many more histories have these verdicts."""
        if self._bar is None and self._tell is None and not self._has_line:
            return
        self._histories += histories
        self._counts.update(verdict.verdict for verdict in verdicts)
        counts = self._counts
        progress = Progress(self._histories, counts["violation"], counts["unknown"], counts["error"], self._total)
        if self._tell is not None:
            self._tell(progress)
        if self._bar is not None:
            self._bar.update(histories)
            self._bar.set_postfix(violations=progress.violations, unknown=progress.unknown, errors=progress.errors)
        if self._has_line:
            of = "" if self._total is None else f" of {self._total}"
            told = f"{progress.violations} violations, {progress.unknown} unknown, {progress.errors} errors"
            print(f"\r{self._histories}{of} histories: {told}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._has_line and self._histories:
            print(file=sys.stderr)
