"""Compares values, gradients and Hessians with references of 50 digits.

usage: python oracle.py ROWS.jsonl SUMMARY.json

Each line of ROWS: {"id", "program", "inputs": [{"name", "shape", "data"}], "value", "reverse", "forward", "hessian"} with
gradients flattened over all inputs in order and the Hessian as a list of rows; numbers JSON cannot hold are strings.

A component agrees when its error is at most TOLERANCE times its own size. Where rounding alone moves a component further
than that (stochastic arithmetic tells), the program counts as ill-conditioned for this order of derivative, is reported, and
is held to the scatter of rounding instead.
"""

import json
import multiprocessing
import random
import sys

try:
    from mpmath import mp
except ImportError:
    sys.exit("mpmath is missing: run `make deps`, or pip install mpmath")

import duals
from language import Evaluator
from noise import Noisy

DIGITS = 50
TOLERANCE = {"value": 1e-12, "reverse": 1e-12, "forward": 1e-12, "hessian": 1e-10}
RUNS = 4
# Scatter above this part of the tolerance makes a component ill-conditioned.
MARGIN = 0.1
# Ill-conditioned components may be off by so many times the scatter.
SLACK = 100


def shaped(scalars, shape):
    """Scalars in a shape: [] scalar, [n] vector, [r, c] matrix."""
    if not shape:
        return scalars[0]
    if len(shape) == 1:
        return scalars
    return [scalars[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]


def evaluate(row, context):
    """Value, gradient and packed Hessian of a row's program, and whether second derivatives mean anything there."""
    evaluator = Evaluator(context)
    count = sum(len(i["data"]) for i in row["inputs"])
    inputs, at = {}, 0
    for i in row["inputs"]:
        scalars = [evaluator.n.variable(x, at + k, count) for k, x in enumerate(i["data"])]
        at += len(scalars)
        inputs[i["name"]] = shaped(scalars, i["shape"])
    result = evaluator.program(row["program"], inputs)
    assert isinstance(result, duals.Dual), "the result is no scalar"
    zero = evaluator.n.num(0)
    gradient = result.g or [zero] * count
    hessian = result.h or [zero] * (count * (count + 1) // 2)
    return {"value": [result.v], "gradient": gradient, "hessian": hessian}, evaluator.n.unspecified_second


def scatter(row, reference):
    """How far rounding moves each component from the reference; None when a run fails."""
    far = {key: [0.0] * len(values) for key, values in reference.items()}
    for run in range(RUNS):
        try:
            values, _ = evaluate(row, Noisy(random.Random(f"{row['id']}/{run}")))
        except (ArithmeticError, ValueError):
            return None
        for key, exact in reference.items():
            far[key] = [max(f, abs(float(v - e))) for f, v, e in zip(far[key], values[key], exact)]
    return far


def full(packed, count):
    """The full rows of a packed symmetric matrix."""
    at = lambda i, j: packed[i * (i + 1) // 2 + j] if i >= j else at(j, i)
    return [at(i, j) for i in range(count) for j in range(count)]


def check(line):
    """The verdict on one row."""
    row = json.loads(line)
    mp.dps = DIGITS
    reference, unspecified = evaluate(row, mp)
    far = scatter(row, reference)
    count = len(reference["gradient"])
    expected = {"value": reference["value"], "reverse": reference["gradient"], "forward": reference["gradient"]}
    moved = None if far is None else {"value": far["value"], "reverse": far["gradient"], "forward": far["gradient"]}
    if not unspecified:
        expected["hessian"] = full(reference["hessian"], count)
        if moved is not None:
            moved["hessian"] = full(far["hessian"], count)
    found = {
        "value": [row["value"]],
        "reverse": row["reverse"],
        "forward": row["forward"],
        "hessian": [x for line in row["hessian"] for x in line],
    }
    verdict = {"id": row["id"], "ill": [], "failures": [], "worst": {}}
    for key, exact in expected.items():
        tolerance = TOLERANCE[key]
        largest = max([abs(x) for x in exact] + [mp.mpf(1)])
        for k, (e, f) in enumerate(zip(exact, found[key])):
            error = abs(mp.mpf(float(f)) - e)
            # What cancels to nothing in 50 digits is zero.
            size = largest if abs(e) < mp.mpf(10) ** -30 * largest else abs(e)
            wobble = float("inf") if moved is None else moved[key][k]
            if wobble > MARGIN * tolerance * size:
                if key not in verdict["ill"]:
                    verdict["ill"].append(key)
                fine = moved is None or error <= SLACK * wobble
            else:
                fine = error <= tolerance * size
                verdict["worst"][key] = max(verdict["worst"].get(key, 0.0), float(error / size))
            if not fine:
                verdict["failures"].append(
                    {
                        "what": f"{key}[{k}]",
                        "found": f,
                        "expected": mp.nstr(e, 20),
                        "scatter": wobble,
                        "program": row["program"],
                        "inputs": row["inputs"],
                    }
                )
    return verdict


def checked(line):
    """The verdict, or what went wrong in the oracle itself."""
    try:
        return check(line)
    except Exception as error:
        row = json.loads(line)
        failure = {"what": f"oracle: {error!r}", "program": row["program"], "inputs": row["inputs"]}
        return {"id": row["id"], "ill": [], "failures": [failure], "worst": {}}


def main(rows, summary):
    sys.setrecursionlimit(20_000)
    with open(rows, encoding="utf-8") as file, multiprocessing.Pool() as pool:
        verdicts = pool.map(checked, file, chunksize=8)
    first = ("value", "reverse", "forward")
    result = {
        "checked": len(verdicts),
        "well_first": sum(not any(k in v["ill"] for k in first) for v in verdicts),
        "well_second": sum("hessian" not in v["ill"] for v in verdicts),
        "ill": [v["id"] for v in verdicts if v["ill"]],
        "worst": {k: max((v["worst"].get(k, 0.0) for v in verdicts), default=0.0) for k in TOLERANCE},
        "failures": [{"id": v["id"], **f} for v in verdicts for f in v["failures"]],
    }
    with open(summary, "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
