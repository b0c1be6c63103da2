import signal
import threading
import time
from pathlib import Path

import pytest

import seriatim

STALE = "[a] w row 1\n[a] w flag 1\n[b] r flag 1\n[b] r row 0\n"
QUEUE = "[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return empty\n"


def test_a_violation_is_explained_and_proved():
    verdict = seriatim.check(STALE, "sc")
    assert (verdict.verdict, verdict.model) == ("violation", "sc")
    assert "stale read: line 4 [b] r row 0" in verdict.explanation
    assert verdict.strategy
    assert seriatim.verify(verdict, STALE) == ("sc", "violation")


def test_a_consistent_history_has_a_certificate_too():
    history = "[a] w x 1\n[b] r x 1\n"
    verdict = seriatim.check(history, "tso")
    assert verdict.verdict == "consistent"
    assert seriatim.verify(verdict.certificate, history) == ("tso", "consistent")
    with pytest.raises(seriatim.RefusedError):
        seriatim.verify(verdict.certificate, "[a] w x 2\n[b] r x 2\n")


def test_the_default_model():
    assert seriatim.check(QUEUE).model == "linearizable"
    assert seriatim.check(STALE).model == "sc"


def test_sources_of_all_kinds_say_the_same(tmp_path: Path):
    path = tmp_path / "stale.hist"
    path.write_text(STALE)
    records = [
        {"process": "a", "f": "w", "key": "row", "value": 1},
        {"process": "a", "f": "w", "key": "flag", "value": 1},
        {"process": "b", "f": "r", "key": "flag", "value": 1},
        {"process": "b", "f": "r", "key": "row", "value": 0},
    ]
    for source in [STALE, STALE.encode(), path, str(path), records, seriatim.history(path)]:
        assert seriatim.check(source, "sc", initial=0).verdict == "violation"
        assert seriatim.check(source, "relaxed", initial=0).verdict == "consistent"


def test_bad_input_has_a_place():
    with pytest.raises(ValueError) as raised:
        seriatim.check("[0] w x 1\n[0] q x 2\n", "sc")
    assert isinstance(raised.value, seriatim.InputError)
    assert (raised.value.line, raised.value.text) == (2, "[0] q x 2")
    assert raised.value.column > 1
    with pytest.raises(FileNotFoundError):
        seriatim.check("no/such/file.hist", "sc")
    with pytest.raises(seriatim.MisfitError) as misfit:
        seriatim.check(QUEUE, "sc")
    assert misfit.value.fitting == ["linearizable"]
    with pytest.raises(ValueError, match="there is no model"):
        seriatim.check(STALE, "nonsense")
    with pytest.raises(ValueError, match="2 histories"):
        seriatim.check("[0] w x 1\n---\n[0] w x 2\n", "sc")
    with pytest.raises(TypeError):
        seriatim.check([1, 2], "sc")


def test_classify():
    place = seriatim.classify("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n")
    assert (place.satisfies, place.breaks) == (["cm", "rc11", "tso"], ["ccm"])
    assert dict(place.verdicts)["sc"] == "violation"


def test_shrink_and_explain():
    history = seriatim.gen("sc", threads=3, operations=200, perturb=1, seed=3)
    assert seriatim.check(history, "sc").verdict == "violation"
    shrunk = seriatim.shrink(history, "sc")
    assert shrunk.is_minimal and len(shrunk.history) < 20
    assert shrunk.verdict.verdict == "violation"
    assert seriatim.check(str(shrunk.history), "sc").verdict == "violation"
    assert seriatim.explain(history, "sc").startswith("sc: violation")
    with pytest.raises(seriatim.NoViolationError):
        seriatim.shrink("[0] w x 1\n", "sc")


