"""Reads a dataset from a server's data API with the package webknossos, in an environment that has it.

    python read_with_webknossos.py SERVER DATASET PROPERTIES OUT

The package asks webknossos itself which data store has a dataset, and then that store. The former, which
isn't here, is stood in for by the few answers that the package needs; the data come from `SERVER`. What was
read is saved in `OUT`.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import numpy as np
import webknossos


def answers(store: str, dataset: str, properties: dict[str, Any]) -> dict[str, Any]:
    """What webknossos says of itself and the dataset."""
    data_store = {
        "name": "local",
        "url": store,
        "allowsUpload": False,
        "isScratch": False,
        "isConnector": False,
        "jobsEnabled": False,
        "jobsSupportedByAvailableWorkers": [],
    }
    described = {
        "id": dataset,
        "name": dataset,
        "directoryName": dataset,
        "dataSource": properties,
        "dataStore": data_store,
        "owningOrganization": "org",
        "folderId": "1" * 24,
        "description": None,
        "publication": None,
        "allowedTeams": [],
        "allowedTeamsCumulative": [],
        "metadata": [],
        "tags": [],
        "isActive": True,
        "isPublic": True,
        "isEditable": False,
        "isUnreported": False,
        "created": 0,
        "lastUsedByUser": 0,
        "sortingKey": 0,
        "usedStorageBytes": 0,
    }
    build = {
        "webknossos": {
            "name": "webknossos",
            "version": "25.10",
            "commitHash": "",
            "scalaVersion": "",
            "sbtVersion": "",
            "datastoreApiVersion": "15.0",
        },
        "httpApiVersioning": {"currentApiVersion": 16, "oldestSupportedApiVersion": 5},
        "localDataStoreEnabled": True,
        "localTracingStoreEnabled": True,
    }
    return {"buildinfo": build, dataset: described}


def stand_in(known: dict[str, Any]) -> ThreadingHTTPServer:
    """A server that answers by the last segment of the path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = known.get(self.path.split("?")[0].rpartition("/")[2])
            body = json.dumps(found or {}).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


def main(store: str, dataset: str, properties: str, out: str) -> None:
    described = json.loads(Path(properties).read_text())
    front = stand_in(answers(store, dataset, described))
    url = f"http://127.0.0.1:{front.server_port}"
    with webknossos.webknossos_context(url, "token"), TemporaryDirectory() as place:
        remote = webknossos.RemoteDataset.open(dataset_id=dataset)
        mags = [webknossos.Mag(mag) for mag in ("1", "2-2-1")]
        streamed = {f"streamed {mag}": remote.get_layer("grey").get_mag(mag).read() for mag in mags}
        local = webknossos.Dataset.download(
            f"{url}/datasets/{dataset}-{dataset}", path=Path(place) / "d", layers=["grey"], mags=mags[1:]
        )
        downloaded = {"downloaded 2-2-1": local.get_layer("grey").get_mag("2-2-1").read()}
    np.savez(out, **streamed, **downloaded)


if __name__ == "__main__":
    main(*sys.argv[1:])
