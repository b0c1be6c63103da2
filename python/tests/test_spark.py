"""A real cluster: two executors, each a process of its own."""

import datetime
import json
import os
import pickle
import random
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark")

import seriatim  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from seriatim import spark as on_spark  # noqa: E402
from seriatim import streaming  # noqa: E402


@pytest.fixture(scope="module")
def session():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("seriatim")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "8",
        "spark.executor.memory": "700m",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def corpus(count, operations=30):
    return {str(i): seriatim.gen("tso", threads=3, operations=operations, perturb=i % 2, seed=i) for i in range(count)}


def rows_of(histories):
    rows = []
    for name, history in histories.items():
        for index, line in enumerate(str(history).splitlines()):
            if line.startswith("["):
                process, f, key, value = line.replace("[", "").replace("]", "").split()
                rows.append((name, index, process, f, key, int(value)))
    return rows


def frame_of(session, rows):
    return session.createDataFrame(rows, "history string, index int, process string, f string, key string, value int")


def here(histories, models):
    return {(name, model): seriatim.check(it, model).verdict for name, it in histories.items() for model in models}


def there(checked):
    return {(row["history"], row["model"]): row["verdict"] for row in checked.verdicts.collect()}


MODELS = ["sc", "tso", "ccv"]


def test_texts_equal_one_process(session):
    histories = corpus(60)
    frame = session.createDataFrame([(name, str(it)) for name, it in histories.items()], "history string, text string")
    checked = on_spark.check(frame.repartition(6), MODELS)
    assert there(checked) == here(histories, MODELS)
    assert checked.summary().verdict == "violation"


def test_rows_equal_one_process_and_a_giant_is_no_harm(session):
    histories = corpus(40) | {"giant": seriatim.gen("tso", operations=30_000, seed=7)}
    rows = rows_of(histories)
    random.Random(1).shuffle(rows)
    frame = frame_of(session, rows)
    checked = on_spark.check(frame, MODELS, partitions=6)
    assert there(checked) == here(histories, MODELS)
    summary = checked.summary()
    assert sum(summary.counts.values()) == len(histories) * len(MODELS)


def jobs_of(session, work):
    """How many jobs it starts."""
    group = f"counted {time.monotonic()}"
    session.sparkContext.setJobGroup(group, group)
    try:
        work()
    finally:
        session.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    return len(session.sparkContext.statusTracker().getJobIdsForGroup(group))


def test_a_summary_is_one_job(session):
    checked = on_spark.check(frame_of(session, rows_of(corpus(30))), MODELS)
    summaries = []
    assert jobs_of(session, lambda: summaries.append(checked.summary())) == 1
    assert sum(summaries[0].counts.values()) == 90 and summaries[0].verdict == "violation"
    assert session.conf.get("spark.sql.shuffle.partitions") == "8"


def test_histories_go_on_in_the_next_batch(session):
    histories = corpus(20, operations=50)
    before = session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 7)
    try:
        assert there(on_spark.check(frame_of(session, rows_of(histories)), MODELS)) == here(histories, MODELS)
    finally:
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before)


def test_columns_have_the_names_that_people_use(session):
    histories = corpus(10)
    frame = frame_of(session, rows_of(histories)).toDF("History_ID", "index", "core", "op", "addr", "data")
    frame = frame.selectExpr("*", "'left alone' AS `a.note`")
    assert there(on_spark.check(frame, "sc")) == here(histories, ["sc"])
    with pytest.raises(ValueError, match="'core' and 'tid' both mean `process`"):
        on_spark.check(frame.selectExpr("*", "core AS tid"), "sc")


def test_null_is_handled_or_named(session):
    good = [("good", 0, "0", "w", "x", 1), ("good", 1, "1", "r", "x", 1)]
    bad = [
        (None, 0, "0", "w", "x", 1),
        ("index", None, "0", "w", "x", 1),
        ("index", 1, "0", "r", "x", 1),
        ("process", 0, "0", "w", "x", 1),
        ("process", 1, None, "r", "x", 1),
        ("f", 0, "0", None, "x", 1),
        ("key", 0, "0", "w", None, 1),
        ("value", 0, "0", "w", "x", None),
    ]
    checked = on_spark.check(frame_of(session, good + bad), "sc")
    rows = {row["history"]: row for row in checked.verdicts.collect()}
    assert rows.pop("good")["verdict"] == "consistent"
    assert set(rows) == {None, "index", "process", "f", "key", "value"}
    # A value may be null: this one was written.
    assert rows["key"]["verdict"] == "error" and rows.pop("value")["verdict"] == "consistent"
    told = {name: row["reason"] for name, row in rows.items() if row["verdict"] == "error"}
    assert "`history` is NULL" in told[None] and "`index` is NULL" in told["index"]
    # Rows are counted in their history.
    assert "row 2, column process: this is null" in told["process"] and "row 1, column f: this is null" in told["f"]
    assert checked.summary().counts == {("sc", "consistent"): 2, ("sc", "error"): 5}
    texts = session.createDataFrame([("a", None), (None, "[0] w x 1\n")], "history string, text string")
    assert {row["reason"] for row in on_spark.check(texts, "sc").verdicts.collect()} == {
        "the text is NULL",
        "these rows belong to no history: `history` is NULL",
    }


