"""Waiting until all processes of a server take part: the first that does would have all connections else."""

import time

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving.peers.base import READY_SECONDS, Server


def until_all_say(server: Server, word: str, count: int, seconds: float = READY_SECONDS) -> Server:
    """`server`, after `count` of its processes have printed `word`; BenchmarkError where they don't."""
    end = time.monotonic() + seconds
    while (found := server.log.read_text(encoding="utf-8", errors="replace").count(word)) < count:
        if server.process.poll() is not None or time.monotonic() > end:
            server.stop()
            raise BenchmarkError(f"workers: got {found} that are ready, expected {count}; see {server.log}")
        time.sleep(0.05)
    return server
