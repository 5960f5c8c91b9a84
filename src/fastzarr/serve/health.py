"""What the server says of itself."""

from fastzarr.serve.http import JSON, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site


def health(site: Site, request: Request) -> Response:
    """Always well, or there is no answer."""
    return Response(body=b'{"status":"ok"}', media_type=JSON, headers=(("Cache-Control", "no-store"),))


def metrics(site: Site, request: Request) -> Response:
    """For Prometheus."""
    text, media_type = site.metrics.text()
    return Response(body=text, media_type=media_type, headers=(("Cache-Control", "no-store"),))


ROUTES = (
    Route(method="GET", pattern="/data/health", handler=health, public=True),
    Route(method="GET", pattern="/metrics", handler=metrics, heavy=True),
)
