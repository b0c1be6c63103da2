"""Programs that are explored, drawn or run."""

import shutil
import socket
import subprocess
import time
from collections import deque
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import seriatim
from seriatim.hypothesis import Program, programs

SB = """C SB
{ }
P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_release);
  int r0 = atomic_load_explicit(y, memory_order_acquire);
}
P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_release);
  int r0 = atomic_load_explicit(x, memory_order_acquire);
}
exists (0:r0=0 /\\ 1:r0=0)
"""


def test_a_litmus_test_is_explored(tmp_path: Path):
    path = tmp_path / "sb.litmus"
    path.write_text(SB)
    for found in [seriatim.explore(SB), seriatim.explore(path), seriatim.explore(text=SB), seriatim.explore(path=path)]:
        assert (found.test, found.model, found.verdict, found.executions) == ("SB", "c20", "ok", 4)
        assert found.ok is True and found.is_reachable and found.is_complete
        assert len(found.states) == 4
    # The witness is an execution, which the checkers judge again.
    assert seriatim.check(found.witness, "c20").consistent is True
    assert seriatim.check(found.witness, "sc").consistent is False
    forbidden, allowed = seriatim.explore(SB, ["sc", "ra"])
    assert (forbidden.ok, allowed.ok) == (False, True) and forbidden.witness is None
    assert len(found.to_pandas()) == 4 and found.to_arrow().num_rows == 4
    assert "<table>" in found._repr_html_() and hash(found) == hash(seriatim.explore(SB))
    with pytest.raises(TypeError, match=r"\.ok"):
        bool(found)
    with pytest.raises(ValueError, match="no model nonsense"):
        seriatim.explore(SB, "nonsense")
    with pytest.raises(seriatim.InputError):
        seriatim.explore("C SB\n{ }\nnonsense")


def test_a_place_is_a_table_and_a_picture():
    place = seriatim.classify("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n")
    frame = place.to_pandas()
    assert list(frame.columns) == ["model", "verdict", "edge"]
    assert frame.set_index("model").loc["tso", "edge"] == "strongest satisfied"
    assert place.to_dict()["sc"] == "violation" and place.to_arrow().num_rows == len(frame)
    html = place._repr_html_()
    assert "<svg" in html and "<table>" in html and place.svg.count("<rect") > len(frame)


METHODS = {"put": "enqueue", "get": "dequeue"}


class Box:
    """A queue whose `get` looks and takes in two steps."""

    def __init__(self):
        self.values = []

    def put(self, value):
        self.values.append(value)

    def get(self):
        value = self.values[0]
        del self.values[0]
        return value


class Safe(deque):
    def put(self, value):
        self.append(value)

    def get(self):
        return self.popleft()


def is_broken(program):
    return program.run(Box, "queue", METHODS, empty=IndexError).consistent is False


def test_hypothesis_finds_and_shrinks_a_race():
    drawn = programs({"put": [st.integers(0, 3)], "get": []}, threads=2, calls=3)
    quiet = settings(max_examples=20_000, database=None, deadline=None, phases=[Phase.generate, Phase.shrink])
    # About one program of a thousand shows the race. The same programs are drawn in every run.
    found = find(drawn, is_broken, settings=quiet, random=Random(5))
    assert is_broken(found), "a program does the same again"
    # One thread puts and gets; the other gets at the same time. Not much more is needed.
    assert sum(map(len, found.threads)) <= 4 and len(found.schedule) <= 3
    assert eval(repr(found), {"Program": Program}) == found
    with pytest.raises(AssertionError) as failed:
        found.assert_linearizable(Box, "queue", METHODS, empty=IndexError)
    code = str(failed.value).split("\n\n")[-1].strip()
    assert code.startswith("Program([[") and "from seriatim.hypothesis import Program" in str(failed.value)
    names = {"Program": Program, "test_programs": type("m", (), {"Box": Box}), "tests": None}
    with pytest.raises(AssertionError):
        eval(code.replace(f"{Box.__module__}.Box", "test_programs.Box"), names)


@settings(max_examples=20, deadline=None, database=None)
@given(programs({"put": st.integers(0, 3), "get": []}, threads=3, calls=3))
def test_a_right_queue_is_right(program):
    program.assert_linearizable(Safe, "queue", METHODS, empty=IndexError)


def test_a_call_that_waits_lets_the_others_go_on():
    import queue

    waits = Program([[("get",)], [("put", 1)]])
    names = {"put": "enqueue", "get": "dequeue"}
    assert waits.run(queue.Queue, "queue", names).consistent is True
    # Nobody puts: the call never returns, which is no violation.
    assert Program([[("get",)]]).run(queue.Queue, "queue", names, patience=0.2).consistent is True
    with pytest.raises(ValueError, match="no method peek"):
        Program([[("peek",)]]).run(queue.Queue, "queue", names)
    with pytest.raises(ValueError, match="methods"):
        programs({})


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no redis-server")
def test_a_database_is_probed(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), 0.1).close()
                break
            except OSError:
                time.sleep(0.05)
        found = seriatim.probe(f"redis://127.0.0.1:{port}", clients=2, seconds=0.3)
    finally:
        server.terminate()
        server.wait()
    assert found.committed > 0 and found.check().verdict == "consistent"
    frame = found.to_pandas()
    assert len(frame) == len(found.history) and {"process", "f", "call", "return"} <= set(frame.columns)
    with pytest.raises(ConnectionError):
        seriatim.probe(f"redis://127.0.0.1:{port}", seconds=0.1)
    with pytest.raises(ValueError, match="no workload"):
        seriatim.probe("redis://127.0.0.1:1", "nonsense")
