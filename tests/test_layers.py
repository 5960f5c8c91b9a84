"""Imports inside fastzarr point down: the table of layers, held."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "fastzarr"
PUBLIC = "fastzarr"

PARTS = ("errors", "ranges", "fill", "data_types", "chunks", "metadata", "indexing", "codecs", "stores")
ARRAYS = (*PARTS, "codec_chain", "sharding", "chunk_io", "hierarchy")

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    # 0: no part of fastzarr, or errors only
    "errors": (),
    "ranges": ("errors",),
    "fill": (),
    "_kernel": (),
    "processors": (),
    "result_memory": (),
    # 1: values and grids
    "data_types": ("errors",),
    "chunks": ("errors",),
    # 2: documents, selections, codecs, stores
    "metadata": ("errors", "data_types", "chunks"),
    "indexing": ("errors", "chunks"),
    "codecs": ("errors", "data_types"),
    "stores": ("errors", "ranges"),
    # 3 to 6: from prepared codecs to arrays
    "codec_chain": PARTS,
    "sharding": (*PARTS, "codec_chain"),
    "chunk_io": (*PARTS, "_kernel", "processors", "codec_chain", "sharding"),
    "hierarchy": (*PARTS, "result_memory", "codec_chain", "sharding", "chunk_io"),
    # 7: built on arrays
    "writer": ARRAYS,
    "xarray_engine": (PUBLIC,),
    "dask_io": (PUBLIC,),
    "wkw": (*PARTS, "result_memory", "processors", "codec_chain", "sharding", "chunk_io", "hierarchy"),
    "volumes": (PUBLIC, "errors", "wkw"),
    "storage": ("stores",),
    # 8: the benchmark; its report reads saved results only
    "bench": (),
    "bench.errors": ("errors",),
    "bench.fields": (),
    "bench.inputs": (PUBLIC, "errors", "bench.errors", "bench.fields"),
    "bench.saved": ("bench.errors",),
    "bench.results": ("bench.saved",),
    "bench.stats": ("bench.errors", "bench.results"),
    "bench.measurements": ("bench.saved", "bench.results"),
    "bench.comparison": (),
    "bench.host": ("bench.results",),
    "bench.backends": (PUBLIC, "wkw", "bench.errors"),
    "bench.workloads": (PUBLIC, "bench.errors", "bench.comparison", "bench.backends"),
    "bench.cases": ("bench.inputs", "bench.results", "bench.backends"),
    "bench.gate": ("bench.backends",),
    "bench.verify": ("bench.comparison", "bench.backends", "bench.gate"),
    "bench.outcomes": ("bench.results", "bench.measurements"),
    "bench.scratch": ("bench.workloads",),
    "bench.settings": ("bench.errors", "bench.backends", "bench.cases"),
    "bench.room": ("bench.errors", "bench.host", "bench.inputs", "bench.cases"),
    "bench.resume": ("bench.errors", "bench.results", "bench.host", "bench.cases"),
    "bench.estimate": ("bench.fields", "bench.backends", "bench.cases", "bench.workloads"),
    "bench.runner": (
        "bench.errors",
        "bench.results",
        "bench.host",
        "bench.inputs",
        "bench.cases",
        "bench.backends",
        "bench.gate",
        "bench.verify",
        "bench.outcomes",
        "bench.scratch",
        "bench.workloads",
    ),
    "bench.layouts": (
        "bench.errors",
        "bench.fields",
        "bench.inputs",
        "bench.measurements",
        "bench.cases",
        "bench.backends",
        "bench.workloads",
    ),
    "bench.layout_room": ("bench.host", "bench.backends", "bench.layouts"),
    "bench.blank": ("bench.host", "bench.backends", "bench.measurements"),
    "bench.shared_array": ("bench.backends", "bench.verify", "bench.scratch", "bench.workloads"),
    "bench.thread_process": (
        "bench.saved",
        "bench.host",
        "bench.backends",
        "bench.verify",
        "bench.scratch",
        "bench.workloads",
    ),
    "bench.thread_runner": (
        "bench.measurements",
        "bench.blank",
        "bench.backends",
        "bench.gate",
        "bench.layout_room",
        "bench.outcomes",
        "bench.scratch",
        "bench.shared_array",
        "bench.layouts",
        "bench.runner",
        "bench.thread_process",
    ),
    "bench.layout_runner": (
        "bench.errors",
        "bench.comparison",
        "bench.measurements",
        "bench.host",
        "bench.blank",
        "bench.layout_room",
        "bench.shared_array",
        "bench.backends",
        "bench.gate",
        "bench.verify",
        "bench.outcomes",
        "bench.scratch",
        "bench.layouts",
        "bench.workloads",
        "bench.runner",
    ),
    "bench.compat": (PUBLIC, "bench.errors", "bench.saved", "bench.results", "bench.host", "bench.backends"),
    "bench.serving": (
        PUBLIC,
        "errors",
        "wkw",
        "volumes",
        "bench.errors",
        "bench.saved",
        "bench.results",
        "bench.host",
        "bench.fields",
        "bench.measurements",
        "bench.blank",
        "bench.scratch",
        "bench.serving.results",
        "bench.serving.peers",
    ),
    "bench.serving.results": ("bench.saved", "bench.results"),
    "bench.serving.peers": (PUBLIC, "errors", "wkw", "volumes", "serve", "bench.errors"),
    "bench.report": (
        "bench.errors",
        "bench.saved",
        "bench.results",
        "bench.measurements",
        "bench.stats",
        "bench.compat",
        "bench.serving.results",
    ),
    "serve": (PUBLIC, "errors", "ranges", "wkw", "volumes"),
    # 9: commands
    "cli": (PUBLIC, "errors", "wkw", "volumes", "bench", "serve"),
    "__main__": ("cli",),
    # the public names: all of the library, and nothing of the applications
    PUBLIC: (*ARRAYS, "storage", "writer"),
    "testing": (PUBLIC, *PARTS),
}
"""What each part may import besides itself. `fastzarr` stands for the public names in `__init__`;
`cli` may import every module of the parts it names."""


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or PUBLIC


MODULES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}


def part_of(module: str) -> str | None:
    """The longest entry of the table that is `module` or one of its parents."""
    parents = module.split(".")
    return next((p for n in range(len(parents), 0, -1) if (p := ".".join(parents[:n])) in MAY_IMPORT), None)


def internal(name: str) -> str | None:
    """The name in the table of an absolute import, or None where it is of another distribution."""
    if name == PUBLIC:
        return PUBLIC
    return name.removeprefix("fastzarr.") if name.startswith("fastzarr.") else None


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every internal import below `tree` with the module it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (name := internal(alias.name)) is not None:
                    yield node, name
        elif isinstance(node, ast.ImportFrom) and (name := internal(node.module or "")) is not None:
            for alias in node.names:
                below = alias.name if name == PUBLIC else f"{name}.{alias.name}"
                yield node, below if below in MODULES else name


def allowed(part: str, target: str) -> bool:
    target_part = part_of(target)
    if target_part is None:
        return False
    if part == "cli":
        return target_part.split(".")[0] in (*MAY_IMPORT[part], "cli")
    return target_part in (part, *MAY_IMPORT[part])


@pytest.mark.parametrize("module", sorted(MODULES))
def test_module_is_in_the_table_and_imports_point_down(module: str) -> None:
    part = part_of(module)
    assert part is not None, f"{module}: give it a line in MAY_IMPORT"
    wrong = [
        f"line {node.lineno}: {part} imports {target}"
        for node, target in imports(MODULES[module])
        if not allowed(part, target)
    ]
    assert not wrong, f"{module}: {'; '.join(wrong)}"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_internal_imports_are_absolute_and_at_module_level(module: str) -> None:
    tree = MODULES[module]
    relative = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]
    assert not relative, f"{module}: relative import at line {relative}"
    functions = [
        n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    deferred = [f"line {node.lineno}: {target}" for f in functions for node, target in imports(f)]
    assert not deferred, f"{module}: deferred internal import at {', '.join(deferred)}"


def test_no_import_cycle() -> None:
    graph = {module: {target for _, target in imports(tree)} - {module} for module, tree in MODULES.items()}
    graphlib.TopologicalSorter(graph).prepare()


def test_table_has_no_cycle() -> None:
    graphlib.TopologicalSorter(MAY_IMPORT).prepare()
