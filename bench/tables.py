"""Results as tables. In: the content of bench.json; out: lines of text for a terminal, or Markdown.

A cell of a peer is its time and, in brackets, how many times as long as our engine from Rust it takes.
"""

from __future__ import annotations

from typing import Any

from floors import MODULE_FLOORS, times_of

Table = tuple[str, list[str], list[list[str]]]
"""A title, the heads of the columns, the rows."""


def microseconds(seconds: float) -> str:
    """Three digits, without exponents."""
    value = seconds * 1e6
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def factor(ratio: float) -> str:
    """Two digits or whole numbers."""
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x" if ratio >= 1 else f"{ratio:.2f}x"


def power(lanes: int) -> str:
    """10^4 for 10000."""
    digits = str(lanes)
    return f"10^{len(digits) - 1}" if lanes >= 1000 and digits.strip("0") == "1" else digits


def batches(section: dict[str, Any]) -> list[Table]:
    """One table for each number of threads, type, kind of result and size of batch."""
    names = list(section["labels"])
    reference = "ours_rust" if "ours_rust" in names else names[0]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in section["records"]:
        groups.setdefault((record["threads"], record["dtype"], record["gradient"], record["lanes"]), []).append(record)
    tables = []
    for (threads, dtype, gradient, lanes), records in groups.items():
        what, many = "value and gradient" if gradient else "value", "s" if threads > 1 else ""
        title = f"{what}, batch {power(lanes)}, {dtype}, {threads} thread{many}, µs per call"
        rows = []
        for record in records:
            times = times_of(record)
            base = times.get(reference)
            cells = []
            for name in names:
                if name not in times:
                    cell = record.get("contenders", {}).get(name, {})
                    cells.append("WRONG" if "wrong" in cell else "failed" if "failed" in cell else "-")
                elif name == reference or base is None:
                    cells.append(microseconds(times[name]))
                else:
                    cells.append(f"{microseconds(times[name])} ({factor(times[name] / base)})")
            rows.append([record["program"], *cells])
        tables.append((title, ["program", *section["labels"].values()], rows))
    return tables


def fits(section: dict[str, Any]) -> list[Table]:
    """One table for each number of threads: seconds of a whole fit, and how many times as long as ours it takes."""
    names = list(section["labels"])
    tables = []
    for threads in sorted({record["threads"] for record in section["records"]}):
        rows = []
        for record in (r for r in section["records"] if r["threads"] == threads):
            times, said = times_of(record), record["contenders"]
            cell = lambda n: f"{times[n]:.4g} ({factor(times[n] / times['ours'])})" + (f", {said[n]['off']}" if "off" in said[n] else "")
            rows.append(
                [
                    record["program"],
                    *(cell(n) if n in times and "ours" in times else "failed" if "failed" in said.get(n, {}) else "-" for n in names),
                ]
            )
        tables.append((f"fits, {threads} thread{'s' if threads > 1 else ''}, seconds", ["fit", *section["labels"].values()], rows))
    return tables


def ensembles(section: dict[str, Any]) -> list[Table]:
    """Seconds of all trajectories, how many times as long as ours that is, and the tolerance and error behind it."""
    tables = []
    for record in section["records"]:
        times, rows = times_of(record), []
        for name, said in record["contenders"].items():
            if name not in times:
                rows.append([section["labels"].get(name, name), said.get("failed", "-"), "-", "-", "-"])
                continue
            ratio = factor(times[name] / times["ours"]) if "ours" in times else "-"
            rows.append([section["labels"][name], f"{times[name]:.4g}", ratio, f"{said['tolerance']:.1e}", f"{said['error']:.1e}"])
        title = f"{record['lanes']} trajectories, {record['program']}, {record['threads']} thread{'s' if record['threads'] > 1 else ''}"
        tables.append((title, ["contender", "seconds", "over ours", "tolerance", "largest error"], rows))
    return tables


def module(section: dict[str, Any]) -> list[Table]:
    """Our module beside eager PyTorch: its share of the time, the share allowed, and both less a Function that computes nothing."""
    tables = []
    for floor in MODULE_FLOORS:
        limit, rows = 1 / floor.needed, []
        for record in (r for r in section["records"] if (r["lanes"], r["gradient"]) == (floor.lanes, floor.gradient)):
            times = times_of(record)
            if "module" not in times or "eager" not in times:
                continue
            ours, eager, empty = times["module"], times["eager"], times.get("empty_function")
            over = ["-"] * 3 if empty is None else [microseconds(empty), microseconds(ours - empty), microseconds(limit * eager - empty)]
            rows.append(
                [
                    record["program"],
                    microseconds(ours),
                    microseconds(eager),
                    f"{ours / eager:.2f}",
                    "met" if ours <= limit * eager else "MISSED",
                    *over,
                ]
            )
        what = "forward and backward" if floor.gradient else "value"
        head = [
            "program",
            "ours",
            "torch eager",
            f"ours / eager (at most {limit:.2f})",
            "result",
            "empty Function",
            "ours over empty",
            "allowed over empty",
        ]
        tables.append((f"module, {what}, batch {power(floor.lanes or 0)}, one thread, µs per call", head, rows))
    return [t for t in [*tables, *linear(section)] if t[2]]


