"""A real cluster: two executors, each a process of its own."""

import os
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


def test_rows_equal_one_process_and_a_giant_is_alone(session):
    histories = corpus(40) | {"giant": seriatim.gen("tso", operations=3000, seed=7)}
    rows = rows_of(histories)
    random.Random(1).shuffle(rows)
    frame = frame_of(session, rows)
    checked = on_spark.check(frame, MODELS, partitions=6)
    assert there(checked) == here(histories, MODELS)
    summary = checked.summary()
    assert sum(summary.counts.values()) == len(histories) * len(MODELS)
    from pyspark.sql import functions as F

    placed = on_spark._placed(frame, 6).withColumn("at", F.spark_partition_id())
    beside = placed.where("history != 'giant'").select("at").distinct()
    giant = placed.where("history = 'giant'").select("at").distinct()
    assert giant.count() == 1 and beside.join(giant, "at").count() == 0


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
