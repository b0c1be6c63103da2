"""Many histories at once."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest

import seriatim

STALE = "[a] w row 1\n[a] w flag 1\n[b] r flag 1\n[b] r row 0\n"
FINE = "[a] w x 1\n[b] r x 1\n"
BAD = "[a] w x 1\n[a] q x 2\n"
NAMED = f"# @name first\n{FINE}---\n# @name second\n{STALE}---\n{BAD}"


def test_each_result_knows_its_history(tmp_path: Path):
    path = tmp_path / "corpus.hist"
    path.write_text(NAMED)
    found = seriatim.check_all(path, "sc")
    assert [(it.id, it.file, it.number, it.line, it.verdict) for it in found] == [
        ("first", str(path), 0, 2, "consistent"),
        ("second", str(path), 1, 6, "violation"),
        (None, str(path), 2, 12, "error"),
    ]
    bad = found[2]
    assert isinstance(bad.error, seriatim.InputError) and bad.consistent is None
    assert (bad.error.line, bad.error.text, bad.error.file) == (12, "[a] q x 2", str(path))
    assert bad.certificate is None and bad.history is None and "error" in bad.explanation
    assert found.counts() == {("sc", "consistent"): 1, ("sc", "error"): 1, ("sc", "violation"): 1}
    assert [it.id for it in found.with_verdict("violation")] == ["second"]


def test_errors_are_raised_if_wanted():
    with pytest.raises(seriatim.InputError, match="line 12"):
        seriatim.check_all(NAMED, "sc", errors="raise")
    with pytest.raises(ValueError, match="'result' or 'raise'"):
        seriatim.check_all(NAMED, "sc", errors="ignore")
    seen = seriatim.check_all(NAMED, "sc", errors="raise", iterator=True)
    assert [next(seen).verdict, next(seen).verdict] == ["consistent", "violation"]
    with pytest.raises(seriatim.InputError):
        next(seen)


def test_several_models_and_one_that_does_not_fit():
    queue = "[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return empty\n"
    found = seriatim.check_all({"stale": STALE, "queue": queue}, ["sc", "relaxed", "linearizable"])
    assert [(it.id, it.model, it.verdict) for it in found] == [
        ("stale", "sc", "violation"),
        ("stale", "relaxed", "consistent"),
        ("stale", "linearizable", "error"),
        ("queue", "sc", "error"),
        ("queue", "relaxed", "error"),
        ("queue", "linearizable", "violation"),
    ]
    assert found[3].error.fitting == ["linearizable"]
    default = seriatim.check_all([STALE, queue])
    assert [it.model for it in default] == ["sc", "linearizable"]
    with pytest.raises(ValueError, match="no model nonsense"):
        seriatim.check_all(STALE, ["sc", "nonsense"])


def test_any_iterable_of_any_sources(tmp_path: Path):
    path = tmp_path / "corpus.hist"
    path.write_text(NAMED)
    records = [{"process": "a", "f": "w", "key": "x", "value": 1}, {"process": "b", "f": "r", "key": "x", "value": 2}]
    table = pyarrow.table({"core": [0, 1], "op": ["store", "load"], "addr": ["x", "x"], "data": [1, 1]})

    def sources():
        yield path
        yield STALE
        yield FINE.encode()
        yield records
        yield table
        yield seriatim.history(FINE)
        yield tmp_path / "missing.hist"
        yield 5

    found = seriatim.check_all(sources(), "sc")
    verdicts = [it.verdict for it in found]
    assert verdicts == ["consistent", "violation", "error", "violation"] + ["consistent", "violation"] + [
        "consistent",
        "consistent",
        "error",
        "error",
    ]
    assert isinstance(found[8].error, FileNotFoundError) and found[8].file == str(tmp_path / "missing.hist")
    assert isinstance(found[9].error, TypeError)
    # The one source that is named must be there, and a list of events is one history.
    with pytest.raises(FileNotFoundError, match="text=.*path="):
        seriatim.check_all("missing.hist", "sc")
    assert len(seriatim.check_all(records, "sc")) == 1
    assert list(seriatim.check_all([], "sc")) == [] and list(seriatim.check_all({}, "sc")) == []


def test_progress(capsys):
    told = []
    seriatim.check_all([seriatim.history(STALE)] * 3, "sc", progress=told.append)
    assert told == [seriatim.Progress(histories=3, violations=3, unknown=0, errors=0, total=3)]
    seriatim.check_all(NAMED, "sc", progress=True)
    assert "violations=1" in capsys.readouterr().err


def test_progress_without_tqdm(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    seriatim.check_all(NAMED, "sc", progress=True)
    assert "3 histories: 1 violations, 0 unknown, 1 errors" in capsys.readouterr().err


MEMORY = """
import json, resource, sys
import seriatim

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

text = "[0] w x 1\\n[1] r x 1\\n[1] w y 2\\n[0] r y 0\\n"
before = peak()
source = sys.argv[1] if sys.argv[2] == "path" else (text for _ in range(int(sys.argv[3])))
counts = {}
for it in seriatim.check_all(source, ["sc", "tso"], iterator=True):
    counts[it.verdict] = counts.get(it.verdict, 0) + 1
print(json.dumps([peak() - before, counts]))
"""


@pytest.mark.parametrize("kind", ["path", "generator"])
def test_an_iterator_takes_bounded_memory(tmp_path: Path, kind):
    count = 50_000
    path = tmp_path / "corpus.hist"
    path.write_text("[0] w x 1\n[1] r x 1\n[1] w y 2\n[0] r y 0\n---\n" * count)
    ran = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path), kind, str(count)], capture_output=True, text=True, check=True
    )
    kilobytes, counts = json.loads(ran.stdout)
    assert sum(counts.values()) == 2 * count
    # All verdicts with their histories would take ten times as much.
    assert kilobytes < 60_000, kilobytes