def test_operations_with_moments_need_no_index(session):
    rows = [
        ("fine", 0, "enqueue", 7, None, 0, 10),
        ("fine", 1, "dequeue", None, 7, 5, 8),
        ("late", 0, "enqueue", 7, None, 9, 10),
        ("late", 1, "dequeue", None, 7, 5, 8),
    ]
    schema = "history string, process int, f string, value int, result int, call int, `return` int"
    checked = on_spark.check(session.createDataFrame(rows, schema), "linearizable", object="queue")
    assert there(checked) == {("fine", "linearizable"): "consistent", ("late", "linearizable"): "violation"}


def test_a_stream_is_followed(session, tmp_path):
    """Whatever batch an event comes in, the verdict is that of the monitor on the events so far."""
    fine = [("fine", i, 0, "ok" if i % 2 else "invoke", "enqueue", i // 2) for i in range(40)]
    wrong = [
        ("wrong", 0, 0, "invoke", "enqueue", 1),
        ("wrong", 1, 0, "ok", "enqueue", 1),
        ("wrong", 2, 1, "invoke", "dequeue", None),
        ("wrong", 3, 1, "ok", "dequeue", None),
    ]
    gap = [("gap", 0, 0, "invoke", "enqueue", 1), ("gap", 2, 0, "invoke", "enqueue", 2)]
    bad = [("bad", 0, 0, "invoke", "nonsense", 1)]
    rows = fine + wrong + gap + bad
    random.Random(2).shuffle(rows)
    schema = "history_id string, index long, tid int, type string, f string, value long"
    for at in range(4):
        part = session.createDataFrame(rows[at::4], schema).coalesce(1)
        part.write.mode("append").parquet(str(tmp_path / "events"))
    stream = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "events"))
    watched = streaming.watch(stream, "linearizable", object="queue")
    query = watched.writeStream.outputMode("update").format("memory").queryName("watched")
    query = query.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "state")).start()
    query.awaitTermination()
    last = {}
    for row in session.table("watched").collect():
        if row["history"] not in last or row["events"] >= last[row["history"]]["events"]:
            last[row["history"]] = row
    told = {name: (row["verdict"], row["events"], row["waiting"], row["event"]) for name, row in last.items()}
    assert told == {
        "fine": ("consistent", 40, 0, None),
        "wrong": ("violation", 4, 0, 3),
        "gap": ("consistent", 1, 1, None),
        "bad": ("error", 0, 0, 0),
    }
    with pytest.raises(ValueError, match="column `index`"):
        streaming.watch(stream.drop("index"), "linearizable")
    with pytest.raises(ValueError, match="column `time`"):
        streaming.watch(stream, "linearizable", forgets="10 minutes")


def test_a_history_is_forgotten_behind_the_watermark(session, tmp_path):
    """What is late costs an answer, and makes no wrong one."""
    schema = "history string, index long, time timestamp, process int, type string, f string, value long"
    hour = datetime.timedelta(hours=1)
    start = datetime.datetime(2026, 1, 1)
    lots = [
        [("old", 0, start, 0, "invoke", "enqueue", 1)],
        [("new", 0, start + 5 * hour, 0, "invoke", "enqueue", 1)],
        [("new", 1, start + 5 * hour, 0, "ok", "enqueue", 1)],
        # Behind the watermark: Spark drops it.
        [("old", 1, start, 0, "ok", "enqueue", 1), ("new", 2, start + 6 * hour, 1, "invoke", "dequeue", None)],
    ]
    for number, rows in enumerate(lots):
        session.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(str(tmp_path / "events"))
        for file in (tmp_path / "events").glob("*.parquet"):
            if file.stat().st_mtime > 1e9:
                os.utime(file, (1e8 + number, 1e8 + number))
    stream = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "events"))
    watched = streaming.watch(
        stream.withWatermark("time", "10 minutes"), "linearizable", object="queue", forgets="1 hour"
    )
    query = watched.writeStream.outputMode("update").format("memory").queryName("forgotten")
    query = query.trigger(availableNow=True).option("checkpointLocation", str(tmp_path / "state")).start()
    query.awaitTermination()
    rows = [(row["history"], row["verdict"], row["events"]) for row in session.table("forgotten").collect()]
    assert [row for row in rows if row[0] == "old"] == [("old", "consistent", 1), ("old", "forgotten", 1)]
    assert [row for row in rows if row[0] == "new"][-1] == ("new", "consistent", 3)


