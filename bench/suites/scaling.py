"""Our cost per lane from 10^4 to 10^7 lanes, beside the native loop's: it should be flat, since a batch is worked on in pieces that
fit the cache, as far as the columns themselves come fast enough from memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import peers
from catalogue import PROGRAMS
from measure import FULL, QUICK, measure
from tqdm import tqdm

SIZES = (10**4, 10**5, 10**6, 10**7)
LARGEST_BYTES = 10**9


def run(job: dict[str, Any]) -> dict[str, Any]:
    """In: programs, types, what to compute. Out: one record per size; what would take more than a gigabyte is left out."""
    modules, versions, missing = {}, {}, {}
    for name in ("ours_rust", "native"):
        module, said = peers.load(name)
        if module is None:
            missing[name] = said
        else:
            modules[name], versions[name] = module, said
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
                    found = measure(case, modules, effort)
                    records.append(
                        {
                            "program": name,
                            "dtype": dtype,
                            "gradient": gradient,
                            "lanes": lanes,
                            "threads": job["threads"],
                            "contenders": found,
                        }
                    )
    return {
        "versions": versions,
        "missing": missing,
        "labels": {name: module.LABEL for name, module in modules.items()},
        "records": records,
    }
