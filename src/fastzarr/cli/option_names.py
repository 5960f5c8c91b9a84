"""Messages of the library with the options of a command where they name arguments of Python."""

import re
from collections.abc import Mapping

import click

_KEY = re.compile(r"((?:options: |format: |- )?)([a-z_]+)(?=: )")
_ARGUMENT = re.compile(
    r"(?P<before>^(?=overwrite|resume)|(?:or )?(?:choose |give )(?:another |an )?|or (?:another )?)"
    r"(?P<name>[a-z]+(?:_[a-z]+)*)(?: '(?P<value>\w+)')?(?: it)?(?=[\s,]|$)"
)


def of_command(command: click.Command) -> dict[str, str]:
    """What the command line calls each argument: `--voxel-size`, or `DST` as in its usage."""
    return {
        param.name: param.opts[0] if isinstance(param, click.Option) else param.metavar or param.name.upper()
        for param in command.params
        if param.name is not None
    }


def told(message: str, names: Mapping[str, str]) -> str:
    """`message` with `names`: for the key that a line begins with, and those that its remedy speaks of.

    Keys of documents keep their names, and so does all that is found or expected.
    """
    head, *problems = message.split("\n")
    if head.startswith(("options: ", "format: ")) or ": resume: " in head:
        problems = [_remedied(_keyed(problem, names), names) for problem in problems]
    return "\n".join([_remedied(_keyed(head, names), names), *problems])


def _keyed(line: str, names: Mapping[str, str]) -> str:
    found = _KEY.match(line)
    return line if found is None else found[1] + names.get(found[2], found[2]) + line[found.end() :]


def _remedied(line: str, names: Mapping[str, str]) -> str:
    """The part behind a semicolon is the remedy; a problem may be nothing else."""
    before, mark, remedy = line.rpartition("; ")
    if not mark:
        before, mark, remedy = line.partition("- ") if line.startswith("- overwrite ") else (line, "", "")
    return before + mark + _ARGUMENT.sub(lambda found: _named(found, names), remedy)


def _named(found: re.Match[str], names: Mapping[str, str]) -> str:
    name = names.get(found["name"])
    if name is None:
        return found[0]
    return found["before"] + name + (f" {found['value']}" if found["value"] else "")
