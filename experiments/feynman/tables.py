"""What the Feynman records say: the paper's table, its other settings, sample efficiency, the safe domain, cost."""

from __future__ import annotations

import statistics

from ..common.report import Records, Report, cost_table
from ..common.tables import Table, cell, percent, sci
from .equations import EQUATIONS, PRINTED

SAMPLES = (10, 50, 100, 500, 1_000, 5_000, 10_000)
SETTINGS = {
    "S": "as stated: 3,000 epochs, 10,000 fresh samples, 2 % noise",
    "R": "as released: 5,000 epochs, 1,024 fresh samples, 1 % noise",
}
OURS = ("Gauss-Newton", "native fit")


def report(records: Records, quick: bool) -> Report:
    result = Report()
    for setting, title in SETTINGS.items():
        _errors(result, records, setting, title)
    _constants(result, records)
    _printed(result, records)
    _efficiency(result, records)
    _domain(result, records)
    for name in ("Planck", "Gravity", "Barometric"):
        cost_table(result, records.first("cost", name), f"Cost of an epoch of 10,000 samples: {name}", f"{name}.")
    _identity(result, records)
    _claims(result, records, quick)
    return result


def _errors(result: Report, records: Records, setting: str, title: str) -> None:
    table = Table(
        f"Errors, {title}",
        (
            "equation",
            "constants",
            "in-distribution: compiled = hand-coded",
            "MLP",
            "5x: compiled = hand-coded",
            "MLP",
            "5x, share safe",
            "error of the worst constant",
            "seeds (MLP)",
        ),
        text="Mean squared errors on 10,000 clean samples; 5x on the part where the equation has a value. Cells: median over seeds "
        "[least … greatest] / paper.",
    )
    for e in EQUATIONS:
        physics, net = records.of(setting, f"compiled: {e.name}"), records.of(setting, f"MLP: {e.name}")
        if not physics:
            continue
        inside, mlp_inside, outside, mlp_outside, error = e.paper
        table.add(
            e.name,
            str(len(e.true)),
            cell([r["in"] for r in physics], sci, inside),
            cell([r["in"] for r in net], sci, mlp_inside),
            cell([r["out"] for r in physics], sci, outside),
            cell([r["out"] for r in net], sci, mlp_outside),
            percent(physics[0]["out_safe"]),
            cell([r["error"] for r in physics], percent, error),
            f"{len(physics)} ({len(net)})",
        )
    if table.rows:
        result.tables.append(table)


def _constants(result: Report, records: Records) -> None:
    table = Table(
        "Error of the worst constant, every way of finding it",
        (
            "equation",
            "Adam, stated (S)",
            "native, S",
            "Adam, released (R)",
            "Gauss-Newton, S (ours)",
            "native fit, 100,000 samples (ours)",
            "paper",
            "seeds S, R, ours",
        ),
        text="Gauss-Newton uses the samples the paper uses (all epochs' samples, once), 2 % noise; the native fit one table of 100,000 "
        "of them.",
    )
    for e in EQUATIONS:

        def errors(setting: str, row: str) -> list[float]:
            return [r["error"] for r in records.of(setting, f"{row}: {e.name}")]

        columns = [
            errors("S", "compiled"),
            errors("S", "compiled, native"),
            errors("R", "compiled"),
            errors("S", "Gauss-Newton"),
            errors("S", "native fit"),
        ]
        if any(columns):
            counts = ", ".join(str(len(columns[i])) for i in (0, 2, 3))
            table.add(e.name, *(cell(c, percent) for c in columns), e.paper[4], counts)
    result.tables.append(table)


def _printed(result: Report, records: Records) -> None:
    table = Table(
        "The programs of the paper's appendix where they differ from the released ones (settings S)",
        ("equation", "constants", "in-distribution", "error of the worst constant", "paper", "seeds"),
        text="Ranges are ours, the paper gives none. With m and kB both free only m/kB is determined by the data.",
    )
    for e in PRINTED:
        found = records.of("P", f"compiled: {e.name}")
        if found:
            paper = next(x.paper[4] for x in EQUATIONS if x.name == e.name)
            table.add(
                f"{e.name} `{e.source}`",
                ", ".join(e.true),
                cell([r["in"] for r in found]),
                cell([r["error"] for r in found], percent),
                paper,
                str(len(found)),
            )
    if table.rows:
        result.tables.append(table)


