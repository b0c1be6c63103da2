"""The questions that can be asked about a history."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _native
from ._native import History, Place, Shrunk, Verdict, Violation
from ._source import Source, histories, history
from ._specification import Specification, decode

AnObject = Union[str, Specification, None]


def check(
    source: Source,
    model: str | None = None,
    *,
    object: AnObject = None,
    timeout: float | None = 60.0,
    format: str | None = None,
    initial: str | int | None = None,
    unique: bool = False,
) -> Verdict:
    """Checks a history against a model.

    Without a model: `linearizable` for a history with calls and returns, `sc` for any other. `object` is the name of a
    built-in object, or an object of your own: see `Specification`. After `timeout` seconds the verdict is `unknown`;
    None means no limit.
    """
    if object is None or isinstance(object, str):
        read = history(source, object=object, format=format, initial=initial)
        return _native.check(read, model, timeout, unique)
    if model not in (None, "linearizable"):
        raise ValueError(f"an object of your own is checked for linearizability, not for {model}")
    read = history(_named(source), format=format, initial=initial)
    return _native.check_specification(read, object, decode, timeout)


def _named(source: Source) -> Source:
    """Records of an object that is not built in need a header that names it."""
    if isinstance(source, (History, str, bytes)) or not isinstance(source, Iterable):
        return source
    records: list[Mapping[str, Any]] = list(source)
    if records and "f" not in records[0] and "process" not in records[0]:
        return records
    return [{"object": "own"}, *records]


def check_all(
    source: Source | Iterable[History],
    model: str | None = None,
    *,
    object: str | None = None,
    timeout: float | None = 60.0,
    format: str | None = None,
    initial: str | int | None = None,
    unique: bool = False,
    jobs: int | None = None,
) -> list[Verdict]:
    """Checks all histories of a corpus, on several threads. The verdicts are in the order of the histories."""
    if isinstance(source, (list, tuple)) and source and all(isinstance(it, History) for it in source):
        found = list(source)
    else:
        found = histories(source, object=object, format=format, initial=initial)  # type: ignore[arg-type]
    return _native.check_all(found, model, timeout, unique, jobs)


def classify(source: Source, *, timeout: float | None = 60.0, unique: bool = False) -> Place:
    """The strongest memory models that a history satisfies, and the weakest that it breaks."""
    return _native.classify(history(source), timeout, unique)


def shrink(
    source: Source, model: str | None = None, *, object: str | None = None, timeout: float | None = 60.0
) -> Shrunk:
    """A minimal counterexample: without any one operation it would be consistent."""
    return _native.shrink(history(source, object=object), model, timeout)


def explain(source: Source, model: str | None = None, *, object: str | None = None) -> str:
    """The verdict in words and lanes. A violation is shrunk first, so that only what matters is told."""
    read = history(source, object=object)
    verdict = _native.check(read, model)
    if verdict.verdict != "violation":
        return verdict.explanation
    shrunk = _native.shrink(read, model).verdict
    return f"{shrunk.explanation}\n\n{shrunk.lanes()}"


def report(
    source: Source,
    model: str | None = None,
    *,
    output: str | os.PathLike[str],
    object: str | None = None,
    timeout: float | None = 60.0,
) -> Verdict:
    """Writes a page that shows the verdict and why it holds. It is one file, which any browser opens."""
    name = os.fspath(source) if isinstance(source, os.PathLike) else "history"
    verdict = _native.check(history(source, object=object), model, timeout)
    with open(output, "w", encoding="utf-8") as file:
        file.write(verdict.page(name))
    return verdict


def verify(certificate: str | Verdict, source: Source) -> tuple[str, str]:
    """Verifies a certificate with code that shares only the parser with the checkers.

    Returns the model and the verdict that it proves. Raises `RefusedError` if it proves nothing.
    """
    text = certificate.certificate if isinstance(certificate, Verdict) else certificate
    if text is None:
        raise ValueError("a verdict that is unknown has no certificate")
    return _native.verify(text, history(source))


def models() -> dict[str, str]:
    """The models, each with its definition in one line."""
    return dict(_native.models())


class monitor:
    """Follows events one by one, in bounded memory, and reports the event that makes a violation certain.

    >>> watch = monitor("linearizable", object="queue")
    >>> for line in ["[0] call enqueue 1", "[0] return", "[1] call dequeue"]:
    ...     assert watch.push(line) is None
    >>> watch.push("[1] return empty")
    <Violation at event 3: ...>
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        object: str | None = None,
        initial: str | int | None = None,
        threads: int | None = None,
    ) -> None:
        self._arguments = (model, object, None if initial is None else str(initial), threads)
        self._native: _native.Monitor | None = None

    def push(self, event: str | bytes | Mapping[str, Any]) -> Violation | None:
        """Takes in the next event: a line of text, or a dict with Jepsen's fields. Returns the violation, if it is one."""
        if isinstance(event, Mapping):
            line, format = json.dumps(dict(event)).encode(), "jsonl"
        else:
            line, format = event.encode() if isinstance(event, str) else event, "text"
        if self._native is None:
            model, object, initial, threads = self._arguments
            self._native = _native.Monitor(model, object, format, initial, threads)
        return self._native.push_lines(line.rstrip(b"\n") + b"\n")

    @property
    def verdict(self) -> str:
        """The verdict on the events so far."""
        return "consistent" if self._native is None else self._native.verdict

    @property
    def reason(self) -> str | None:
        """Why the verdict is `unknown`."""
        return None if self._native is None else self._native.reason

    @property
    def events(self) -> int:
        """How many events there were."""
        return 0 if self._native is None else self._native.events
