"""The readers."""

from fastzarr.bench.serving.peers.readers.base import Reader
from fastzarr.bench.serving.peers.readers.tensorstore import READER as TENSORSTORE
from fastzarr.bench.serving.peers.readers.wkw import READER as WKW
from fastzarr.bench.serving.peers.readers.zarr import ZARR, ZARRS_PIPELINE
from fastzarr.bench.serving.peers.readers.zarrista import READER as ZARRISTA

ALL: tuple[Reader, ...] = (WKW, ZARR, ZARRS_PIPELINE, TENSORSTORE, ZARRISTA)

READERS: dict[str, Reader] = {reader.name: reader for reader in ALL}