def linear(section: dict[str, Any]) -> list[Table]:
    """Linear algebra: our module beside PyTorch by hand, eager and compiled."""
    groups: dict[tuple[Any, ...], list[list[str]]] = {}
    for record in (r for r in section["records"] if r.get("linear")):
        times = times_of(record)
        said = lambda n: "WRONG" if "wrong" in record["contenders"].get(n, {}) else "failed"
        cells = [microseconds(times[n]) if n in times else said(n) for n in ("module", "eager", "compile")]
        ratios = [f"{times['module'] / times[n]:.2f}" if {n, "module"} <= times.keys() else "-" for n in ("eager", "compile")]
        groups.setdefault((record["threads"], record["dtype"], record["gradient"]), []).append(
            [record["program"], str(record["lanes"]), *cells, *ratios]
        )
    head = ["operation", "lanes", "ours", "torch eager", "torch.compile", "ours / eager (at most 1)", "ours / torch.compile (at most 1)"]
    title = lambda t, d, g: (
        f"linear algebra, {'forward and backward' if g else 'value'}, {d}, {t} thread{'s' if t > 1 else ''}, µs per call"
    )
    return [(title(*key), head, rows) for key, rows in groups.items()]


def hybrid(section: dict[str, Any]) -> list[Table]:
    """A training step of the paper's patterns: ours beside physics by hand."""
    rows = []
    for record in section["records"]:
        times = times_of(record)
        if "module" not in times or "eager" not in times:
            rows.append([record["program"], power(record["lanes"]), "WRONG", "-", "-", "-"])
            continue
        ours, eager = times["module"], times["eager"]
        rows.append(
            [
                record["program"],
                power(record["lanes"]),
                microseconds(ours),
                microseconds(eager),
                f"{ours / eager:.3f}",
                "met" if ours <= eager else "MISSED",
            ]
        )
    head = ["pattern", "samples", "ours", "physics by hand", "ours / by hand (at most 1)", "result"]
    return [("training step of hybrid models, one thread, µs per step", head, rows)]


def scaling(section: dict[str, Any]) -> list[Table]:
    """Nanoseconds per lane by size of batch, the largest over the smallest, and the native loop at the largest batch: where both grow
    alike, memory is what is waited for."""
    rows: dict[tuple[Any, ...], dict[str, dict[int, float]]] = {}
    for record in section["records"]:
        kind = (record["program"], "value and gradient" if record["gradient"] else "value", record["dtype"], record["threads"])
        for name, found in record["contenders"].items():
            if "best" in found:
                rows.setdefault(kind, {}).setdefault(name, {})[record["lanes"]] = found["best"] / record["lanes"] * 1e9
    sizes = sorted({lanes for costs in rows.values() for lanes in costs.get("ours_rust", {})})
    lines = []
    for kind, costs in rows.items():
        ours, native = costs.get("ours_rust", {}), costs.get("native", {})
        if not ours:
            continue
        largest = max(ours)
        beside = f"{native[largest]:.3g}" if largest in native else "-"
        lines.append(
            [
                *map(str, kind),
                *(f"{ours[n]:.3g}" if n in ours else "-" for n in sizes),
                f"{max(ours.values()) / min(ours.values()):.2f}",
                beside,
            ]
        )
    head = ["program", "what", "type", "threads", *map(power, sizes), "largest / smallest", "native loop at the largest"]
    return [("cost per lane by size of batch, ns, ours (Rust)", head, lines)]


def case(verdict: dict[str, Any], floor: str) -> str:
    """A program, and what of it is not said by the promise."""
    gradient = (
        " gradient" if verdict["gradient"] and "gradients" not in floor and "backward" not in floor and "training" not in floor else ""
    )
    size = f" at {power(verdict['lanes'])}" if verdict.get("lanes") else ""
    return f"{verdict['program']}{size}{gradient}{' f64' if verdict.get('dtype') == 'float64' else ''}"


def floors(verdicts: list[dict[str, Any]]) -> Table:
    """For each promise how many programs keep it, and which do not with the ratio seen."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict["floor"], verdict["ours"]), []).append(verdict)
    rows = []
    for (floor, ours), group in groups.items():
        missed = sorted((v for v in group if not v["met"]), key=lambda v: v["ratio"])
        shown = ", ".join(f"{case(v, floor)} {v['ratio']:.2f}" for v in missed)
        status = f"met, {len(group)} of {len(group)}" if not missed else f"MISSED, {len(group) - len(missed)} of {len(group)} met"
        needed = f"{group[0]['needed']:.2f}"
        rows.append([floor, "Rust" if ours == "ours_rust" else "Python", needed, status, shown])
    return (
        "floors (one thread and f32 unless they say otherwise)",
        ["floor", "called from", "ratio needed", "result", "misses with the ratio seen"],
        rows,
    )


def text(table: Table) -> str:
    """For a terminal."""
    title, heads, rows = table
    widths = [max(len(str(line[i])) for line in [heads, *rows]) for i in range(len(heads))]
    # The first column names a row; the last of the promises is prose.
    left = {0} | ({len(heads) - 1} if heads[0] == "floor" else set())
    lines = [
        "  ".join(f"{cell:<{w}}" if i in left else f"{cell:>{w}}" for i, (cell, w) in enumerate(zip(line, widths))).rstrip()
        for line in [heads, *rows]
    ]
    return "\n".join([title, "-" * len(title), *lines, ""])


def markdown(table: Table) -> str:
    """For a page."""
    title, heads, rows = table
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join([f"### {title[0].upper()}{title[1:]}", "", *("| " + " | ".join(line) + " |" for line in lines), ""])
