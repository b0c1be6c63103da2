"""The notebook runs, and shows what it is stored with. `SERIATIM_UPDATE_NOTEBOOK=1` stores what it shows now."""

import os
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "tour.ipynb"


def shown(notebook):
    """What each cell shows."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                found.append(output.text)
            else:
                found.append(output.data.get("text/html") or output.data["text/plain"])
    return found


def test_the_notebook():
    stored = nbformat.read(NOTEBOOK, as_version=4)
    executed = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(executed, timeout=120, kernel_name="python3").execute()
    if os.environ.get("SERIATIM_UPDATE_NOTEBOOK"):
        for cell in executed.cells:
            cell.metadata.pop("execution", None)
        executed.metadata["language_info"] = {"name": "python"}
        nbformat.write(executed, NOTEBOOK)
        return
    assert shown(executed) == shown(stored)
    assert len(shown(executed)) == 6 and "<svg" in shown(executed)[0]
