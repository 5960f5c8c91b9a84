"""How many processors the process may use."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path, PurePosixPath

_GROUPS = Path("/proc/self/cgroup")
_MOUNTS = Path("/sys/fs/cgroup")


def usable() -> int:
    """Processors that the scheduler gives this process, and no more than the quota of its container.

    The affinity is asked for anew, since it may change; the quota once.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(min(count, _quota()))


@functools.cache
def _quota() -> float:
    try:
        return quota(_GROUPS.read_text(), _MOUNTS)
    except OSError:  # no Linux, or no /proc
        return math.inf


def quota(groups: str, mounts: Path) -> float:
    """Whole processors that control groups leave, rounded up; infinite where nothing limits them.

    `groups` is the content of `/proc/PID/cgroup`, `mounts` the directory where control groups are mounted.
    A group has no more than those above it, so the smallest counts.
    """
    limits = [math.inf]
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            read, root = _limit_v2, mounts
        elif "cpu" in controllers.split(","):
            read, root = _limit_v1, mounts / "cpu"
        else:
            continue
        group = PurePosixPath(path.lstrip("/"))
        # In a container the path may be the host's, of which only the end, if anything, is mounted.
        for place in (group, *group.parents):
            try:
                limits.append(read(root / place))
            except (OSError, ValueError):  # not mounted here, or the root, which has no limit
                continue
    return min(limits)


def _limit_v2(directory: Path) -> float:
    allowed, period = (directory / "cpu.max").read_text().split()
    return _processors(allowed, period)


def _limit_v1(directory: Path) -> float:
    return _processors(
        (directory / "cpu.cfs_quota_us").read_text(), (directory / "cpu.cfs_period_us").read_text()
    )


def _processors(allowed: str, period: str) -> float:
    """Microseconds of processor time in each period as whole processors."""
    if allowed == "max" or int(allowed) < 0:
        return math.inf
    return max(1, math.ceil(int(allowed) / int(period)))
