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
def test_the_module_needs_what_its_wheel_says():
    """A wheel `manylinux_2_28` has no symbol of a later glibc. No wheel needs a library that not every system has."""
    content = HERE.read_bytes()
    assert not re.search(rb"libstdc\+\+\.so|libssl\.so|libzstd\.so|libpython", content)
    told = importlib.metadata.distribution("seriatim").read_text("WHEEL") or ""
    promised = re.search(r"manylinux_2_(\d+)", told)
    if promised is None:
        pytest.skip("this wheel was built for this machine only")
    versions = {int(found) for found in re.findall(rb"GLIBC_2\.(\d+)", content)}
    assert max(versions) <= int(promised[1])


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
