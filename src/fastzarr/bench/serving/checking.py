"""Whether a server answers the right voxels; before anything is timed, because wrk looks at no body."""

import http.client
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from numpy.typing import NDArray

from fastzarr.bench.errors import BenchmarkError
from fastzarr.bench.serving import batches as drawing
from fastzarr.bench.serving.peers.base import BUCKET, Batch, HttpRequest, Peer, StoredLayer

SECONDS = 60.0


class WrongAnswerError(BenchmarkError):
    """A server answered other voxels than the source has, or another status than 2xx."""


def check(peer: Peer, stored: StoredLayer, url: str, batches: Sequence[Batch], layer: NDArray[Any]) -> None:
    """Ask for each batch and compare the content with `layer` [x, y, z]; WrongAnswerError tells the first
    that differs.
    """
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=SECONDS)
    try:
        for batch in batches:
            bodies = [_answer(connection, request) for request in peer.requests(stored, batch)]
            found, expected = peer.content(stored, batch, bodies), drawing.voxels(layer, batch)
            if found != expected:
                raise WrongAnswerError(_difference(found, expected, batch))
    finally:
        connection.close()


def _answer(connection: http.client.HTTPConnection, request: HttpRequest) -> bytes:
    body = request.body.encode() or None
    connection.request(request.method, request.path, body, dict(request.headers))
    answer = connection.getresponse()
    content = answer.read()
    if not 200 <= answer.status < 300:
        shown = content[:200].decode(errors="replace")
        raise WrongAnswerError(f"{request.method} {request.path}: got {answer.status}, {shown!r}")
    return content


def _difference(found: bytes, expected: bytes, batch: Batch) -> str:
    if len(found) != len(expected):
        return f"got {len(found)} bytes for the buckets {list(batch)}, expected {len(expected)}"
    size = len(expected) // len(batch)
    for number, bucket in enumerate(batch):
        part = slice(number * size, (number + 1) * size)
        if found[part] != expected[part]:
            at = next(i for i, (a, b) in enumerate(zip(found[part], expected[part], strict=True)) if a != b)
            voxel = at // (size // BUCKET**3)
            place = voxel % BUCKET, voxel // BUCKET % BUCKET, voxel // BUCKET**2
            return f"the bucket at {bucket} has other voxels than the source, the first at {place} in it"
    raise AssertionError("the contents are equal")
