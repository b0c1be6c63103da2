import duckdb
import pandas
import polars
import pyarrow
import pytest

import seriatim

EVENTS = {
    "process": [0, 0, 1, 1],
    "type": ["invoke", "ok", "invoke", "ok"],
    "f": ["enqueue", "enqueue", "dequeue", "dequeue"],
    "value": [1, None, None, None],
}


def of_duckdb(columns):
    connection = duckdb.connect()
    connection.register("events", pyarrow.table(columns))
    return connection.sql("SELECT * FROM events")


def batches(columns):
    return pyarrow.table(columns).to_reader()


KINDS = [pyarrow.table, pandas.DataFrame, polars.DataFrame, of_duckdb, batches]


@pytest.mark.parametrize("make", KINDS)
def test_a_table_of_events(make):
    assert seriatim.check(make(EVENTS), object="queue").verdict == "violation"


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    ("process", "f", "key", "value"),
    [
        ("core", "op", "address", "data"),
        ("CPU", "type", "addr", "Val"),
        ("tid", "Kind", "loc", "VALUE"),
        ("Thread ID", "operation", "location", "data"),
    ],
)
def test_columns_have_the_names_that_people_use(make, process, f, key, value):
    rows = {process: [0, 0, 1, 1], f: ["store", "st", "LOAD", "ld"], key: ["x", "y", "y", "x"], value: [1, 1, 1, 0]}
    assert seriatim.check(make(rows), "sc").verdict == "violation"
    assert seriatim.check(make(rows), "relaxed").verdict == "consistent"


def test_an_ambiguous_column_is_an_error():
    rows = {"core": [0], "cpu": [0], "op": ["w"], "addr": ["x"], "data": [1]}
    with pytest.raises(seriatim.InputError, match="the columns `core` and `cpu` both mean `process`"):
        seriatim.check(pyarrow.table(rows), "sc")
    del rows["cpu"]
    with pytest.raises(seriatim.InputError, match="the columns `op` and `Kind` both mean `f`"):
        seriatim.check(pyarrow.table(rows | {"Kind": ["w"]}), "sc")
    # `type` is the type of an event where another column says what is done.
    assert seriatim.check(pyarrow.table(rows | {"type": [None]}), "sc").consistent


def test_the_history_of_a_table_is_named():
    rows = {"history_id": ["a", "b", "a"], "core": [0, 0, 1], "op": ["w", "w", "r"], "addr": ["x"] * 3, "data": [1, 1, 2]}
    found = seriatim.check_all(pyarrow.table(rows), "sc")
    assert [(it.id, it.line, it.verdict) for it in found] == [("a", 1, "violation"), ("b", 2, "consistent")]
    # What is bad in scattered rows has the number of the row that it is in.
    bad = seriatim.check_all(pyarrow.table(rows | {"core": [0, 0, None]}), "sc")
    assert [it.verdict for it in bad] == ["error", "consistent"]
    assert (bad[0].id, bad[0].error.line, bad[0].error.column) == ("a", 3, "core")
    # A reader gives its rows once, in their order.
    late = seriatim.check_all(pyarrow.table(rows).to_reader(), "sc")
    assert [(it.id, it.verdict) for it in late] == [("a", "consistent"), ("b", "consistent"), ("a", "error")]
    assert "comes back" in late[2].reason


def test_a_column_of_several_types_in_pandas():
    frame = pandas.DataFrame(
        {
            "process": [0, 0, 1, 1],
            "type": ["invoke", "ok", "invoke", "ok"],
            "f": ["cas", "cas", "read", "read"],
            "value": [[0, 1], [0, 1], None, 1],
        }
    )
    assert seriatim.check(frame, object="register", initial=0).consistent is True


def test_moments_and_big_numbers():
    times = pandas.to_datetime(["2026-01-01", "2026-01-03", "2026-01-02"])
    rows = {"process": [0, 1, 2], "f": ["enqueue", "dequeue", "enqueue"], "value": [7, None, 8], "result": [None, 8, None]}
    frame = pandas.DataFrame(rows | {"call": times, "return": times + pandas.Timedelta(hours=1)})
    assert seriatim.check(frame, object="queue").verdict == "violation"
    sums = duckdb.sql("SELECT 0 AS core, 'w' AS op, 'x' AS addr, sum(i) AS data FROM range(10) t(i)")
    assert seriatim.history(sums).operations() == ["[0] w x 45"]


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
        ("process", [0, None], "row 2, column process: this is null"),
        ("value", [1.5, 2.0], "row 1, column value: 1.5 is not an integer"),
        ("value", [b"x", b"y"], "column value: a column of type Binary is not read"),
    ],
)
def test_bad_cells_have_a_place(column, cells, message):
    rows = {"process": [0, 1], "f": ["w", "r"], "key": ["x", "x"], "value": [1, 1], column: cells}
    with pytest.raises(seriatim.InputError, match=message):
        seriatim.check(pyarrow.table(rows), "sc")


def test_what_is_no_table():
    with pytest.raises(seriatim.InputError, match="there is no column process among a"):
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
    with pytest.raises(seriatim.InputError, match="row 2, column call: this is null"):
        seriatim.check(pyarrow.table(rows | {"call": [1, None]}), "sc")
