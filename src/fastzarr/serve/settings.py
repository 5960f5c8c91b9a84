"""What a server is told when it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ServerKind = Literal["uvicorn", "granian"]

MEBIBYTE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where to listen, what to serve, whom to answer, and every limit; sizes in bytes, times in seconds."""

    source: Path
    """A directory, or a TOML file that lists datasets."""
    bind: str = "127.0.0.1"
    port: int = 8080
    """0 for one that is free."""
    workers: int = 1
    """Processes; each has a cache of its own."""
    server: ServerKind = "uvicorn"
    token: str = field(default="", repr=False)
    """What clients must show; empty where anyone may read."""
    cors: tuple[str, ...] = ()
    """Origins of other sites whose pages may read; `*` for any."""
    hosts: tuple[str, ...] = ()
    """Names that this server is reached by, besides localhost, its address and `bind`."""
    public_url: str = ""
    """What clients reach this server by, where a proxy stands before it; else what they say in `Host`."""
    access_log: bool = False
    cache_bytes: int = 512 * MEBIBYTE
    """Memory for decoded buckets, per process; 0 for none."""
    threads: int = min(32, (os.cpu_count() or 1) + 4)
    """Threads for handlers that may wait, per process."""
    max_body_bytes: int = MEBIBYTE
    """Of a request's body."""
    max_buckets: int = 512
    """In one request."""
    max_cuboid_edge: int = 512
    """Voxels along each axis of a cutout."""
    max_response_bytes: int = 1024 * MEBIBYTE
    """Of one answer that is made in memory."""
    max_bytes_in_flight: int = 1024 * MEBIBYTE
    """Of all answers that are being made or sent, per process."""
    max_requests: int = 2000
    """Being answered at once, per process."""
    max_connections: int = 10_000
    """Open at once, per process."""
    read_timeout: float = 20.0
    """For a whole request to arrive."""
    idle_timeout: float = 75.0
    """For the next request on an open connection."""
    write_timeout: float = 30.0
    """Without a client taking any byte of an answer."""
    handler_timeout: float = 60.0
    """For an answer to be made, waiting for a thread included."""
