"""The table of public reports names tests that exist, some for every report, and no test is left out."""

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
ROWS = [
    line.strip("|").split("|") for line in (HERE / "README.md").read_text().splitlines() if line[:3] != "|--"
]
TESTS = {
    int(cells[0]): re.findall(r"`([\w./]+)::(\w+)`", cells[-1])
    for cells in ROWS
    if len(cells) == 4 and cells[0].strip().isdigit()
}


def functions_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_report_has_tests_that_exist() -> None:
    assert list(TESTS) == list(range(1, 1 + max(75, len(TESTS))))
    assert [number for number, tests in TESTS.items() if not tests] == []
    missing = [
        f"{file}::{test}"
        for tests in TESTS.values()
        for file, test in tests
        if not (HERE / file).exists() or test not in functions_in(HERE / file)
    ]
    assert missing == []


def test_every_test_here_is_of_a_report() -> None:
    named = {(file, test) for tests in TESTS.values() for file, test in tests}
    here = {
        (path.name, test)
        for path in HERE.glob("test_*.py")
        if path.name != Path(__file__).name
        for test in functions_in(path)
        if test.startswith("test_")
    }
    assert here - named == set()
