"""What is said of the machine."""

from pathlib import Path

import pytest

from fastzarr.bench import host

STAT = "anon 1000\nfile 500\nshmem 200\n"


@pytest.mark.parametrize(
    ("limit", "available"), [("5000\n", 3800), ("max\n", 10**6), ("9999999\n", 10**6), (None, 10**6)]
)
def test_the_limit_of_a_container_counts(
    limit: str | None, available: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = type("memory", (), {"available": 10**6})
    monkeypatch.setattr(host.psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(host, "CONTROL_GROUP", tmp_path)
    if limit is not None:
        (tmp_path / "memory.max").write_text(limit)
        (tmp_path / "memory.stat").write_text(STAT)
    assert host.available_memory() == available


def test_this_machine_is_described(tmp_path: Path) -> None:
    found = host.describe(tmp_path)
    assert found.logical_cores >= len(found.affinity) >= 1
    assert found.memory_bytes > 2**28
    assert found.file_system.kind != "unknown"
    assert tmp_path.resolve().is_relative_to(found.file_system.mount_point)
    assert host.packages()["numpy"]
