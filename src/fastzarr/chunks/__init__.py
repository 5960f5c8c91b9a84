"""Chunk grid arithmetic and chunk keys."""