def _efficiency(result: Report, records: Records) -> None:
    table = Table(
        "Sample efficiency: heat conduction, noise-free",
        ("samples", "compiled, in-distribution", "MLP", "compiled, 5x", "MLP, 5x", "seeds"),
    )
    for samples in SAMPLES:
        ours, net = records.of("samples", f"compiled, native: {samples}"), records.of("samples", f"MLP: {samples}")
        if ours:
            cells = [cell([r[k] for r in found]) for k in ("in", "out") for found in (ours, net)]
            table.add(f"{samples:,}", *cells, str(len(ours)))
    if table.rows:
        result.tables.append(table)


def _domain(result: Report, records: Records) -> None:
    record = records.first("domain", "domain")
    if record is None:
        return
    table = Table(
        "The safe domain of ranges five times as wide, as `explain_domain` says",
        ("equation", "trained ranges", "5x ranges", "samples with a value"),
        text="Nothing said is a proof that nothing leaves the domain. Errors on 5x ranges above are over the samples with a value.",
    )
    left = 0
    for name, found in record["domains"].items():
        said = ["; ".join(found[k]).replace("|", "\\|") or "proved safe" for k in ("in", "out")]
        left += bool(found["out"])
        table.add(name, *said, percent(found["safe"]))
    result.tables.append(table)
    result.numbers["domains_left_in_range"] = sum(bool(f["in"]) for f in record["domains"].values())
    result.numbers["domains_left_5x"] = left
    result.claim(
        "The 5x extrapolation is evaluated on the safe domain.",
        left == 0,
        f"the 5x ranges of {left} of 15 equations may leave it: divisors through 0, roots of negative numbers",
    )


def _identity(result: Report, records: Records) -> None:
    same = shared = 0
    for setting in ("S", "R", "P"):
        for row in records.rows(setting):
            if row.startswith("compiled: "):
                a, b = records.same_digests(setting, row, row.replace("compiled", "hand-coded"))
                same, shared = same + a, shared + b
    if shared:
        result.numbers["identical"] = same == shared
        result.claim(
            "Compiled and hand-coded are numerically identical for all equations.",
            same == shared,
            f"the same bits in loss, gradients and parameters after every epoch in {same} of {shared} pairs of runs",
        )
    gaps = [
        abs(r["constants"][n] / t["constants"][n] - 1)
        for s in ("S", "R")
        for e in EQUATIONS
        for r, t in zip(records.of(s, f"compiled, native: {e.name}"), records.of(s, f"compiled: {e.name}"))
        for n in r["constants"]
    ]
    if gaps:
        result.numbers["native_beside_torch"] = max(gaps)


def recovered(records: Records, setting: str, row: str) -> int:
    found = [records.median(setting, f"{row}: {e.name}", "error") for e in EQUATIONS]
    return sum(v is not None and v < 0.01 for v in found)


def _claims(result: Report, records: Records, quick: bool) -> None:
    counts = {
        f"{row}, {setting}": recovered(records, setting, row)
        for setting in ("S", "R")
        for row in ("compiled", *OURS)
        if records.of(setting, f"{row}: Planck")
    }
    for name, value in counts.items():
        result.numbers[f"recovered.{name}"] = value
    result.numbers["worst_error.Gauss-Newton"] = max(
        (records.median("S", f"Gauss-Newton: {e.name}", "error") or 0 for e in EQUATIONS), default=None
    )
    result.numbers["worst_error.native fit"] = max(
        (v for e in EQUATIONS if (v := records.median("S", f"native fit: {e.name}", "error")) is not None), default=None
    )
    if quick:
        return
    result.claim(
        "13 of 15 equations recover their constants to below 1 % (as stated).",
        counts.get("compiled, S", 0) >= 13,
        f"{counts.get('compiled, S')} of 15 with the stated settings, {counts.get('compiled, R')} of 15 with the released ones, "
        f"{counts.get('Gauss-Newton, S')} of 15 by Gauss-Newton (ours)",
    )
    ratios = []
    for e in EQUATIONS:
        net, ours = (records.median("R", f"{row}: {e.name}", "in") for row in ("MLP", "compiled"))
        if net is not None and ours:
            ratios.append(net / ours)
    if ratios:
        seen = statistics.median(ratios)
        result.claim(
            "The median improvement over the MLP in distribution is 4,463x.",
            seen >= 4463,
            f"{seen:,.0f}x (median over {len(ratios)} equations, settings R)",
        )
    lower = [
        e.name
        for e in EQUATIONS[:13]
        if (records.median("S", f"Gauss-Newton: {e.name}", "error") or 1) <= float(e.paper[4].rstrip(" %>")) / 100 + 5e-6
    ]
    result.claim(
        "Recovery by our second-order fit is no worse than the paper's figure in every row.",
        len(lower) == 13,
        f"{len(lower)} of the 13 rows with a figure; others: {', '.join(e.name for e in EQUATIONS[:13] if e.name not in lower) or 'none'}",
    )
