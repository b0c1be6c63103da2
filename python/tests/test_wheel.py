"""What is installed: for any Python from 3.10 on, for old systems, with types."""

import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

import seriatim
from seriatim import _native

HERE = Path(_native.__file__)


def test_the_module_is_for_every_python():
    assert ".abi3." in HERE.name or HERE.suffix == ".pyd"


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is of Linux")
def test_the_module_needs_no_new_system():
    """`manylinux_2_28`: no symbol of a later glibc, and no library but those that every system has."""
    content = HERE.read_bytes()
    versions = {tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_(2\.\d+)", content)}
    assert versions and max(versions) <= (2, 28), max(versions)
    assert not re.search(rb"libstdc\+\+\.so|libssl\.so|libzstd\.so|libpython", content)


def test_types_are_there():
    files = {Path(str(file)).name for file in importlib.metadata.files("seriatim") or []}
    assert {"py.typed", "_native.pyi"} <= files
    assert seriatim.__version__ == importlib.metadata.version("seriatim")


def test_parquet_and_arrow_are_in(tmp_path):
    history = seriatim.history("[0] w x 1\n[1] r x 1\n")
    for name in ["parquet", "arrow"]:
        path = tmp_path / f"history.{name}"
        path.write_bytes(history.to_bytes(name))
        assert seriatim.history(path) == history
