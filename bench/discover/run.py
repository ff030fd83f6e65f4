"""Laws and differential equations found from data: `neuralc refine` beside PySINDy, Operon and gplearn, in one run.

    python bench/discover/run.py --neuralc target/release/neuralc --out found.jsonl odes --noise 0.05
    python bench/discover/run.py --neuralc target/release/neuralc --out found.jsonl laws --noise 0 0.01
    python bench/discover/run.py --out found.jsonl report docs/discovery.md

Needs numpy and scipy; peers that are not installed (pysindy, pyoperon, gplearn) are left out. In: laws.json and odes.json beside this file;
out: a line of JSON for each case, and a page made of them. Noise of an equation multiplies each value by 1 + noise N(0, 1); that of a law
adds noise times the root mean square of the target. A model of an equation is right if it explains more than 0.9 of the variance, on the
average over the states, from the other start, which it has not seen. A law is right if it has the true form: with its constants fitted
again to rows without noise, it meets others of these to a millionth (the median), with no more constants than the law has summands and
one more.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from peers import gplearn, operon, pysindy
from scipy.integrate import solve_ivp

HERE = pathlib.Path(__file__).parent
FUNCTIONS = {name: getattr(np, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "abs")}
FUNCTIONS |= {"neg": np.negative, "cot": lambda x: 1 / np.tan(x), "asin": np.arcsin, "acos": np.arccos}
BASES = ("m", "s", "kg", "K", "V")
ROWS, TEST = 500, 500
SPAN, SAMPLES = 10.0, 150


def value(formula: str, names: dict):
    """A formula of the collections at some values."""
    return eval(formula.replace("^", "**"), {"__builtins__": {}}, FUNCTIONS | names)


def draw(how: dict, rows: int, random: np.random.Generator) -> np.ndarray:
    (low, high), (kind, sign) = how["range"], how["draw"]
    if kind == "log":
        x = np.exp(random.uniform(np.log(low), np.log(high), rows))
    elif kind == "int":
        x = random.integers(max(int(low), 1), int(high) + 1, rows).astype(float)
    else:
        x = random.uniform(low, high, rows)
    return x * random.choice([-1, 1], rows) if sign == "pos_neg" else np.abs(x) if sign == "pos" else x


def header(name: str, units: list) -> str:
    parts = [base if e == 1 else f"{base}^{e}" for base, e in zip(BASES, units) if e]
    return f"{name} [{' '.join(parts) or '-'}]"


def table(path: pathlib.Path, columns: dict) -> str:
    rows = zip(*columns.values())
    path.write_text(",".join(columns) + "\n" + "".join(",".join(repr(float(x)) for x in row) + "\n" for row in rows))
    return str(path)


def neuralc(binary: str, *words: str) -> str:
    return subprocess.run([binary, *words], capture_output=True, text=True, check=False).stdout


def explained(truth: np.ndarray, found: np.ndarray) -> float:
    """The share of the variance, on the average over states; a state that does not move counts by its distance."""
    if found.shape != truth.shape or not np.all(np.isfinite(found)):
        return float("-inf")
    shares = [1 - np.sum((t - f) ** 2) / max(np.sum((t - t.mean()) ** 2), 1e-12) for t, f in zip(truth.T, found.T)]
    return float(np.mean(shares))


def ode(case: dict, noise: float, options: argparse.Namespace, folder: pathlib.Path) -> dict:
    constants = {f"c_{i}": c for i, c in enumerate(case["constants"])}
    size = len(case["equations"])

    def field(_, x):
        return [value(e, constants | {f"x_{i}": v for i, v in enumerate(x)}) for e in case["equations"]]

    times = np.linspace(0, SPAN, SAMPLES)
    paths = [solve_ivp(field, (0, SPAN), s, t_eval=times, method="LSODA", rtol=1e-9, atol=1e-11).y.T for s in case["starts"]]
    random = np.random.default_rng(case["id"])
    seen = paths[0] * (1 + noise * random.standard_normal(paths[0].shape))
    names = [f"x_{i}" for i in range(size)]
    data = table(folder / "ode.csv", {"t": times} | dict(zip(names, seen.T)))
    begun = time.perf_counter()
    words = ("refine", "--data", data, "--states", ",".join(names), "--budget", f"{options.budget}s", "--json")
    text = best(neuralc(options.neuralc, *words))
    out = {"seconds": time.perf_counter() - begun, "text": text}
    starts = [f"{n}={v}" for n, v in zip(names, case["starts"][1])]
    at = table(folder / "times.csv", {"t": times})
    shown = neuralc(options.neuralc, "simulate", "-e", text, *starts, "--times", at, "--out", "-").splitlines()
    whole = len(shown) == SAMPLES + 1
    found = np.array([[float(x or "nan") for x in line.split(",")] for line in shown[1:]]) if whole else np.zeros((0, 0))
    place = [shown[0].split(",").index(n) for n in names] if found.size else []
    out["r2"] = explained(paths[1], found[:, place]) if found.size else float("-inf")
    out["right"] = out["r2"] > 0.9
    result = {"neuralc": out}
    if pysindy.available() and not options.alone:
        begun = time.perf_counter()
        r2 = explained(paths[1], pysindy.predicted(times, seen, np.array(case["starts"][1], float)))
        result["PySINDy"] = {"seconds": time.perf_counter() - begun, "r2": r2, "right": r2 > 0.9}
    return result


def best(answer: str) -> str:
    try:
        return json.loads(answer.strip().splitlines()[-1])["best"]["text"]
    except (IndexError, KeyError, TypeError, ValueError):
        return "0"


def law(case: dict, noise: float, options: argparse.Namespace, folder: pathlib.Path) -> dict:
    random = np.random.default_rng(5)
    rows = ROWS + 2 * TEST
    columns = {name: draw(how, 4 * rows, random) for name, how in case["inputs"].items()}
    with np.errstate(all="ignore"):
        y = value(case["formula"], columns) + np.zeros(4 * rows)
    good = np.flatnonzero(np.isfinite(y))[:rows]
    if len(good) < rows:
        return {}  # the ranges leave its domain nearly everywhere: nothing to learn from
    columns, y = {n: c[good] for n, c in columns.items()}, y[good]
    clean = y[:ROWS]
    noisy = clean + noise * np.sqrt(np.mean(clean**2)) * random.standard_normal(len(clean))
    heads = {header(n, case["inputs"][n]["units"]): c[:ROWS] for n, c in columns.items()}
    data = table(folder / "law.csv", heads | {header("v0", case["units"]): noisy})
    begun = time.perf_counter()
    text = best(neuralc(options.neuralc, "refine", "--data", data, "--target", "v0", "--budget", f"{options.budget}s", "--json"))
    out = {"seconds": time.perf_counter() - begun, "text": text}
    again, other = slice(ROWS, ROWS + TEST), slice(ROWS + TEST, None)
    refit = table(folder / "clean.csv", {n: c[again] for n, c in columns.items()} | {"v0": y[again]})
    rest = table(folder / "rest.csv", {n: c[other] for n, c in columns.items()})
    saved = folder / "saved.scm"
    saved.write_text(text)
    neuralc(options.neuralc, "fit", "-e", text, "--data", refit, "--target", "v0", "--starts", "1", "--save", str(saved))
    error = far(neuralc(options.neuralc, "predict", str(saved), "--data", rest), y[other])
    constants = text.count("(param ")
    summands = 2 + case["formula"].count("+") + case["formula"].count("-")
    out |= {"error": error, "right": error < 1e-6 and constants <= summands}
    result = {"neuralc": out}
    for name, peer in () if options.alone else (("Operon", operon), ("gplearn", gplearn)):
        if peer.available():
            x = np.column_stack([c[:ROWS] for c in columns.values()])
            begun = time.perf_counter()
            found = peer.predicted(x, noisy, np.column_stack([c[other] for c in columns.values()]), options.peers)
            with np.errstate(all="ignore"):
                off = float(np.nanmedian(np.abs(found / y[other] - 1)))
            # They cannot be fitted again here: at noise, what is close enough for the true form counts as it.
            limit = 1e-6 if noise == 0 else noise / 2
            result[name] = {"seconds": time.perf_counter() - begun, "error": off, "right": off < limit}
    return result


def far(answer: str, truth: np.ndarray) -> float:
    lines = answer.splitlines()
    if len(lines) != len(truth) + 1:
        return float("inf")
    found = np.array([float(line.split(",")[-1] or "nan") for line in lines[1:]])
    with np.errstate(all="ignore"):
        off = np.abs(found - truth) / np.where(truth == 0, 1, np.abs(truth))
    return float(np.median(off)) if np.all(np.isfinite(off)) else float("inf")


def run(options: argparse.Namespace) -> None:
    cases = json.loads((HERE / f"{options.what}.json").read_text())["items"]
    solve = ode if options.what == "odes" else law
    for noise in options.noise:
        for case in cases:
            if options.only and str(case["id"]) not in options.only:
                continue
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = solve(case, noise, options, pathlib.Path(folder))
            if not found:
                print(options.what, case["id"], noise, "left out: its ranges leave its domain", flush=True)
                continue
            line = {"what": options.what, "id": case["id"], "noise": noise, "found": found}
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(options.what, case["id"], noise, {n: (f["right"], round(f["seconds"], 1)) for n, f in found.items()}, flush=True)


def report(options: argparse.Namespace) -> None:
    import page

    lines = [json.loads(line) for line in options.out.read_text().splitlines()]
    options.page.write_text(page.text(lines, json.loads((HERE / "laws.json").read_text()), json.loads((HERE / "odes.json").read_text())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--neuralc", default="neuralc")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("found.jsonl"))
    parser.add_argument("--budget", type=float, default=60, help="seconds for each case")
    parser.add_argument("--peers", type=float, default=20, help="seconds for each peer and law")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--only", type=lambda text: text.split(","), help="these cases, with commas")
    commands = parser.add_subparsers(required=True)
    for what in ("odes", "laws"):
        command = commands.add_parser(what)
        command.set_defaults(what=what, run=run)
        command.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01] if what == "laws" else [0.0, 0.01, 0.05])
    command = commands.add_parser("report")
    command.set_defaults(run=report)
    command.add_argument("page", type=pathlib.Path)
    options = parser.parse_args()
    options.run(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
