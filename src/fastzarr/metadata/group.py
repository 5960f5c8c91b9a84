"""Documents of groups, and consolidated metadata: the documents of all nodes below a group, kept with it.

Sources: Zarr v3 core specification 3.1, "Group metadata" and its `consolidated_metadata`; for v2 `.zmetadata`
as zarr-python writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fastzarr.errors import MetadataError
from fastzarr.metadata import v2, v3
from fastzarr.metadata.model import ArrayMetadata, Problems, ZarrFormat

CONSOLIDATED_V2 = ".zmetadata"
CONSOLIDATED_V3 = "consolidated_metadata"


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupMetadata:
    """Metadata of one group; equal when format, attributes and other members are equal."""

    zarr_format: ZarrFormat = 3
    """2 or 3: the format of the stored document."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """User attributes."""
    others: dict[str, Any] = field(default_factory=dict)
    """Members of the document that fastzarr doesn't know, kept when it is written."""
    consolidated_metadata: Consolidated | None = None
    """Documents of the nodes below, or None where they were not consolidated."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupMetadata):
            return NotImplemented
        return (self.zarr_format, self.attributes, self.others) == (
            other.zarr_format,
            other.attributes,
            other.others,
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def document(self) -> dict[str, Any]:
        """What is stored as `zarr.json`, or as `.zgroup`."""
        if self.zarr_format == 2:
            return {**self.others, "zarr_format": 2}
        document = {"attributes": self.attributes, "zarr_format": 3}
        if self.consolidated_metadata is not None:
            document[CONSOLIDATED_V3] = self.consolidated_metadata.to_v3()
        return {**document, "node_type": "group", **self.others}

    def to_dict(self) -> dict[str, Any]:
        """The metadata document as Python objects, attributes included."""
        return {**self.document, "attributes": self.attributes}


NodeMetadata = ArrayMetadata | GroupMetadata


class Consolidated:
    """Documents of all nodes below a group, by path relative to it; parsed when they are asked for."""

    def __init__(self, where: str, zarr_format: ZarrFormat, documents: dict[str, dict[str, Any]]) -> None:
        self._where = where
        self._zarr_format = zarr_format
        self._documents = documents

    def paths(self) -> Iterator[str]:
        """Paths of all nodes."""
        return iter(self._documents)

    def node(self, path: str) -> NodeMetadata | None:
        """Metadata of the node at `path`, or None where there is none; raises `MetadataError`.

        A group has the documents of the nodes below it.
        """
        document = self._documents.get(path)
        if document is None:
            return None
        where = f"{self._where}, {path!r}"
        if self._zarr_format == 3:
            if document.get("node_type") == "array":
                return v3.parse(document, where)
            return parse_v3({**document, CONSOLIDATED_V3: None}, where, self.below(path))
        attributes = document.get(v2.ATTRIBUTES, {})
        if v2.DOCUMENT in document:
            return v2.parse(document[v2.DOCUMENT], attributes, where)
        return parse_v2({**document[v2.GROUP], CONSOLIDATED_V3: None}, attributes, where, self.below(path))

    def below(self, path: str) -> Consolidated:
        """What is below the node at `path`."""
        prefix = f"{path}/"
        documents = {
            other[len(prefix) :]: document
            for other, document in self._documents.items()
            if other.startswith(prefix)
        }
        return Consolidated(f"{self._where}, {path!r}", self._zarr_format, documents)

    def without(self, path: str) -> Consolidated:
        """All but the node at `path` and what is below it."""
        documents = {
            other: document
            for other, document in self._documents.items()
            if other != path and not other.startswith(f"{path}/")
        }
        return Consolidated(self._where, self._zarr_format, documents)

    def to_v3(self) -> dict[str, Any]:
        """The member `consolidated_metadata` of a v3 group."""
        return {"kind": "inline", "must_understand": False, "metadata": self._documents}

    def to_v2(self, group: GroupMetadata) -> dict[str, Any]:
        """The document `.zmetadata` of a v2 group."""
        documents = {v2.GROUP: group.document, v2.ATTRIBUTES: group.attributes}
        for path, entry in self._documents.items():
            documents |= {f"{path}/{name}": document for name, document in entry.items()}
        return {"metadata": documents, "zarr_consolidated_format": 1}


def consolidate(where: str, zarr_format: ZarrFormat, nodes: dict[str, NodeMetadata]) -> Consolidated:
    """Consolidated metadata of `nodes`, by path relative to the group they are below."""
    documents: dict[str, dict[str, Any]] = {}
    for path, node in nodes.items():
        if zarr_format == 2:
            name = v2.DOCUMENT if isinstance(node, ArrayMetadata) else v2.GROUP
            documents[path] = {v2.ATTRIBUTES: node.attributes, name: node.document}
        elif isinstance(node, ArrayMetadata):
            documents[path] = node.to_dict()
        else:
            documents[path] = GroupMetadata(
                attributes=node.attributes,
                others=node.others,
                consolidated_metadata=Consolidated(where, 3, {}),
            ).document
    return Consolidated(where, zarr_format, documents)


def parse_v3(document: dict[str, Any], where: str, below: Consolidated | None = None) -> GroupMetadata:
    """Metadata of a v3 group; raises `MetadataError` with all problems. `below`: what was consolidated."""
    problems = Problems(where)
    if document.get("zarr_format") != 3:
        problems.add("zarr_format", document.get("zarr_format"), "3")
    if document.get("node_type") != "group":
        problems.add("node_type", document.get("node_type"), "'group'")
    attributes = document.get("attributes", {})
    if not isinstance(attributes, dict):
        problems.add("attributes", attributes, "an object")
    others = {
        member: value
        for member, value in document.items()
        if member not in ("zarr_format", "node_type", "attributes", CONSOLIDATED_V3)
    }
    v3.check_others(others, problems)
    if below is None and document.get(CONSOLIDATED_V3) is not None:
        below = problems.attempt(_parse_inline, document[CONSOLIDATED_V3], where)
    problems.raise_if_any()
    return GroupMetadata(zarr_format=3, attributes=attributes, others=others, consolidated_metadata=below)


def parse_v2(
    document: dict[str, Any],
    attributes: dict[str, Any],
    where: str,
    below: Consolidated | None = None,
) -> GroupMetadata:
    """Metadata of a v2 group; raises `MetadataError`. `below`: what was consolidated."""
    problems = Problems(where)
    if document.get("zarr_format") != 2:
        problems.add("zarr_format", document.get("zarr_format"), "2")
    problems.raise_if_any()
    others = {m: value for m, value in document.items() if m not in ("zarr_format", CONSOLIDATED_V3)}
    return GroupMetadata(zarr_format=2, attributes=attributes, others=others, consolidated_metadata=below)


def _parse_inline(value: object, where: str) -> Consolidated:
    expected = "an object of kind 'inline' with the documents of nodes by path"
    if not isinstance(value, dict) or value.get("kind", "inline") != "inline":
        raise MetadataError(CONSOLIDATED_V3, [f"got {value!r}, expected {expected}"])
    documents = value.get("metadata")
    if not isinstance(documents, dict) or not all(isinstance(d, dict) for d in documents.values()):
        raise MetadataError(CONSOLIDATED_V3, [f"metadata: got {documents!r}, expected {expected}"])
    _check_paths(documents, CONSOLIDATED_V3)
    return Consolidated(f"{where}, {CONSOLIDATED_V3}", 3, documents)


def _check_paths(paths: Iterable[str], where: str) -> None:
    """Raise `MetadataError` for paths that no node below a group can have."""
    documents = ("", ".", "..", v3.DOCUMENT, v2.DOCUMENT, v2.GROUP, v2.ATTRIBUTES)
    bad = [p for p in paths if "\0" in p or "\\" in p or any(part in documents for part in p.split("/"))]
    if bad:
        raise MetadataError(where, [f"got the path {path!r}, expected names joined by '/'" for path in bad])


def parse_consolidated_v2(document: dict[str, Any], where: str) -> Consolidated:
    """What a document `.zmetadata` tells of the nodes below its group; raises `MetadataError`."""
    problems = Problems(where)
    if document.get("zarr_consolidated_format") != 1:
        problems.add("zarr_consolidated_format", document.get("zarr_consolidated_format"), "1")
    documents = document.get("metadata")
    if not isinstance(documents, dict) or not all(isinstance(d, dict) for d in documents.values()):
        problems.add("metadata", documents, "an object with documents by key")
    problems.raise_if_any()
    assert isinstance(documents, dict)
    below: dict[str, dict[str, Any]] = {}
    for key, entry in documents.items():
        path, _, name = key.rpartition("/")
        if path and name in (v2.DOCUMENT, v2.GROUP, v2.ATTRIBUTES):
            below.setdefault(path, {})[name] = entry
    _check_paths(below, where)
    nodes = {path: entry for path, entry in below.items() if v2.DOCUMENT in entry or v2.GROUP in entry}
    return Consolidated(where, 2, nodes)
