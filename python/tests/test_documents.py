"""The examples of the documents are true."""

import doctest
import re
import threading
from pathlib import Path

from hypothesis import settings

import seriatim

HERE = Path(__file__).parent


def test_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = HERE.parent.parent / "docs" / "tutorials" / "data-science.md"
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 20 and found.failed == 0


class MyQueue:
    """What the examples test."""

    def __init__(self):
        self.values = []
        self.lock = threading.Lock()

    def put(self, value):
        with self.lock:
            self.values.append(value)

    def take(self):
        with self.lock:
            return self.values.pop(0) if self.values else None

    def get(self):
        with self.lock:
            return self.values.pop(0)


def test_the_readme(tmp_path, monkeypatch, linearizable):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.hist").write_text("[0] w x 1\n[1] r x 1\n---\n[0] w x 1\n[1] r x 2\n")
    text = (HERE.parent / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    names = {"MyQueue": MyQueue}
    names["history"] = "# @object account\n[0] call deposit 5\n[0] return\n[1] call withdraw 9\n[1] return refused\n"
    run = 0
    for block in blocks:
        # What a failed test prints has its names left out.
        if "…)" not in block:
            exec(compile(block, "README.md", "exec"), names)
            run += 1
            if "test_my_queue" in names:
                test = names.pop("test_my_queue")
                if hasattr(test, "hypothesis"):
                    settings(max_examples=20, deadline=None, database=None)(test)()
                else:
                    test(linearizable)
    assert run >= 5
    assert names["found"].counts()["sc", "violation"] == 1
    assert seriatim.check(names["history"], object=names["Account"]()).consistent is True
