from collections.abc import Callable
from typing import Any

__version__: str

class InputError(ValueError):
    line: int
    column: int | str
    text: str
    expected: str | None

class MisfitError(ValueError):
    fitting: list[str]

class RefusedError(ValueError): ...
class NoViolationError(ValueError): ...

class History:
    name: str | None
    object: str
    processes: list[str]
    def __len__(self) -> int: ...
    def operations(self) -> list[str]: ...
    def to(self, format: str) -> str: ...

class Verdict:
    verdict: str
    model: str
    strategy: str
    reason: str | None
    explanation: str
    certificate: str | None
    def lanes(self, width: int = 80) -> str: ...
    def svg(self) -> str | None: ...
    def page(self, name: str = "history") -> str: ...
    def _repr_html_(self) -> str: ...

class Place:
    satisfies: list[str]
    breaks: list[str]
    verdicts: list[tuple[str, str | None]]

class Shrunk:
    history: History
    verdict: Verdict
    is_minimal: bool

class Violation:
    event: int
    reason: str

class Monitor:
    events: int
    model: str | None
    verdict: str
    reason: str | None
    def __init__(
        self,
        model: str | None = None,
        object: str | None = None,
        format: str | None = None,
        initial: str | None = None,
        threads: int | None = None,
    ) -> None: ...
    def push_lines(self, lines: bytes) -> Violation | None: ...

def histories(
    *,
    path: str | None = None,
    content: bytes | None = None,
    format: str | None = None,
    object: str | None = None,
    initial: str | None = None,
) -> list[History]: ...
def histories_of_table(table: object, *, object: str | None = None, initial: str | None = None) -> list[History]: ...
def check(
    history: History, model: str | None = None, timeout: float | None = 60.0, unique: bool = False
) -> Verdict: ...
def check_all(
    histories: list[History],
    model: str | None = None,
    timeout: float | None = 60.0,
    unique: bool = False,
    jobs: int | None = None,
) -> list[Verdict]: ...
def check_specification(
    history: History, specification: object, decode: Callable[[str], Any], timeout: float | None = 60.0
) -> Verdict: ...
def classify(history: History, timeout: float | None = 60.0, unique: bool = False) -> Place: ...
def shrink(history: History, model: str | None = None, timeout: float | None = 60.0) -> Shrunk: ...
def verify(certificate: str, history: History) -> tuple[str, str]: ...
def models() -> list[tuple[str, str]]: ...
def generate_memory(
    model: str,
    threads: int,
    operations: int,
    locations: int,
    writes: int,
    rmws: int,
    fences: int,
    perturb: int,
    seed: int,
) -> History: ...
def generate_object(
    object: str,
    threads: int,
    operations: int,
    values: int,
    keys: int,
    pending: int,
    wrong: str | None,
    seed: int,
) -> History: ...
