"""Why rows of the workloads over layouts are not ranked, or what else there is to say of them."""

from dataclasses import dataclass

from fastzarr.bench.measurements import Bundle


@dataclass(frozen=True, kw_only=True)
class Remark:
    """What rows with one status say, or a remark of rows that are `ok`."""

    backends: tuple[str, ...]
    """All with that status and reason."""
    status: str
    """As saved."""
    reason: str
    """As the run kept it."""
    where: tuple[tuple[str, str], ...]
    """Case and operation of each, once."""
    everywhere: bool
    """Whether the backends have no other row in the run."""

    @property
    def text(self) -> str:
        """Who, what and why."""
        status = {"ok": "", "unequal": "not ranked: "}.get(self.status, f"{self.status}: ")
        return f"{', '.join(self.backends)}: {status}{self.reason}"


def remarks_of(bundle: Bundle) -> list[Remark]:
    """Every reason that rows have; what is the same is told once."""
    where: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    rows: dict[str, int] = {}
    told: dict[tuple[str, str, str], int] = {}
    for row in bundle.rows:
        rows[row.backend] = rows.get(row.backend, 0) + 1
        if row.status != "ok" or row.reason:
            key = (row.backend, row.status, row.reason or "no reason kept")
            where.setdefault(key, []).append((row.case, row.operation))
            told[key] = told.get(key, 0) + 1
    together: dict[tuple[str, str, tuple[tuple[str, str], ...], bool], list[str]] = {}
    for (backend, status, reason), places in where.items():
        everywhere = told[backend, status, reason] == rows[backend]
        same = (status, reason, () if everywhere else tuple(dict.fromkeys(places)), everywhere)
        together.setdefault(same, []).append(backend)
    return [
        Remark(backends=tuple(names), status=status, reason=reason, where=places, everywhere=everywhere)
        for (status, reason, places, everywhere), names in together.items()
    ]
