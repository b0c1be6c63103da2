import pandas
import pyarrow
import pytest

import seriatim

EVENTS = {
    "process": [0, 0, 1, 1],
    "type": ["invoke", "ok", "invoke", "ok"],
    "f": ["enqueue", "enqueue", "dequeue", "dequeue"],
    "value": [1, None, None, None],
}


@pytest.mark.parametrize("make", [pyarrow.table, pandas.DataFrame])
def test_a_table_of_events(make):
    assert seriatim.check(make(EVENTS), object="queue").verdict == "violation"


def test_a_table_of_operations():
    table = pyarrow.table(
        {
            "process": [0, 1, 2],
            "f": ["enqueue", "dequeue", "dequeue"],
            "value": [7, None, None],
            "result": [None, 7, None],
            "call": [0, 5, 6],
            "return": [10, 8, None],
        }
    )
    assert seriatim.check(table, object="queue").verdict == "consistent"
    late = table.set_column(4, "call", pyarrow.array([9, 5, 6]))
    assert seriatim.check(late, object="queue").verdict == "violation"


def test_many_histories_in_one_table():
    count = 500
    rows = {"history": [], "process": [], "f": [], "key": [], "value": []}
    for number in range(count):
        for process, f, value in [(0, "w", 1), (1, "r", 1 if number % 5 else 7)]:
            for name, cell in zip(rows, [number, process, f, "x", value]):
                rows[name].append(cell)
    table = pyarrow.table(rows)
    verdicts = [it.verdict for it in seriatim.check_all(table, "sc")]
    assert verdicts == ["consistent" if number % 5 else "violation" for number in range(count)]
    shuffled = table.take(pyarrow.array(list(range(0, 2 * count, 2)) + list(range(1, 2 * count, 2))))
    assert [it.verdict for it in seriatim.check_all(shuffled, "sc")] == verdicts


def test_types_of_columns():
    table = pyarrow.table(
        {
            "process": pyarrow.array(["a", "b"]).dictionary_encode(),
            "f": pyarrow.array(["w", "r"], pyarrow.large_string()),
            "key": pyarrow.array(["x\"\n", "x\"\n"]),
            "value": pyarrow.array([1.0, 1.0]),
        }
    )
    assert seriatim.check(table, "sc").verdict == "consistent"


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("process", [0, None], "row 1, column process: this is null"),
        ("value", [1.5, 2.0], "row 0, column value: 1.5 is not an integer"),
        ("value", [b"x", b"y"], "row 0, column value: a column of type Binary is not read"),
    ],
)
def test_bad_cells_have_a_place(column, cells, message):
    rows = {"process": [0, 1], "f": ["w", "r"], "key": ["x", "x"], "value": [1, 1], column: cells}
    with pytest.raises(seriatim.InputError, match=message):
        seriatim.check(pyarrow.table(rows), "sc")


def test_what_is_no_table():
    with pytest.raises(seriatim.InputError, match="process and an f"):
        seriatim.check(pyarrow.table({"a": [1]}), "sc")


def test_columns_of_converted_files():
    json_column = pyarrow.field("value", pyarrow.string(), metadata={"json": "true"})
    schema = pyarrow.schema(
        [
            ("history", pyarrow.int64()),
            ("header", pyarrow.string()),
            ("process", pyarrow.int64()),
            ("type", pyarrow.string()),
            ("f", pyarrow.string()),
            json_column,
            ("result", pyarrow.int64()),
            ("call", pyarrow.int64()),
            ("return", pyarrow.int64()),
        ]
    )
    header = '{"object":"register","initial":7}'
    rows = [
        (0, header, 0, "ok", "cas", "[7,\n 8]", None, 0, 1),
        (0, None, 1, "ok", "read", None, 8, 2, 3),
        (1, header, 0, "ok", "read", None, 7, 0, 2),
        (1, None, 1, "ok", "write", "9", None, 1, 3),
        (1, None, 1, "ok", "read", None, 7, 4, 5),
    ]
    table = pyarrow.table([pyarrow.array(column) for column in zip(*rows)], schema=schema)
    assert [it.verdict for it in seriatim.check_all(table)] == ["consistent", "violation"]


def test_rows_without_calls():
    rows = {"process": [0, 1], "f": ["w", "r"], "key": ["x", "x"], "value": [1, 1], "call": [None, None]}
    assert seriatim.check(pyarrow.table(rows), "sc").verdict == "consistent"
    with pytest.raises(seriatim.InputError, match="row 1, column call: this is null"):
        seriatim.check(pyarrow.table(rows | {"call": [1, None]}), "sc")
