"""Which failure is answered with which status, and in which words."""

from __future__ import annotations

import errno
import json
import logging

from fastzarr import errors
from fastzarr.serve.http import JSON, Headers, HttpError, Response

log = logging.getLogger("fastzarr.serve")

ABSENT = (errors.NodeNotFoundError, errors.ChunkNotFoundError)
WRONG_REQUEST = (errors.SelectionError,)
BUSY = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


class ServerError(errors.ZarrError, OSError):
    """The server can not start, or its workers keep failing."""

    kind = "server"


class CatalogueError(errors.ZarrError, ValueError):
    """Nothing can be served: no datasets, or a list of them that is wrong."""

    kind = "catalogue"


def refusal(status: int, message: str, headers: Headers = (), *, request_id: str = "") -> Response:
    """An answer that says what is wrong, in the form webknossos's clients show."""
    body = json.dumps({"messages": [{"error": message}], "status": status, "request_id": request_id})
    return Response(status=status, body=body.encode(), media_type=JSON, headers=headers)


def answer_to(failure: BaseException, *, request_id: str, what: str, root: str = "") -> Response:
    """The answer to a request that failed; the log has what its body leaves out.

    Absent is 404, a wrong request 400, and all that could not be read 5xx: clients take 404 for the
    fill value. `what` is the request's line for the log; `root`, the directory served, is left out of
    messages.
    """
    if isinstance(failure, HttpError):
        return refusal(failure.status, failure.message, failure.headers, request_id=request_id)
    if isinstance(failure, ABSENT):
        return refusal(404, _words(failure, root), request_id=request_id)
    if isinstance(failure, WRONG_REQUEST):
        return refusal(400, _words(failure, root), request_id=request_id)
    if isinstance(failure, MemoryError) or (isinstance(failure, OSError) and failure.errno in BUSY):
        log.error("%s %s: %s: %s", request_id, what, type(failure).__name__, failure)
        return refusal(
            503, "out of memory or files; try again", (("Retry-After", "1"),), request_id=request_id
        )
    if isinstance(failure, errors.ZarrError):
        log.error("%s %s: %s", request_id, what, failure)
        link = isinstance(failure, errors.KeyNameError)  # whose words tell where it leads
        words = "a link leads out of the dataset" if link else _words(failure, root)
        return refusal(500, f"the stored data can't be read: {words}", request_id=request_id)
    if isinstance(failure, OSError):
        log.error("%s %s: %s", request_id, what, failure)
        reason = failure.strerror or type(failure).__name__
        return refusal(500, f"the stored data can't be read: {reason}", request_id=request_id)
    log.error("%s %s: unexpected", request_id, what, exc_info=failure)
    return refusal(500, f"unexpected failure; the log has it under {request_id}", request_id=request_id)


def _words(failure: BaseException, root: str) -> str:
    text = str(failure)
    return text.replace(f"{root}/", "").replace(root, ".") if root else text
