"""What the machine is, and how much memory and space it has left."""

import ctypes
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import psutil

from fastzarr.bench.results import FileSystem, Host, SourceCommit

CONTROL_GROUP = Path("/sys/fs/cgroup")
"""Where a container sees its own limits."""


def describe(directory: Path) -> Host:
    """The machine now, with the file system under `directory`."""
    affinity = allowed_cores()
    return Host(
        cpu=_cpu_model(),
        logical_cores=os.cpu_count() or len(affinity),
        physical_cores=psutil.cpu_count(logical=False),
        affinity=affinity,
        memory_bytes=psutil.virtual_memory().total,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        governor=_first_line(Path(f"/sys/devices/system/cpu/cpu{affinity[0]}/cpufreq/scaling_governor")),
        load_average=psutil.getloadavg(),
        file_system=_file_system(directory.resolve()),
    )


def allowed_cores() -> tuple[int, ...]:
    """Numbers of the logical cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def available_memory() -> int:
    """Bytes that can be allocated without swapping, and within the limit of a container (cgroup v2)."""
    free = psutil.virtual_memory().available
    limit = _first_line(CONTROL_GROUP / "memory.max")
    if limit is None or limit == "max":
        return free
    counted = dict(line.split() for line in (CONTROL_GROUP / "memory.stat").read_text().splitlines())
    return min(free, int(limit) - int(counted["anon"]) - int(counted["shmem"]))


def free_space(directory: Path) -> int:
    """Bytes free to this user under `directory`."""
    return psutil.disk_usage(str(directory)).free


def free_inodes(directory: Path) -> int | None:
    """Files that can still be made under `directory`; None where the file system sets no limit."""
    if not hasattr(os, "statvfs"):
        return None
    found = os.statvfs(directory)
    return found.f_favail if found.f_files else None


def packages() -> dict[str, str]:
    """Every installed distribution and its version."""
    found = {d.name: d.version for d in importlib.metadata.distributions()}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def source_commit() -> SourceCommit | None:
    """Commit of the checkout this package runs from, or None for an installed copy or without git."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return SourceCommit(commit=commit, dirty=bool(_git(root, "status", "--porcelain", "-uno")))
    except (OSError, subprocess.CalledProcessError):
        return None


class PeakMemory:
    """Most resident memory above the level at `restart`; Linux only."""

    def __init__(self) -> None:
        self._supported = os.access("/proc/self/clear_refs", os.W_OK)
        self._start = 0

    def restart(self) -> None:
        """Give freed memory back to the system and begin at the present level."""
        if self._supported:
            libc = ctypes.CDLL(None)
            if hasattr(libc, "malloc_trim"):
                libc.malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")
            self._start = _status_bytes("VmHWM")

    def above_start(self) -> int | None:
        """Bytes, or None where the operating system does not tell."""
        return _status_bytes("VmHWM") - self._start if self._supported else None


def _status_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _file_system(directory: Path) -> FileSystem:
    mounts = [m for m in psutil.disk_partitions(all=True) if directory.is_relative_to(m.mountpoint)]
    mount = max(reversed(mounts), key=lambda m: len(Path(m.mountpoint).parts), default=None)
    return FileSystem(
        path=str(directory),
        kind=mount.fstype if mount else "unknown",
        device=mount.device if mount else "unknown",
        mount_point=mount.mountpoint if mount else "unknown",
        options=mount.opts if mount else "unknown",
        free_bytes=free_space(directory),
    )


def _cpu_model() -> str:
    """Model name; `platform` knows it on macOS and Windows, `/proc/cpuinfo` on Linux."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _first_line(path: Path) -> str | None:
    return path.read_text().strip() if path.is_file() else None


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()
