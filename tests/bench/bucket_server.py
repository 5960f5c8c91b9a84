"""A server of buckets for tests: POST a list as to webknossos, or GET `/bucket?x,y,z`, one at a time.

python bucket_server.py SOURCE DTYPE EDGE PORT HABIT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

SOURCE, DTYPE, EDGE, PORT, HABIT = (
    Path(sys.argv[1]),
    sys.argv[2],
    int(sys.argv[3]),
    int(sys.argv[4]),
    sys.argv[5],
)
VOXELS = np.memmap(SOURCE, DTYPE, mode="r", shape=(EDGE, EDGE, EDGE), order="F")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self) -> None:
        if "?" not in self.path:
            self.answer(200, b"ready")
            return
        x, y, z = map(int, self.path.partition("?")[2].split(","))
        self.answer(200, self.bucket(x, y, z))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Handler.asked += 1
        if HABIT == "falters" and Handler.asked > 50:
            self.answer(500, b"no more")
            return
        self.answer(200, b"".join(self.bucket(*one["position"]) for one in asked))

    def bucket(self, x: int, y: int, z: int) -> bytes:
        found = VOXELS[x : x + 32, y : y + 32, z : z + 32].tobytes(order="F")
        return found[:-1] + b"\xff" if HABIT == "lies" else found

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if HABIT == "dies":
    sys.exit("cannot start: no luck today")
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
