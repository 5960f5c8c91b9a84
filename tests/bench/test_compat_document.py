"""The document of the compatibility matrix is the saved run's, and what it claims is in it."""

import re
from pathlib import Path

from fastzarr.bench import report
from fastzarr.bench.compat import cases, causes, results, tally

ROOT = Path(__file__).parents[2]
SAVED = results.load(ROOT / "docs" / "results" / "compat.json")


def test_document_is_made_from_the_saved_run() -> None:
    text = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert text == report.markdown(SAVED)


def test_the_saved_run_is_of_every_case() -> None:
    assert SAVED.cases == cases.cases(cases.FORMATS, cases.CODECS)


def test_every_failure_has_a_cause_and_none_is_of_fastzarr() -> None:
    view = tally.overview(SAVED)
    assert view.unexplained == ()
    shown = {failure.cause for failure in view.failures}
    assert shown == set(causes.CAUSES), "a cause without a failure, or the other way round"
    assert "fastzarr" not in {known.at_fault for known in causes.CAUSES}
    assert view.written["fastzarr"] == len(SAVED.cases)
    assert view.pair("fastzarr", "fastzarr").total.passed == len(SAVED.cases)


def test_fastzarr_reads_all_that_was_written_rightly() -> None:
    """Whatever fastzarr fails to read is the fault of who wrote it."""
    failed = [c for c in SAVED.cells() if c.reader == "fastzarr" and c.status in results.FAILURES]
    assert failed
    assert all((known := causes.cause(cell)) is not None and known.as_writer for cell in failed)
    assert not [c for c in SAVED.cells() if c.reader == "fastzarr" and c.status == "read_fail"]


def test_readme_counts_who_takes_part() -> None:
    view = tally.overview(SAVED)
    counts = re.search(r"(\w+) writers, (\w+) readers", (ROOT / "README.md").read_text(encoding="utf-8"))
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    assert counts is not None
    assert counts.groups() == (names[len(view.written)], names[len(view.readers)])


def test_references_are_addresses_of_threads() -> None:
    for known in causes.CAUSES:
        for reference in known.references:
            assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+", reference)
