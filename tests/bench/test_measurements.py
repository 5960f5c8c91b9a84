"""What the workloads over layouts save is read back the same, and what does not fit is named."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import measured
import pytest

from fastzarr.bench import measurements
from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.measurements import Bundle


@pytest.mark.parametrize("bundle", [measured.bundle(), measured.threads_bundle()])
def test_a_bundle_is_read_back_the_same(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "new" / "result.json"
    measurements.save(bundle, path)
    assert measurements.load(path) == bundle
    assert [file.name for file in path.parent.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workload": "sequential"}, "got workload 'sequential', expected one of whole-array, small-chunks"),
        ({"schema_version": 99}, "got schema_version 99, expected 1; use the version of fastzarr"),
        ({"rows": 3}, "rows: got 3, expected a list"),
    ],
)
def test_a_file_of_another_layout_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    measurements.save(measured.bundle(), path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BenchmarkError, match=r"result\.json") as caught:
        measurements.load(path)
    assert message in str(caught.value)


def test_counts_of_a_case() -> None:
    case = measured.case(shape=(65, 128, 128), total_bytes=65 * 2**16)
    assert case.chunk_count == 2 * 2 * 2
    assert case.chunk_bytes == 2**20


def test_csv_has_a_line_per_sample_and_one_for_a_row_without(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    bundle = measured.bundle()
    shards = replace(bundle.cases[0], shards=(64, 128, 128))
    measurements.save_csv(replace(bundle, cases=(shards, *bundle.cases[1:])), path)
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert len(lines) == sum(max(1, len(row.samples)) for row in bundle.rows)
    first = lines[0]
    assert (first["backend"], first["repeat"], first["shard_shape"]) == ("raw-chunks", "1", "64x128x128")
    assert float(first["MiB_per_s"]) == pytest.approx(40)
    assert float(first["us_per_chunk"]) == pytest.approx(25000)
    skipped = next(line for line in lines if line["status"] == "skipped" and line["backend"] == "zarr")
    assert (skipped["reason"], skipped["seconds"]) == ('not here, "zarr"', "")
    element = next(line for line in lines if line["operation"] == "element" and line["seconds"])
    assert (element["MiB_per_s"], float(element["us_per_call"])) == ("", pytest.approx(125))
