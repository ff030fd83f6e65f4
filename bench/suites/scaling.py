"""Our cost per lane from 10^4 to 10^7 lanes: it should be flat, since a batch is worked on in pieces that fit the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from tqdm import tqdm

import peers
from catalogue import PROGRAMS
from measure import FULL, QUICK, measure

SIZES = (10**4, 10**5, 10**6, 10**7)
LARGEST_BYTES = 10**9


def run(job: dict[str, Any]) -> dict[str, Any]:
    """In: programs, types, what to compute. Out: one record per size; what would take more than a gigabyte is left out."""
    module, said = peers.load("ours_rust")
    if module is None:
        return {"versions": {}, "missing": {"ours_rust": said}, "labels": {}, "records": []}
    effort = QUICK if job["quick"] else FULL
    records = []
    for dtype in job["dtypes"]:
        for name in tqdm(job["programs"], desc="scaling", unit="program"):
            for gradient in job["gradients"]:
                for lanes in SIZES:
                    program = PROGRAMS[name]
                    columns = len(program.inputs) * (2 if gradient else 1) + 1
                    if columns * lanes * np.dtype(dtype).itemsize > LARGEST_BYTES or lanes > program.largest:
                        continue
                    case = peers.Case(program, program.columns(lanes, np.dtype(dtype)), gradient, job["threads"])
                    found = measure(case, {"ours_rust": module}, effort)
                    records.append({"program": name, "dtype": dtype, "gradient": gradient, "lanes": lanes, "threads": job["threads"], "contenders": found})
    return {"versions": {"ours_rust": said}, "missing": {}, "labels": {"ours_rust": module.LABEL}, "records": records}
