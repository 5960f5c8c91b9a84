"""The servers that are compared, in the order of the results."""

from fastzarr.bench.serving.peers.base import Peer
from fastzarr.bench.serving.peers.fastzarr import PEER as FASTZARR

PEERS: dict[str, Peer] = {peer.name: peer for peer in (FASTZARR,)}
