"""A program of the command protocol that keeps the values as they are, with one fault: its argument."""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

fault = sys.argv[1]


def write(case: dict[str, Any], directory: Path, file: Path) -> dict[str, Any]:
    if fault == "writes nothing":
        return {"status": "ok"}
    codec = "gzip" if fault == "writes another codec" else case["codec"]
    chunk_shape = case["shard_shape"] or case["chunk_shape"]
    codecs: list[Any] = ["bytes", *([] if codec == "none" else [{"name": codec}])]
    if case["shard_shape"] and fault != "writes no shards":
        codecs = [{"name": "sharding_indexed", "configuration": {"codecs": codecs}}]
    document = json.dumps({"chunk_grid": {"configuration": {"chunk_shape": chunk_shape}}, "codecs": codecs})
    directory.mkdir()
    (directory / "zarr.json").write_text("{" if fault == "writes half a document" else document)
    shutil.copyfile(file, directory / "values")
    return {"status": "ok"}


def read(case: dict[str, Any], directory: Path, file: Path) -> dict[str, Any]:
    content = (directory / "values").read_bytes()
    if fault == "loses the sign of zero":
        content = content.replace(b"\0\0\0\x80", b"\0\0\0\0")
    elif fault == "reads too few":
        content = content[4:]
    if fault != "leaves no file":
        file.write_bytes(content)
    return {"status": "ok", "shape": case["shape"][::-1] if fault == "turns axes" else case["shape"]}


def answer(request: dict[str, Any]) -> str:
    if request["operation"] == "describe":
        if fault == "not available":
            return json.dumps({"status": "not_available", "message": "the moon is wrong"})
        return json.dumps({"status": "ok", "version": "1.0", "writes": True, "reads": True})
    if fault == "crashes":
        print("last words", file=sys.stderr)
        sys.stderr.flush()
        os.abort()
    if fault == "leaves":
        sys.exit(3)
    if fault == "hangs":
        time.sleep(60)
    if fault == "babbles":
        return "Loading data ..."
    if fault == "answers a list":
        return "[]"
    if fault == "cannot":
        return json.dumps({"status": "unsupported", "message": "no float32"})
    if fault == "fails":
        return json.dumps({"status": "failed", "message": "ValueError: two\nlines"})
    operation = write if request["operation"] == "write" else read
    return json.dumps(operation(request["case"], Path(request["directory"]), Path(request["file"])))


for line in sys.stdin:
    print(answer(json.loads(line)), flush=True)
