"""Records the calls of several threads on an object of Python, and checks that they are linearizable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from . import _check
from ._native import Verdict
from ._specification import Specification


def _nothing() -> None:
    """Does nothing."""


class Recorder:
    """Stands for an object, and records the calls of its methods.

    >>> import queue
    >>> box = Recorder(queue.SimpleQueue(), "queue", {"put": "enqueue", "get_nowait": "dequeue"}, empty=queue.Empty)
    >>> box.put(1)
    >>> box.get_nowait()
    1
    >>> box.check().verdict
    'consistent'

    `methods` says what the methods are called in the history. Methods that it does not name are not recorded. An
    exception of the kind `empty` counts as a result: nothing was there. A call that ends in any other exception may have
    taken effect or not.
    """

    def __init__(
        self,
        target: Any,
        object: str | Specification,
        methods: Mapping[str, str],
        *,
        empty: type[BaseException] | tuple[type[BaseException], ...] = (),
    ) -> None:
        self._target = target
        self._object = object
        self._methods = dict(methods)
        self._empty = empty
        # Appending to a list is one step for all threads, so the list is in the order of the events.
        self._events: list[dict[str, Any]] = []
        self._processes: dict[int, int] = {}
        self.around: Callable[[], None] = _nothing
        """Is called between the record of a call and the call, and between the call and the record of its return."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if name not in self._methods:
            return method
        return self._recorded(method, self._methods[name])

    def _process(self) -> int:
        return self._processes.setdefault(threading.get_ident(), len(self._processes))

    def _recorded(self, method: Callable[..., Any], f: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            process = self._process()
            value = None if not arguments else arguments[0] if len(arguments) == 1 else list(arguments)
            self._events.append({"process": process, "type": "invoke", "f": f, "value": value})
            self.around()
            try:
                result = method(*arguments)
                self.around()
            except self._empty:
                self.around()
                self._events.append({"process": process, "type": "ok", "f": f, "value": None})
                raise
            except BaseException:
                self._events.append({"process": process, "type": "info", "f": f, "value": value})
                raise
            returned = value if result is None and isinstance(self._object, str) else result
            self._events.append({"process": process, "type": "ok", "f": f, "value": returned})
            return result

        return call

    @property
    def history(self) -> list[dict[str, Any]]:
        """The events so far, with Jepsen's fields."""
        return list(self._events)

    def run(self, *clients: Callable[[Recorder], None]) -> Verdict:
        """Runs each client in a thread of its own, all at once, and checks what they did."""
        barrier = threading.Barrier(len(clients))

        def run(client: Callable[[Recorder], None]) -> None:
            barrier.wait()
            client(self)

        threads = [threading.Thread(target=run, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.check()

    def check(self, *, timeout: float | None = 60.0) -> Verdict:
        """Whether the calls so far are linearizable."""
        return _check.check(self.history, "linearizable", object=self._object, timeout=timeout)

    def assert_linearizable(self, *, timeout: float | None = 60.0) -> None:
        """Fails with an explanation if the calls so far are not linearizable."""
        verdict = self.check(timeout=timeout)
        if verdict.verdict != "consistent":
            raise AssertionError(verdict.explanation)
