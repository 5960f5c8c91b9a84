"""Plots of the workloads over layouts: which panels answer which question."""

import re
from collections.abc import Iterable, Sequence
from functools import partial

from fastzarr.bench.measurements import Bundle
from fastzarr.bench.report import measured_panels as panels
from fastzarr.bench.report import measured_summary as summary
from fastzarr.bench.report import measured_words as words
from fastzarr.bench.report.plots import Panel, Plot
from fastzarr.bench.report.speedup import scalings
from fastzarr.bench.report.summary import SUBJECT

FEWEST_POINTS = 3
"""Sizes from which lines are drawn; fewer are a panel each."""


def plots(bundle: Bundle) -> list[Plot]:
    """The leads, then every topic; of `threads` the speed-up. What would be no plot is left out."""
    shown = [section for section in summary.sections(bundle) if section.cells]
    if bundle.workload == "threads":
        found = [_speedups(bundle, shown)]
    else:
        topics = dict.fromkeys(section.case.topic for section in shown)
        by_topic = {topic: [s for s in shown if s.case.topic == topic] for topic in topics}
        found = [_leads(bundle, shown), *(_topic(bundle, name, part) for name, part in by_topic.items())]
    return [plot for plot in found if plot.panels]


def _leads(bundle: Bundle, shown: Sequence[summary.Section]) -> Plot:
    by_operation = _by_operation(section for section in shown if section.lead)
    wraps = any("\n" in panels.lead_label(section) for section in shown)
    row = 0.28 if wraps else 0.17
    return Plot(
        name=f"{bundle.workload}-lead",
        title=f"{SUBJECT} against the best peer of each case",
        note="Right of 1× is ahead. The peer, named at the dot, is the fastest ranked library in that case "
        "and operation. Lines reach over the repeats; a hollow dot is a tie.",
        panels=tuple(
            Panel(
                title=f"{name}, × best peer",
                draw=partial(panels.lead, sections=part),
                height=0.9 + row * len(part),
            )
            for name, part in by_operation.items()
        ),
    )


def _topic(bundle: Bundle, topic: str, shown: Sequence[summary.Section]) -> Plot:
    slug = re.sub(r"[^a-z0-9]+", "-", topic.lower()).strip("-")
    return Plot(
        name=slug if slug.startswith(bundle.workload) else f"{bundle.workload}-{slug}",
        title=topic.capitalize(),
        note="Medians. Of MiB/s more is better, of µs less. Curves have logarithmic axes. Hollow: unranked.",
        panels=tuple(_panels(shown)),
    )


def _panels(shown: Sequence[summary.Section]) -> Iterable[Panel]:
    for operation, part in _by_operation(shown).items():
        by_codec: dict[str, list[summary.Section]] = {}
        for section in part:
            by_codec.setdefault(words.codec_text(section.case), []).append(section)
        for codec, sections in by_codec.items():
            sizes = len({section.case.chunk_bytes for section in sections})
            counts = len({section.case.chunk_count for section in sections})
            if max(sizes, counts) >= FEWEST_POINTS:
                draw = partial(panels.against, sections=sections, by_count=sizes < counts)
                yield Panel(title=f"{codec}: {operation}, {panels.unit(sections)}", draw=draw)
                continue
            for section in sections:
                title = f"{section.label}\n{operation}, {panels.unit([section])}"
                yield Panel(title=title, draw=partial(panels.ranking, section=section))


def _speedups(bundle: Bundle, shown: Sequence[summary.Section]) -> Plot:
    cores = len(bundle.host.affinity)
    return Plot(
        name="threads-speedup",
        title="Speed-up with the number of threads",
        note="Speed over that with the fewest threads. The dotted line is one more for each thread, up to "
        f"the {cores} core{'' if cores == 1 else 's'} the processes might use.",
        panels=tuple(
            Panel(
                title=f"{scaling.label}: {scaling.operation.name}",
                draw=partial(panels.speedup, scaling=scaling, cores=cores),
            )
            for scaling in scalings(shown)
        ),
    )


def _by_operation(shown: Iterable[summary.Section]) -> dict[str, list[summary.Section]]:
    found: dict[str, list[summary.Section]] = {}
    for section in shown:
        found.setdefault(section.operation.name, []).append(section)
    return found
