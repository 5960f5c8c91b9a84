"""Plans to bytes and back: fetch, decode, scatter; gather, encode, store. Owns the threads and the locks."""

from fastzarr.chunk_io.chunks import ChunkIO, of_grid
from fastzarr.chunk_io.crew import THREADS_VARIABLE
from fastzarr.chunk_io.locks import ChunkLocks, document_lock

__all__ = ["THREADS_VARIABLE", "ChunkIO", "ChunkLocks", "document_lock", "of_grid"]
