"""A million recorded runs: the replay on Dask, rows in Parquet, sums in DuckDB.

    python replay_on_dask.py FOLDER OUT --workers 2
    python replay_on_dask.py FOLDER OUT --scheduler tcp://scheduler:8786

Files are independent, so nothing here is more than a map over files. Each task replays a batch of
files and writes two Parquet files of its own; a task that is run again writes the same ones, and
one whose files are there is not run again, so that an interrupted job goes on where it stood:
with the files that it found at first. What came since is for another OUT.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster, as_completed

from trimtab_replay import Job, replay_file
from trimtab_replay._corpus import Found, find
from trimtab_replay._results import Replayed
from trimtab_replay._selection import everything

FILES_PER_TASK = 20
RUNS = pa.schema(
    [
        ("id", pa.string()),
        ("path", pa.string()),
        ("reader", pa.string()),
        ("calls", pa.int64()),
        ("turns", pa.int64()),
    ]
)
NUDGES = pa.schema(
    [
        ("id", pa.string()),
        ("path", pa.string()),
        ("provider", pa.string()),
        ("kind", pa.string()),
        ("turn", pa.int64()),
        ("call", pa.int64()),
        ("level", pa.int64()),
        ("tokens", pa.int64()),
        ("reason", pa.string()),
        ("text", pa.string()),
    ]
)
BY_PROVIDER = """
    select provider, count(distinct (path, id)) as runs, count(*) as nudges,
           round(100.0 * count(*) / (select sum(calls) from runs), 3) as per_100_calls,
           sum(tokens) as tokens
    from nudges group by provider order by nudges desc, provider
"""
BY_READER = """
    with spoken as (select distinct path, id from nudges)
    select reader, count(*) as runs, sum(calls)::bigint as calls,
           round(100.0 * count(spoken.id) / count(*), 1) as percent_spoken_in
    from runs left join spoken using (path, id) group by reader order by calls desc, reader
"""


def run_row(run: Replayed) -> dict[str, Any]:
    """One row of the table of runs."""
    return {name: getattr(run, name) for name in RUNS.names}


def nudge_rows(run: Replayed) -> Iterator[dict[str, Any]]:
    """The rows of the table of nudges."""
    for decision in run.decisions:
        own = {name: getattr(decision, name) for name in NUDGES.names[2:]}
        yield {"id": run.id, "path": run.path, **own}


def replay_batch(number: int, files: list[Found], job: Job, out: str) -> list[str]:
    """Replay a batch of files and write its part of both tables; return what was not read."""
    runs, nudges, skipped = [], [], []
    for found in files:
        replayed, stats = replay_file(found, job)
        runs += map(run_row, replayed)
        nudges += (row for run in replayed for row in nudge_rows(run))
        skipped += [f"{one.path}: {one.message}" for one in stats.skipped]
    for table, schema, rows in (("nudges", NUDGES, nudges), ("runs", RUNS, runs)):
        target = Path(out, table, f"part-{number:06}.parquet")
        draft = target.with_suffix(".writing")
        pq.write_table(pa.Table.from_pylist(rows, schema), draft)
        draft.rename(target)
    return skipped


def planned(folder: str, plan: Path) -> list[Found]:
    """The files to replay, written down at the first start: a batch stays the same batch."""
    if not plan.exists():
        draft = plan.with_suffix(".writing")
        draft.write_text(json.dumps([found.path for found in find([folder])]))
        draft.rename(plan)
    return [Found(Path(path), path, named=False) for path in json.loads(plan.read_text())]


def replay_folder(folder: str, out: Path, client: Client, job: Job) -> list[str]:
    """Replay what is not yet replayed; return what was not read."""
    for table in ("runs", "nudges"):
        (out / table).mkdir(parents=True, exist_ok=True)
    files = planned(folder, out / "files.json")
    batches = [files[at : at + FILES_PER_TASK] for at in range(0, len(files), FILES_PER_TASK)]
    tasks = [
        client.submit(replay_batch, number, batch, job, str(out), retries=2)
        for number, batch in enumerate(batches)
        if not (out / "runs" / f"part-{number:06}.parquet").exists()
    ]
    return [line for done in as_completed(tasks) for line in done.result()]


def report(out: Path) -> None:
    """Print the sums; DuckDB reads only the columns it needs, from as many files as there are."""
    for table in ("runs", "nudges"):
        duckdb.sql(f"create view {table} as from read_parquet('{out}/{table}/*.parquet')")
    for query in (BY_PROVIDER, BY_READER):
        duckdb.sql(query).show()


def main() -> None:
    """Replay a folder on two processes of this machine, or on a cluster."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scheduler", help="address of a cluster; else one is made here")
    options = parser.parse_args()
    local = {"n_workers": options.workers, "threads_per_worker": 1, "dashboard_address": None}
    cluster = options.scheduler or LocalCluster(**local)
    with Client(cluster) as client:
        skipped = replay_folder(options.folder, options.out, client, Job(selection=everything()))
    for line in skipped:
        sys.stderr.write(f"not read: {line}\n")
    report(options.out)


if __name__ == "__main__":
    main()
