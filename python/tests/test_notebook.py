"""The notebook runs, and shows what it is stored with. `SERIATIM_UPDATE_NOTEBOOK=1` stores what it shows now."""

import os
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


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


@pytest.mark.parametrize("name", ["tour", "spark"])
def test_the_notebook(name):
    if name == "spark":
        pytest.importorskip("pyspark")
    notebook = NOTEBOOKS / f"{name}.ipynb"
    stored = nbformat.read(notebook, as_version=4)
    executed = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(executed, timeout=120, kernel_name="python3").execute()
    if name == "spark":
        # Spark greets and warns as its version likes to.
        for cell in (cell for cell in executed.cells if cell.cell_type == "code"):
            cell["outputs"] = [it for it in cell.get("outputs", []) if it.get("name") != "stderr"]
    if os.environ.get("SERIATIM_UPDATE_NOTEBOOK"):
        for cell in executed.cells:
            cell.metadata.pop("execution", None)
        executed.metadata["language_info"] = {"name": "python"}
        nbformat.write(executed, notebook)
        return
    assert shown(executed) == shown(stored)
    wanted = {"tour": (8, "<svg"), "spark": (4, "600")}[name]
    assert (len(shown(executed)), wanted[1] in shown(executed)[0]) == (wanted[0], True)
