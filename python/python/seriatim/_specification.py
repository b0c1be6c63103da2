"""Objects of your own."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Specification(Protocol):
    """What an object does if no two calls overlap. Any object with these two methods will do.

    >>> class Counter:
    ...     def init(self):
    ...         return 0
    ...     def step(self, state, method, *arguments):
    ...         if method == "add":
    ...             return state + arguments[0], None
    ...         return state, state

    States, arguments and results must be hashable: a tuple, not a list.
    """

    def init(self) -> Hashable:
        """The state before any call."""

    def step(self, state: Any, method: str, *arguments: Any) -> Any:
        """The next state and the result, as a pair.

        None if the operation would wait in this state. A list of such pairs if the object may choose.
        """


def decode(text: str) -> Any:
    """The value that a text of a history stands for."""
    if text.startswith('"'):
        return json.loads(text)
    named = {"null": None, "nil": None, "true": True, "false": False}
    if text in named:
        return named[text]
    try:
        return int(text)
    except ValueError:
        return text