def test_drawings_and_pages(tmp_path: Path):
    verdict = seriatim.check("[<a>] w x 1\n[<a>] w y 1\n[b] r y 1\n[b] r x 0\n", "sc")
    assert verdict.svg().startswith("<svg") and "rf" in verdict.lanes()
    assert "<pre>sc: violation" in verdict._repr_html_() and "[<a>]" not in verdict._repr_html_()
    page = tmp_path / "page.html"
    assert seriatim.report(STALE, "sc", output=page).verdict == "violation"
    assert page.read_text().startswith("<!doctype html>")
    assert seriatim.report("[a] w x 1\n[b] r x 1\n", "sc", output=page).verdict == "consistent"
    assert seriatim.check("[a] w x 1\n[b] r x 1\n", "sc").svg() is None


def test_transactions():
    skew = "[a] begin\n[b] begin\n[a] r x 0\n[b] r y 0\n[a] w y 1\n[b] w x 1\n[a] commit\n[b] commit\n"
    assert seriatim.check(skew, "serializable").verdict == "violation"
    assert "write skew" in seriatim.check(skew, "ser").explanation
    verdict = seriatim.check(skew, "si")
    assert verdict.verdict == "consistent"
    assert seriatim.verify(verdict, skew) == ("snapshot-isolation", "consistent")


def test_transactions_are_monitored():
    watch = seriatim.monitor("causal")
    lines = ["[a] begin", "[a] w x 1", "[a] w y 1", "[a] commit", "[b] begin", "[b] r x 1", "[b] r y 0"]
    assert [watch.push(line) for line in lines] == [None] * len(lines)
    assert watch.verdict == "consistent"
    violation = watch.push("[b] commit")
    assert violation is not None and violation.event == 7 and "fractured read" in violation.reason


def test_generated_histories_keep_their_model():
    for model in ["sc", "tso", "pso", "ra", "rc20", "relaxed"]:
        assert seriatim.check(seriatim.gen(model, seed=1), model).verdict == "consistent"
    for wrong in ["k-fifo", "lost", "duplicated", "late-empty"]:
        assert seriatim.check(seriatim.gen(object="queue", wrong=wrong, seed=1)).verdict == "violation"
    assert str(seriatim.gen(seed=5)) == str(seriatim.gen(seed=5))
    with pytest.raises(ValueError):
        seriatim.gen("sc", threads=0)


def test_check_all_is_in_order():
    corpus = "---\n".join([STALE, "[a] w x 1\n", STALE])
    verdicts = seriatim.check_all(corpus, "sc", jobs=2)
    assert [it.verdict for it in verdicts] == ["violation", "consistent", "violation"]
    assert [it.verdict for it in seriatim.check_all([seriatim.gen(seed=1)], "sc")] == ["consistent"]


def test_monitor():
    watch = seriatim.monitor("linearizable", object="queue")
    lines = QUEUE.splitlines()
    assert [watch.push(line) for line in lines[:3]] == [None] * 3
    assert watch.verdict == "consistent"
    violation = watch.push(lines[3])
    assert violation is not None and violation.event == 3
    assert (watch.verdict, watch.events) == ("violation", 4)
    watch = seriatim.monitor("ra")
    assert watch.push({"process": 0, "f": "w", "key": "x", "value": 1}) is None
    with pytest.raises(ValueError):
        watch.push({"process": 0, "f": "nonsense"})


def test_models():
    assert "sc" in seriatim.models() and "linearizable" in seriatim.models()


HARD = dict(object="stack", threads=32, operations=20000, values=10, pending=5, seed=1)


def test_an_interrupt_ends_a_long_check():
    # A process that was started in the background may ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hard = seriatim.gen(**HARD)
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        seriatim.check(hard, timeout=600)
    signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 60
    # Checks go on afterwards.
    assert seriatim.check(STALE, "sc").verdict == "violation"


def test_the_time_limit():
    verdict = seriatim.check(seriatim.gen(**HARD), timeout=0.2)
    assert verdict.verdict == "unknown" and verdict.reason and verdict.certificate is None
    with pytest.raises(ValueError):
        seriatim.check(STALE, timeout=-1)


def test_other_threads_go_on_while_a_check_runs():
    seen = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            seen.append(None)
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    seriatim.check(seriatim.gen(**HARD), timeout=0.5)
    stop.set()
    thread.join()
    assert len(seen) > 20
