"""The page of what was found. In: the lines of run.py; out: Markdown."""

from __future__ import annotations

from collections import defaultdict

HEAD = """# What is found from data

Made by `python bench/discover/run.py --out found.jsonl report docs/discovery.md`; how each figure comes about stands at the head of
`bench/discover/run.py`. {machine}

`neuralc refine` with its built-in proposers beside others in the same run. PySINDy: polynomials to the third degree, smoothed differences,
the best of three thresholds by the data seen. Operon and gplearn: {peers} s each, columns scaled to their largest size; they cannot be
fitted again, so that at noise a median error of half the noise counts as found.
"""


def share(items: list[dict], name: str) -> str:
    found = [i["found"][name] for i in items if name in i["found"]]
    right = sum(f["right"] for f in found)
    return f"{right} of {len(found)} ({100 * right / len(found):.0f} %)" if found else ""


def text(lines: list[dict], laws: dict, odes: dict, machine: str = "", peers: int = 10) -> str:
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for line in {(li["what"], li["noise"], str(li["id"])): li for li in lines}.values():
        groups[line["what"], line["noise"]].append(line)
    out = [HEAD.format(machine=machine, peers=peers)]
    for what, title, names, source in (
        ("odes", "Differential equations: right from the other start", ("neuralc", "PySINDy"), odes["source"]),
        ("laws", "Laws: the true form", ("neuralc", "Operon", "gplearn"), laws["source"]),
    ):
        out += [f"\n## {title}\n", f"Of {source}.\n", "| noise | " + " | ".join(names) + " | median seconds | longest |"]
        out.append("|---|" + "---|" * (len(names) + 2))
        for (_, noise), items in sorted(g for g in groups.items() if g[0][0] == what):
            seconds = sorted(i["found"]["neuralc"]["seconds"] for i in items)
            figures = [share(items, n) for n in names] + [f"{seconds[len(seconds) // 2]:.0f}", f"{seconds[-1]:.0f}"]
            out.append(f"| {100 * noise:g} % | " + " | ".join(figures) + " |")
        for (_, noise), items in sorted(g for g in groups.items() if g[0][0] == what):
            out += [f"\n### At {100 * noise:g} % noise\n", "| | found | seconds | model |", "|---|---|---|---|"]
            for i in items:
                f = i["found"]["neuralc"]
                formulas = " ".join(li for li in f["text"].splitlines() if not li.startswith(("(param", "(state", "(observe", "(time")))
                out.append(f"| {i['id']} | {'yes' if f['right'] else 'no'} | {f['seconds']:.0f} | `{formulas}` |")
    return "\n".join(out) + "\n"
