"""Pages are made of templates that escape what they show, and refuse names they do not know."""

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """What renders the templates of the reports."""
    return Environment(
        loader=PackageLoader("fastzarr.bench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
