"""The nodes of a hierarchy as a drawing."""

from __future__ import annotations

from fastzarr.metadata.group import NodeMetadata
from fastzarr.metadata.model import ArrayMetadata


class Tree:
    """A hierarchy; `str` and `repr` draw it, arrays with shape and data type."""

    def __init__(self, root: str, nodes: list[tuple[str, NodeMetadata]]) -> None:
        self._lines = [f"/{root}"]
        below: dict[str, list[tuple[str, NodeMetadata]]] = {}
        for path, metadata in nodes:
            below.setdefault(path.rpartition("/")[0], []).append((path, metadata))
        self._draw(below, "", "")

    def __repr__(self) -> str:
        return "\n".join(self._lines)

    def _draw(self, below: dict[str, list[tuple[str, NodeMetadata]]], path: str, indent: str) -> None:
        members = below.get(path, [])
        for number, (member, metadata) in enumerate(members):
            last = number == len(members) - 1
            name = member.rpartition("/")[2]
            kind = f" {metadata.shape} {metadata.dtype}" if isinstance(metadata, ArrayMetadata) else ""
            self._lines.append(f"{indent}{'└── ' if last else '├── '}{name}{kind}")
            self._draw(below, member, f"{indent}{'    ' if last else '│   '}")
