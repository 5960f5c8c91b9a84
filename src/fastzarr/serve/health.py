"""Whether the server answers."""

from fastzarr.serve.http import JSON, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site


def health(site: Site, request: Request) -> Response:
    """Always well, or there is no answer."""
    return Response(body=b'{"status":"ok"}', media_type=JSON, headers=(("Cache-Control", "no-store"),))


ROUTES = (Route(method="GET", pattern="/data/health", handler=health, public=True),)
