import queue
import threading

import pytest

import seriatim


class Account:
    def init(self):
        return 0

    def step(self, state, method, *arguments):
        if method == "deposit":
            return state + arguments[0], None
        if state < arguments[0]:
            return state, "refused"
        return state - arguments[0], "ok"


def calls(*operations):
    for process, method, value, result in operations:
        yield {"process": process, "type": "invoke", "f": method, "value": value}
        yield {"process": process, "type": "ok", "f": method, "value": result}


def test_an_object_of_your_own():
    fine = list(calls((0, "deposit", 5, None), (1, "withdraw", 5, "ok"), (2, "withdraw", 5, "refused")))
    verdict = seriatim.check(fine, object=Account())
    assert verdict.verdict == "consistent" and verdict.certificate
    twice = list(calls((0, "deposit", 5, None), (1, "withdraw", 5, "ok"), (2, "withdraw", 5, "ok")))
    verdict = seriatim.check(twice, object=Account())
    assert verdict.verdict == "violation"
    assert "withdraw" in verdict.explanation


def test_a_choice_and_a_wait():
    class Box:
        """Takes any of its values; waits if there is none."""

        def init(self):
            return frozenset()

        def step(self, state, method, *arguments):
            if method == "put":
                return state | {arguments[0]}, None
            return [(state - {value}, value) for value in sorted(state)]

    history = list(calls((0, "put", 1, None), (0, "put", 2, None), (1, "take", None, 2), (1, "take", None, 1)))
    assert seriatim.check(history, object=Box()).verdict == "consistent"
    history = list(calls((0, "put", 1, None), (1, "take", None, 1), (1, "take", None, 1)))
    assert seriatim.check(history, object=Box()).verdict == "violation"


def test_errors_of_a_specification_are_raised():
    class Broken(Account):
        def step(self, state, method, *arguments):
            raise RuntimeError("broken")

    class Unhashable(Account):
        def init(self):
            return []

    history = list(calls((0, "deposit", 5, None)))
    with pytest.raises(RuntimeError, match="broken"):
        seriatim.check(history, object=Broken())
    with pytest.raises(TypeError):
        seriatim.check(history, object=Unhashable())
    with pytest.raises(ValueError, match="linearizability"):
        seriatim.check(history, "sc", object=Account())


def test_a_recorded_queue(linearizable):
    box = linearizable(queue.SimpleQueue(), "queue", {"put": "enqueue", "get_nowait": "dequeue"}, empty=queue.Empty)

    def client(first):
        def run(box):
            for value in range(first, first + 200):
                box.put(value)
                try:
                    box.get_nowait()
                except queue.Empty:
                    pass

        return run

    assert box.run(client(0), client(1000), client(2000)).verdict == "consistent"
    assert len(box.history) == 2400


def test_a_wrong_queue_is_found():
    class Wrong:
        """A stack that says it is a queue."""

        def __init__(self):
            self.values = []

        def put(self, value):
            self.values.append(value)

        def take(self):
            return self.values.pop()

    box = seriatim.Recorder(Wrong(), "queue", {"put": "enqueue", "take": "dequeue"})
    for value in [1, 2]:
        box.put(value)
    assert box.take() == 2
    with pytest.raises(AssertionError, match="violation"):
        box.assert_linearizable()


def test_a_call_that_raises_may_have_taken_effect():
    class Failing:
        def put(self, value):
            raise OSError

    box = seriatim.Recorder(Failing(), "queue", {"put": "enqueue"})
    with pytest.raises(OSError):
        box.put(1)
    assert box.history[-1]["type"] == "info"
    assert box.check().verdict == "consistent"


def test_threads_have_processes_of_their_own():
    box = seriatim.Recorder(queue.SimpleQueue(), "queue", {"put": "enqueue"})
    threads = [threading.Thread(target=box.put, args=(value,)) for value in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box.check().verdict == "consistent"
