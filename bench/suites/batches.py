"""Every contender on every program: values and gradients, batches from one lane to a million."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import peers
from catalogue import PROGRAMS
from measure import FULL, QUICK, measure
from tqdm import tqdm

Job = dict[str, Any]


def run(job: Job) -> dict[str, Any]:
    """In: programs, contenders, batches, types, what to compute. Out: versions of the contenders, and one record per case."""
    modules, versions, missing = {}, {}, {}
    for name in tqdm(job["peers"], desc="importing", leave=False):
        module, said = peers.load(name)
        if module is None:
            missing[name] = said
            tqdm.write(f"skipping {name}: {said}")
        else:
            modules[name], versions[name] = module, said
    effort = QUICK if job["quick"] else FULL
    cases = [(p, d, g, b) for d in job["dtypes"] for p in job["programs"] for g in job["gradients"] for b in job["batches"]]
    records = []
    end = time.monotonic() + 60 * job["minutes"]
    bar = tqdm(cases, desc=f"{job['threads']} thread{'s' if job['threads'] > 1 else ''}", unit="case")
    for name, dtype, gradient, lanes in bar:
        program = PROGRAMS[name]
        bar.set_postfix_str(f"{name}, {'gradient' if gradient else 'value'}, {lanes}, {dtype}")
        record = {"program": name, "dtype": dtype, "gradient": gradient, "lanes": lanes, "threads": job["threads"]}
        if lanes > program.largest:
            record["skipped"] = f"at most {program.largest} lanes: the inputs would take {4e-9 * lanes * len(program.inputs):.0f} GB"
        elif time.monotonic() > end:
            record["skipped"] = f"no time left of {job['minutes']:g} minutes"
        else:
            case = peers.Case(program, program.columns(lanes, np.dtype(dtype)), gradient, job["threads"])
            record["contenders"] = measure(case, modules, effort)
        records.append(record)
    labels = {name: module.LABEL for name, module in modules.items()}
    return {"versions": versions, "missing": missing, "labels": labels, "records": records}
