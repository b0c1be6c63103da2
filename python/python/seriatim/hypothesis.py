"""Concurrent programs for an object under test, drawn and shrunk by Hypothesis. `pip install 'seriatim[hypothesis]'`.

```python
@given(programs({"put": [st.integers(0, 3)], "get": []}, threads=2))
def test_box(program):
    program.assert_linearizable(Box, "queue", {"put": "enqueue", "get": "dequeue"}, empty=IndexError)
```

A program says what each thread calls, and when another thread goes on: its schedule. The threads are real, but only one
of them runs at a time, and it stops at the steps of Python's interpreter that the schedule names. So a program does the
same whenever it runs, and Hypothesis can shrink it: calls, arguments and switches. What fails prints as code that does
it again. Steps within code that is not Python are one step; another version of Python may count others.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from hypothesis import strategies as st

from . import record
from ._native import Verdict
from ._specification import Specification
from .record import Recorder

STEPS = 60
"""A thread runs at most so many steps before the next one goes on, if the schedule says so."""

BLOCKED = 0.05
"""After so many seconds without a step, a thread is taken to wait for another one, which goes on."""

UNTRACED = {__file__, record.__file__, threading.__file__}

Call = tuple[Any, ...]
"""The name of a method, and its arguments."""


class Program:
    """What each thread calls, and after how many steps the next thread goes on, again and again.

    After the last switch of the schedule, each thread runs to its end.

    >>> from collections import deque
    >>> program = Program([[("append", 1)], [("append", 2), ("popleft",)]], schedule=[3, 5])
    >>> program.run(deque, "queue", {"append": "enqueue", "popleft": "dequeue"}, empty=IndexError).verdict
    'consistent'
    """

    def __init__(self, threads: Sequence[Sequence[Call]], schedule: Sequence[int] = ()) -> None:
        self.threads = tuple(tuple(tuple(call) for call in calls) for calls in threads)
        self.schedule = tuple(schedule)

    def __repr__(self) -> str:
        threads = [list(calls) for calls in self.threads]
        return f"Program({threads!r}, schedule={list(self.schedule)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and (self.threads, self.schedule) == (other.threads, other.schedule)

    def __hash__(self) -> int:
        return hash((len(self.threads), self.schedule))

    def record(
        self,
        make: Callable[[], Any],
        object: str | Specification,
        methods: Mapping[str, str] | None = None,
        *,
        empty: type[BaseException] | tuple[type[BaseException], ...] = (),
        patience: float = 2.0,
    ) -> Recorder:
        """Runs the program on a new object. A call that waits for `patience` seconds for nothing never returns."""
        names = {name: name for calls in self.threads for name, *_ in calls} if methods is None else methods
        for calls in self.threads:
            for name, *_ in calls:
                if name not in names:
                    raise ValueError(f"there is no method {name} among {', '.join(names)}")
        turns = _Turns(len(self.threads), self.schedule)
        box = Recorder(make(), object, names, empty=empty)
        box.around = turns.step
        threads = [
            threading.Thread(target=turns.run, args=(number, box, calls, empty), daemon=True)
            for number, calls in enumerate(self.threads)
        ]
        for thread in threads:
            thread.start()
        turns.watch(patience)
        return box

    def run(
        self,
        make: Callable[[], Any],
        object: str | Specification,
        methods: Mapping[str, str] | None = None,
        *,
        empty: type[BaseException] | tuple[type[BaseException], ...] = (),
        patience: float = 2.0,
        timeout: float | None = 60.0,
    ) -> Verdict:
        """Runs the program on a new object, and checks whether its calls are linearizable.

        `make` makes the object. `object`, `methods` and `empty` are those of a `Recorder`.
        """
        box = self.record(make, object, methods, empty=empty, patience=patience)
        return box.check(timeout=timeout)

    def assert_linearizable(
        self,
        make: Callable[[], Any],
        object: str | Specification,
        methods: Mapping[str, str] | None = None,
        *,
        empty: type[BaseException] | tuple[type[BaseException], ...] = (),
        patience: float = 2.0,
        timeout: float | None = 60.0,
    ) -> None:
        """Fails with an explanation, and with code that does it again, if the calls are not linearizable."""
        if not any(self.threads):
            return
        verdict = self.run(make, object, methods, empty=empty, patience=patience, timeout=timeout)
        if verdict.consistent is True:
            return
        named = "" if methods is None else f", {dict(methods)!r}"
        excused = f", empty={_name(empty)}" if empty else ""
        shown = repr(object) if isinstance(object, str) else _name(object)
        code = f"{self!r}.assert_linearizable({_name(make)}, {shown}{named}{excused})"
        raise AssertionError(f"{verdict.explanation}\n\nfrom seriatim.hypothesis import Program\n\n{code}\n")


def _name(it: Any) -> str:
    """How code names it, as well as that is known."""
    if isinstance(it, tuple):
        return "(" + "".join(f"{_name(one)}, " for one in it) + ")"
    if hasattr(it, "__qualname__"):
        module = "" if it.__module__ in ("builtins", "__main__") else f"{it.__module__}."
        return f"{module}{it.__qualname__}"
    return f"{type(it).__qualname__}()"


class _Turns:
    """Whose turn it is. One thread runs at a time; the others wait."""

    def __init__(self, count: int, schedule: Sequence[int]) -> None:
        self._changed = threading.Condition()
        self._waiting: set[int] = set()
        self._alive = set(range(count))
        self._turn: int | None = None
        self._count = count
        self._schedule = list(reversed(schedule))
        self._left = self._next()
        self._steps = 0
        self._me = threading.local()

    def _next(self) -> int | None:
        return max(1, self._schedule.pop()) if self._schedule else None

    def run(self, number: int, box: Recorder, calls: Sequence[Call], empty: Any) -> None:
        """What a thread does."""
        self._me.number = number
        with self._changed:
            self._wait(number)
        sys.settrace(self._traced)
        try:
            for name, *arguments in calls:
                try:
                    getattr(box, name)(*arguments)
                except empty:
                    pass
                except Exception:
                    # It may have taken effect or not, so this thread is done.
                    break
        finally:
            sys.settrace(None)
            with self._changed:
                self._alive.discard(number)
                if self._turn == number:
                    self._pass_on(number)

    def _traced(self, frame: FrameType, event: str, argument: Any) -> Any:
        if _is_untraced(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            self.step()
        return self._stepped

    def step(self) -> None:
        """A step of the thread that calls it. Perhaps another one goes on."""
        number = self._me.number
        with self._changed:
            self._steps += 1
            if self._turn != number:
                self._wait(number)
            if self._left is None:
                return
            self._left -= 1
            if self._left <= 0:
                self._left = self._next()
                self._pass_on(number)
                self._wait(number)

    def _pass_on(self, number: int | None) -> None:
        """The next thread that waits has the turn; if there is none, this one keeps it."""
        after = 0 if number is None else number + 1
        order = [(after + distance) % self._count for distance in range(self._count)]
        ready = [other for other in order if other in self._waiting and other in self._alive]
        if ready:
            self._turn = ready[0]
        elif number is not None and number in self._alive:
            self._turn = number
        else:
            self._turn = None
        self._changed.notify_all()

    def _wait(self, number: int) -> None:
        self._waiting.add(number)
        if self._turn is None and len(self._waiting) == len(self._alive):
            # All have come, or nobody else can go on.
            self._turn = min(self._waiting)
        self._changed.notify_all()
        while self._turn != number:
            self._changed.wait()
        self._waiting.discard(number)

    def watch(self, patience: float) -> None:
        """Returns when all threads are done, or when nothing has happened for so long."""
        with self._changed:
            seen, since, passed = (0, 0), time.monotonic(), time.monotonic()
            while self._alive:
                self._changed.wait(BLOCKED)
                now = time.monotonic()
                if seen != (self._steps, len(self._alive)):
                    seen, since, passed = (self._steps, len(self._alive)), now, now
                if now - passed >= BLOCKED:
                    # Who has the turn waits for something that another one has.
                    self._pass_on(self._turn)
                    passed = now
                if now - since >= patience:
                    break


def _is_untraced(code: CodeType) -> bool:
    return code.co_filename in UNTRACED


def programs(
    methods: Mapping[str, Sequence[st.SearchStrategy[Any]] | st.SearchStrategy[Any]],
    *,
    threads: int = 2,
    calls: int = 4,
    switches: int = 8,
) -> st.SearchStrategy[Program]:
    """Draws programs of this many threads, with at most so many calls each, and so many switches between them.

    `methods` says for each method how its arguments are drawn: a strategy for each, or one strategy for the only one.
    """
    if not methods:
        raise ValueError("a program needs methods to call")
    drawn = []
    for name, arguments in methods.items():
        each = (arguments,) if isinstance(arguments, st.SearchStrategy) else tuple(arguments)
        drawn.append(st.tuples(st.just(name), *each))
    call = st.one_of(drawn)
    thread = st.lists(call, min_size=1, max_size=calls)
    return st.builds(
        Program,
        st.lists(thread, min_size=threads, max_size=threads),
        st.lists(st.integers(1, STEPS), max_size=switches),
    )