def test_a_followed_history_is_exact_in_any_order():
    history = seriatim.gen(object="queue", operations=60, threads=3, wrong="lost", seed=4)
    lines = [line for line in history.to("jsonl").splitlines() if '"process"' in line]
    watch = seriatim.monitor("linearizable", object="queue")
    native = [watch.push(json.loads(line)) for line in lines]
    first = next(at for at, violation in enumerate(native) if violation is not None)
    events = [(str(at), line) for at, line in enumerate(lines)]
    for seed in range(5):
        random.Random(seed).shuffle(events)
        followed = streaming.Followed("linearizable", "queue", None)
        for at in range(0, len(events), 7):
            followed.take(events[at : at + 7])
            followed = pickle.loads(pickle.dumps(followed))
        followed.take(events[:5])  # What was there before is left alone.
        assert followed.row("it", "linearizable")[2:6] == ("violation", first + 1, 0, first)


def test_a_bad_history_does_not_stop_the_others(session):
    rows = [("good", "[0] w x 1\n"), ("bad", "[0] q x 1\n"), ("queue", "[0] call enqueue 1\n[0] return\n")]
    checked = on_spark.check(session.createDataFrame(rows, "history string, text string"), "sc")
    assert there(checked) == {("good", "sc"): "consistent", ("bad", "sc"): "error", ("queue", "sc"): "error"}


def test_one_history_key_by_key(session):
    history = seriatim.gen("relaxed", threads=4, operations=2000, locations=8, seed=3)
    rows = [row for row in rows_of({"one": history})]
    frame = frame_of(session, rows).drop("history")
    assert on_spark.check_by_key(frame, "coherence").verdict == seriatim.check(history, "coherence").verdict
    broken = frame_of(session, [*rows, ("one", 10**6, "0", "r", "x", 999_999)]).drop("history")
    assert on_spark.check_by_key(broken, "coherence").verdict == "violation"
    with pytest.raises(ValueError, match="not local"):
        on_spark.check_by_key(frame, "sc")


def test_transactions(session):
    texts = {
        "skew": "[a] begin\n[b] begin\n[a] r x 0\n[b] r y 0\n[a] w y 1\n[b] w x 1\n[a] commit\n[b] commit\n",
        "fine": "[a] begin\n[a] w x 1\n[a] commit\n[b] r x 1\n",
        "lists": "[a] begin\n[a] a l 1\n[a] r l [1]\n[a] commit\n",
    }
    models = ["serializable", "snapshot-isolation"]
    frame = session.createDataFrame(list(texts.items()), "history string, text string")
    found = there(on_spark.check(frame, models))
    assert found == {(name, model): seriatim.check(text, model).verdict for name, text in texts.items() for model in models}
    assert found["skew", "serializable"] == "violation" and found["skew", "snapshot-isolation"] == "consistent"


def test_lost_and_doubled_work_is_an_error(session):
    histories = corpus(5)
    frame = session.createDataFrame([(name, str(it)) for name, it in histories.items()], "history string, text string")
    checked = on_spark.check(frame, "sc")
    lost = on_spark.Checked(checked.verdicts.where("history != '3'"), checked.expected, checked.models)
    with pytest.raises(on_spark.LostWork, match="3"):
        lost.summary()
    doubled = on_spark.Checked(checked.verdicts.union(checked.verdicts), checked.expected, checked.models)
    with pytest.raises(on_spark.LostWork):
        doubled.summary()


def executors(session):
    """The executors of this session: they know the port of its driver."""
    driver = f"@127.0.0.1:{session.conf.get('spark.driver.port')}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"org.apache.spark.executor" in line and driver in line:
                found.append(int(entry.name))
    return found


def test_an_executor_is_killed_in_the_middle(session):
    histories = corpus(200, operations=400)
    frame = session.createDataFrame([(name, str(it)) for name, it in histories.items()], "history string, text string")
    checked = on_spark.check(frame.repartition(40), MODELS)
    killed = []

    def kill():
        time.sleep(1)
        running = executors(session)
        if running:
            os.kill(running[0], signal.SIGKILL)
            killed.append(running[0])

    thread = threading.Thread(target=kill)
    thread.start()
    found = there(checked)
    thread.join()
    assert killed
    assert found == here(histories, MODELS)


def test_bad_usage(session):
    frame = session.createDataFrame([("a", 1)], "history string, process int")
    with pytest.raises(ValueError, match="order"):
        on_spark.check(frame, "sc")
    with pytest.raises(ValueError, match="no model"):
        on_spark.check(frame, "nonsense")
    with pytest.raises(ValueError, match="column `history`"):
        on_spark.check(frame.drop("history"), "sc")
