"""The servers that are compared, in the order of the results."""

from fastzarr.bench.serving.peers.base import Peer
from fastzarr.bench.serving.peers.chunkmirage import PEER as CHUNKMIRAGE
from fastzarr.bench.serving.peers.fastzarr import PEER as FASTZARR
from fastzarr.bench.serving.peers.nginx import PEER as NGINX
from fastzarr.bench.serving.peers.reader import READER_PEERS
from fastzarr.bench.serving.peers.tiled import PEER as TILED
from fastzarr.bench.serving.peers.xpublish import PEER as XPUBLISH
from fastzarr.bench.serving.peers.zarr_http_server import PEER as ZARR_HTTP_SERVER

ALL: tuple[Peer, ...] = (FASTZARR, *READER_PEERS, NGINX, ZARR_HTTP_SERVER, CHUNKMIRAGE, TILED, XPUBLISH)

PEERS: dict[str, Peer] = {peer.name: peer for peer in ALL}
