"""nginx: parts of the files as they are stored, the ceiling for any server of such bytes."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fastzarr.bench.serving.peers import stored_bytes
from fastzarr.bench.serving.peers.base import (
    Batch,
    HttpRequest,
    Server,
    ServerOptions,
    StoredLayer,
    launch,
)

PLACES = (*os.get_exec_path(), "/usr/sbin", "/usr/local/sbin")
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")

CONFIGURATION = """\
daemon off;
{user}worker_processes {workers};
pid {own}/pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=4096 inactive=1h;
  keepalive_requests 1000000000;
  {temporary}
  server {{ listen 127.0.0.1:{port} backlog=2048; root "{root}"; }}
}}
"""


class Nginx:
    """A process per worker, files sent from the page cache, open files kept, no log. `sendfile` with
    `tcp_nopush` is 1.2 times as fast for uint8 as without, and as fast for uint32.

    One range in one GET for each bucket, as clients of Zarr ask; the offsets are known before, as to a client
    that has read the shard's index or the file's jump table. Nothing is decoded.
    """

    name = "nginx"
    note = (
        "sends stored bytes, nothing is decoded: the ceiling of that; a range request for each bucket, "
        "offsets known to the client"
    )

    def unable(self, stored: StoredLayer) -> str | None:
        return None if _program() else "nginx is not installed: apt-get install nginx"

    def start(self, stored: StoredLayer, options: ServerOptions, port: int, log: Path) -> Server:
        own = Path(tempfile.mkdtemp(prefix="nginx-", dir=log.parent))
        configuration = CONFIGURATION.format(
            user="user root;\n" if os.geteuid() == 0 else "",
            workers=options.workers,
            own=own,
            temporary=" ".join(f"{name}_temp_path {own}/{name};" for name in TEMPORARY),
            port=port,
            root=stored.root.resolve(),
        )
        (own / "nginx.conf").write_text(configuration)
        command: list[str | Path] = [
            _program() or "nginx",
            "-p",
            own,
            "-c",
            own / "nginx.conf",
            "-e",
            "stderr",
        ]
        return launch(command, port, log)

    def requests(self, stored: StoredLayer, batch: Batch) -> tuple[HttpRequest, ...]:
        return stored_bytes.requests(stored, batch, f"/{stored.dataset}/{stored.layer}/1/")

    def content(self, stored: StoredLayer, batch: Batch, bodies: Sequence[bytes]) -> bytes:
        return b"".join(stored_bytes.decode(stored, body) for body in bodies)


def _program() -> str | None:
    return shutil.which("nginx", path=os.pathsep.join(PLACES))


PEER = Nginx()
