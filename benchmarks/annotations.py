"""Ten million labels from Parquet to padded batches: time and peak memory, beside the same by hand with pandas.

    python benchmarks/annotations.py [--labels 10000000]

Each case runs in a process of its own, so that peaks of memory do not mix.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def write(folder: Path, labels: int) -> dict[str, Path]:
    """Two tables of random labels, 5 an example, by 5,000 annotators: with numbers and with strings for names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    task, worker = random.integers(0, labels // 5, labels), random.integers(0, 5000, labels)
    label = random.integers(0, 10, labels)
    tables = {
        "integers": pa.table({"task": task, "worker": worker, "label": label}),
        "strings": pa.table(
            {
                "task": pa.array([f"image_{i:07d}.png" for i in range(labels // 5)]).take(pa.array(task)),
                "worker": pa.array([f"worker {i}" for i in range(5000)]).take(pa.array(worker)),
                "label": pa.array([f"class {i}" for i in range(10)]).take(pa.array(label)),
            }
        ),
    }
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        pq.write_table(table, paths[name])
    return paths


def by_truelabel(path: Path) -> int:
    import torch

    from truelabel import Annotations

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few pairs repeat by chance
        annotations = Annotations.from_table(path)
    annotations.slot_table().at(torch.arange(128))
    return annotations.size


def by_pandas(path: Path) -> int:
    """What one would write by hand: factorise, drop duplicates, sort, find where each example starts."""
    import pandas as pd

    frame = pd.read_parquet(path)
    for column in frame.columns:
        frame[column] = pd.factorize(frame[column], sort=True)[0]
    frame = frame.drop_duplicates(["task", "worker"], keep="last").sort_values(["task", "worker"])
    np.searchsorted(frame["task"].to_numpy(), np.arange(129))
    return len(frame)


CASES = {"truelabel": by_truelabel, "pandas": by_pandas}


def measure(case: str, path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--case", case, "--path", str(path)], capture_output=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--path", type=Path)
    arguments = parser.parse_args()
    if arguments.case:
        began = time.perf_counter()
        size = CASES[arguments.case](arguments.path)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"labels": size, "seconds": seconds, "peak_mib": peak}))
        return
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in write(Path(folder), arguments.labels).items():
            ours, theirs = measure("truelabel", path), measure("pandas", path)
            assert ours["labels"] == theirs["labels"]
            for name, result in (("truelabel", ours), ("pandas by hand", theirs)):
                print(f"{kind:9} {name:15} {result['seconds']:6.2f} s  {result['peak_mib']:6.0f} MiB, imports included")
            faster, smaller = (theirs[key] / ours[key] for key in ("seconds", "peak_mib"))
            print(f"{kind:9} {'ratio':15} {faster:6.2f}x {smaller:7.2f}x")


if __name__ == "__main__":
    main()
