"""A fixture for pytest: records calls from several threads, and asserts that they are linearizable.

def test_my_queue(linearizable):
    box = linearizable(MyQueue(), "queue", {"put": "enqueue", "take": "dequeue"})

    def client(box):
        for value in range(100):
            box.put((threading.get_ident(), value))
            box.take()

    box.run(client, client)

All recorders that a test made are checked when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .record import Recorder


@pytest.fixture
def linearizable() -> Iterator[Callable[..., Recorder]]:
    """Makes recorders, and checks at the end of the test that what they recorded is linearizable."""
    recorders: list[Recorder] = []

    def make(*arguments: object, **named: object) -> Recorder:
        recorder = Recorder(*arguments, **named)  # type: ignore[arg-type]
        recorders.append(recorder)
        return recorder

    yield make
    for recorder in recorders:
        recorder.assert_linearizable()
