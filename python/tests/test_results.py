"""What can be done with an answer."""

import copy
import pickle
from pathlib import Path

import pytest

import seriatim

STALE = "# a comment\n\n[a] w row 1\n[a] w flag 1\n[b] r flag 1\n[b] r row 0\n"
FINE = "[a] w x 1\n[b] r x 1\n"
QUEUE = "[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return empty\n"
SKEW = "[a] begin\n[b] begin\n[a] r x 0\n[b] r y 0\n[a] w y 1\n[b] w x 1\n[a] commit\n[b] commit\n"


@pytest.mark.parametrize("text", [STALE, FINE, QUEUE, SKEW])
def test_verdicts_and_histories_are_pickled(text):
    verdict = seriatim.check(text)
    back = pickle.loads(pickle.dumps(verdict))
    assert back == verdict and hash(back) == hash(verdict)
    assert back.explanation == verdict.explanation
    assert back.certificate == verdict.certificate
    assert (back.strategy, back.reason, back.lanes(), back.svg()) == (
        verdict.strategy,
        verdict.reason,
        verdict.lanes(),
        verdict.svg(),
    )
    assert seriatim.verify(back, text)[1] == verdict.verdict
    history = seriatim.history(text)
    assert pickle.loads(pickle.dumps(history)) == history == verdict.history
    assert copy.deepcopy(history).line == history.line


def test_errors_are_pickled():
    found = seriatim.check_all({"bad": "[a] q x 1\n", "queue": QUEUE}, "sc")
    back = pickle.loads(pickle.dumps(found))
    assert isinstance(back, seriatim.Results) and back == found
    assert [it.id for it in back] == ["bad", "queue"]
    assert (back[0].error.line, back[1].error.fitting) == (1, ["linearizable"])
    with pytest.raises(seriatim.InputError):
        raise back[0].error


def test_equality():
    verdict = seriatim.check(STALE, "sc")
    assert verdict == seriatim.check(STALE, "sc")
    assert verdict != seriatim.check(STALE, "tso") and verdict != seriatim.check(FINE, "sc") and verdict != "sc"
    assert len({verdict, seriatim.check(STALE, "sc"), seriatim.check(STALE, "tso")}) == 2
    assert seriatim.history(FINE) == seriatim.history("# other\n" + FINE)
    assert seriatim.history(FINE) != seriatim.history(STALE)


def test_a_verdict_is_neither_true_nor_false():
    for text, consistent in [(FINE, True), (STALE, False)]:
        verdict = seriatim.check(text, "sc")
        assert verdict.consistent is consistent
        with pytest.raises(TypeError, match=r"\.consistent"):
            bool(verdict)
        with pytest.raises(TypeError, match=r"\.consistent"):
            assert verdict
    hard = seriatim.gen(object="stack", threads=32, operations=20000, values=10, seed=1)
    unknown = seriatim.check(hard, timeout=0.05)
    assert unknown.consistent is None and unknown.verdict == "unknown"
    assert pickle.loads(pickle.dumps(unknown)).reason == unknown.reason


def test_everything_prints():
    verdict = seriatim.check(STALE, "sc")
    assert repr(verdict) == "<Verdict sc: violation>"
    assert repr(seriatim.history(STALE)) == "<History of 4 operations by 2 processes on a memory>"
    place = seriatim.classify(STALE)
    assert repr(place).startswith("Place(satisfies=[") and "svg" not in repr(place)
    assert str(place).startswith("satisfies relaxed") or "breaks" in str(place)
    shrunk = seriatim.shrink(STALE, "sc")
    assert repr(shrunk).startswith("Shrunk(history=<History of")
    assert repr(seriatim.check_all([STALE, FINE], "sc")) == "<Results: 1 sc consistent, 1 sc violation>"
    for it in [place, shrunk, seriatim.Violation(3, "why")]:
        assert pickle.loads(pickle.dumps(it)) == it and hash(pickle.loads(pickle.dumps(it))) == hash(it)


def test_conversions():
    found = seriatim.check_all({"stale": STALE, "bad": "[a] q x 1\n"}, "sc")
    rows = found.to_dict()
    assert rows[0]["id"] == "stale" and rows[0]["consistent"] is False and "stale read" in rows[0]["explanation"]
    assert rows[1]["verdict"] == "error" and rows[1]["line"] == 1 and "line 1" in rows[1]["reason"]
    assert found[0].to_dict() == rows[0]
    table = found.to_arrow()
    assert table.to_pylist() == rows
    frame = found.to_pandas()
    assert list(frame.columns) == list(rows[0]) and list(frame["verdict"]) == ["violation", "error"]
    assert found[0].to_pandas().shape == (1, 10) and found[0].to_arrow().num_rows == 1
    assert seriatim.to_pandas(seriatim.check_all([FINE], "sc", iterator=True))["consistent"].tolist() == [True]
    assert seriatim.to_arrow([]).num_rows == 0 and seriatim.to_pandas([]).empty
    assert "<table>" in found._repr_html_() and "stale" in found._repr_html_()


@pytest.mark.parametrize("text", [STALE, FINE, QUEUE, SKEW])
def test_a_history_as_a_table_is_the_same_history(text):
    history = seriatim.history(text)
    for table in [history.to_arrow(), history.to_pandas(), history.to_bytes("parquet"), history.to_dict()]:
        assert str(seriatim.history(table)) == str(history)


def test_text_and_paths_are_not_mistaken(tmp_path: Path):
    path = tmp_path / "stale.hist"
    path.write_text(STALE)
    for verdict in [
        seriatim.check(text=STALE, model="sc"),
        seriatim.check(path=path, model="sc"),
        seriatim.check(path=str(path), model="sc"),
        seriatim.check(path, "sc"),
        seriatim.check(str(path), "sc"),
    ]:
        assert verdict.verdict == "violation"
    # One line without a line break is text only if that is said.
    assert seriatim.check(text="[a] w x 1", model="sc").consistent
    with pytest.raises(FileNotFoundError, match=r"text='\[a\] w x 1'.*path='\[a\] w x 1'"):
        seriatim.check("[a] w x 1", "sc")
    with pytest.raises(FileNotFoundError):
        seriatim.check(path="no\nfile", model="sc")
    with pytest.raises(TypeError, match="exactly one"):
        seriatim.check(STALE, "sc", text=STALE)
    with pytest.raises(TypeError, match="exactly one"):
        seriatim.check(model="sc")
    assert seriatim.classify(text=FINE).satisfies == ["sc"] or seriatim.classify(text=FINE).breaks == []
    assert seriatim.shrink(path=path, model="sc").is_minimal
    assert seriatim.explain(path=path, model="sc").startswith("sc: violation")
    assert seriatim.verify(seriatim.check(path, "sc"), path=path) == ("sc", "violation")
    assert len(seriatim.histories(text=FINE)) == 1


def test_a_monitor_is_pickled():
    watch = seriatim.monitor("linearizable", object="queue")
    lines = QUEUE.splitlines()
    for line in lines[:3]:
        assert watch.push(line) is None
        watch = pickle.loads(pickle.dumps(watch))
    violation = watch.push(lines[3])
    assert violation is not None and violation.event == 3 and watch.events == 4
