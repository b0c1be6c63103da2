"""The questions that can be asked about a history."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Union, overload

from . import _native
from ._native import History, Verdict
from ._progress import Bar, Wanted
from ._results import Place, Results, Shrunk, Violation
from ._source import Corpus, Reading, Source, given, history
from ._specification import Specification, decode

AnObject = Union[str, Specification, None]
Text = Union[str, bytes, None]
Path = Union[str, os.PathLike[str], None]


def check(
    source: Source | None = None,
    model: str | None = None,
    *,
    text: Text = None,
    path: Path = None,
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

    >>> check(text="[a] w x 1\\n[b] r x 1", model="sc").consistent
    True
    """
    source = given(source, text, path)
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


@overload
def check_all(
    source: Corpus | None = None,
    model: str | Sequence[str] | None = None,
    *,
    iterator: Literal[False] = False,
    text: Text = None,
    path: Path = None,
    object: str | None = None,
    timeout: float | None = 60.0,
    format: str | None = None,
    initial: str | int | None = None,
    unique: bool = False,
    jobs: int | None = None,
    errors: Literal["result", "raise"] = "result",
    progress: Wanted = False,
) -> Results: ...
@overload
def check_all(
    source: Corpus | None = None,
    model: str | Sequence[str] | None = None,
    *,
    iterator: Literal[True],
    text: Text = None,
    path: Path = None,
    object: str | None = None,
    timeout: float | None = 60.0,
    format: str | None = None,
    initial: str | int | None = None,
    unique: bool = False,
    jobs: int | None = None,
    errors: Literal["result", "raise"] = "result",
    progress: Wanted = False,
) -> Iterator[Verdict]: ...
def check_all(
    source: Corpus | None = None,
    model: str | Sequence[str] | None = None,
    *,
    iterator: bool = False,
    text: Text = None,
    path: Path = None,
    object: str | None = None,
    timeout: float | None = 60.0,
    format: str | None = None,
    initial: str | int | None = None,
    unique: bool = False,
    jobs: int | None = None,
    errors: Literal["result", "raise"] = "result",
    progress: Wanted = False,
) -> Results | Iterator[Verdict]:
    """Checks all histories of a corpus against one model or several, on several threads.

    The corpus is a file or text of many histories, a table with a column `history`, a dict of sources by name, or any
    iterable of sources. The verdicts are in the order of the histories, and for each in the order of the models. Each
    has the `id`, the `file` and the `line` of its history.

    A history that cannot be read, or that a model does not fit, has the verdict `error`, with the exception as its
    `error`; the rest goes on. With `errors="raise"` the exception is raised.

    With `iterator=True` the verdicts come one by one, and only some histories are in memory at a time. `progress=True`
    shows a bar, of `tqdm` if it is installed; a function is called with a `Progress` now and then.

    >>> found = check_all({"one": "[a] w x 1\\n[b] r x 1\\n", "two": "[a] q x 1\\n"}, ["sc", "tso"])
    >>> [(it.id, it.model, it.verdict) for it in found]
    [('one', 'sc', 'consistent'), ('one', 'tso', 'consistent'), ('two', 'sc', 'error'), ('two', 'tso', 'error')]
    """
    if errors not in ("result", "raise"):
        raise ValueError(f"errors is 'result' or 'raise', not {errors!r}")
    models = None if model is None else [model] if isinstance(model, str) else list(model)
    _native.check_many([], models)  # An unknown model is told at once.
    source = given(source, text, path)
    is_counted = isinstance(source, (list, tuple)) and all(isinstance(it, History) for it in source)
    total = len(source) if is_counted and isinstance(source, (list, tuple)) else None
    lots = Reading(object, format, initial).lots(source)

    def checked() -> Iterator[Verdict]:
        with Bar(progress, total) as bar:
            for lot in lots:
                verdicts = _native.check_many(lot, models, timeout, unique, jobs)
                for verdict in verdicts:
                    if errors == "raise" and verdict.error is not None:
                        raise verdict.error
                    yield verdict
                bar.add(len(lot), verdicts)

    return checked() if iterator else Results(checked())


def classify(
    source: Source | None = None,
    *,
    text: Text = None,
    path: Path = None,
    timeout: float | None = 60.0,
    unique: bool = False,
) -> Place:
    """The strongest memory models that a history satisfies, and the weakest that it breaks."""
    return Place(*_native.classify(history(given(source, text, path)), timeout, unique))


def shrink(
    source: Source | None = None,
    model: str | None = None,
    *,
    text: Text = None,
    path: Path = None,
    object: str | None = None,
    timeout: float | None = 60.0,
) -> Shrunk:
    """A minimal counterexample: without any one operation it would be consistent."""
    return Shrunk(*_native.shrink(history(given(source, text, path), object=object), model, timeout))


def explain(
    source: Source | None = None,
    model: str | None = None,
    *,
    text: Text = None,
    path: Path = None,
    object: str | None = None,
) -> str:
    """The verdict in words and lanes. A violation is shrunk first, so that only what matters is told."""
    read = history(given(source, text, path), object=object)
    verdict = _native.check(read, model)
    if verdict.verdict != "violation":
        return verdict.explanation
    shrunk = shrink(read, model).verdict
    return f"{shrunk.explanation}\n\n{shrunk.lanes()}"


def report(
    source: Source | None = None,
    model: str | None = None,
    *,
    output: str | os.PathLike[str],
    text: Text = None,
    path: Path = None,
    object: str | None = None,
    timeout: float | None = 60.0,
) -> Verdict:
    """Writes a page that shows the verdict and why it holds. It is one file, which any browser opens."""
    source = given(source, text, path)
    name = os.fspath(source) if isinstance(source, os.PathLike) else "history"
    verdict = _native.check(history(source, object=object), model, timeout)
    with open(output, "w", encoding="utf-8") as file:
        file.write(verdict.page(name))
    return verdict


def verify(
    certificate: str | Verdict, source: Source | None = None, *, text: Text = None, path: Path = None
) -> tuple[str, str]:
    """Verifies a certificate with code that shares only the parser with the checkers.

    Returns the model and the verdict that it proves. Raises `RefusedError` if it proves nothing.
    """
    proof = certificate.certificate if isinstance(certificate, Verdict) else certificate
    if proof is None:
        raise ValueError("a verdict that is unknown has no certificate")
    return _native.verify(proof, history(given(source, text, path)))


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

    A monitor can be pickled at any time, and goes on where it was.
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
