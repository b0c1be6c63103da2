"""Tells whether a recorded concurrent execution is allowed by a consistency model, shows why, and proves it.

>>> import seriatim
>>> verdict = seriatim.check("[a] w row 1\\n[a] w flag 1\\n[b] r flag 1\\n[b] r row 0\\n", "sc")
>>> verdict.verdict
'violation'
>>> print(verdict.explanation)
sc: violation
  stale read: line 4 [b] r row 0 returns the initial value of row, which line 1 [a] w row 1 had overwritten:
    line 1  [a] w row 1
    line 2  [a] w flag 1  later in thread a
    line 3  [b] r flag 1  reads from line 2
    line 4  [b] r row 0   later in thread b

A history is given as a path, as text, as bytes, as a list of dicts with Jepsen's fields, or as a table of pandas,
Polars, DuckDB or Arrow. A `str` with a line break in it is text; one without is the path of a file. `text=…` and `path=…`
leave no doubt.
"""

from ._native import (
    History,
    InputError,
    MisfitError,
    Monitor,
    NoViolationError,
    RefusedError,
    Verdict,
    __version__,
)
from ._check import check, check_all, classify, explain, models, monitor, report, shrink, verify
from ._convert import to_arrow, to_dict, to_pandas
from ._explore import Exploration, State, explore
from ._generate import gen
from ._probe import Probe, probe
from ._results import Place, Progress, Results, Shrunk, Violation
from ._source import Corpus, Source, histories, history
from ._specification import Specification
from .record import Recorder

__all__ = [
    "Corpus",
    "Exploration",
    "History",
    "InputError",
    "MisfitError",
    "Monitor",
    "NoViolationError",
    "Place",
    "Probe",
    "Progress",
    "Recorder",
    "RefusedError",
    "Results",
    "Shrunk",
    "Source",
    "Specification",
    "State",
    "Verdict",
    "Violation",
    "__version__",
    "check",
    "check_all",
    "classify",
    "explain",
    "explore",
    "gen",
    "histories",
    "history",
    "models",
    "monitor",
    "probe",
    "report",
    "shrink",
    "to_arrow",
    "to_dict",
    "to_pandas",
    "verify",
]
