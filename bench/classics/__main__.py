"""Runs every case, or those named, and writes docs/fits.md.

python -m bench.classics [NAME …] [--no-page]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict

from tqdm import tqdm

from . import page
from .cases import CASES
from .compare import compare
from .reference import EXPECTED, answer, expected


def main() -> int:
    parser = argparse.ArgumentParser(description="Classic fits beside SciPy, and the page docs/fits.md.")
    parser.add_argument("names", nargs="*", help="cases; all, if none is named")
    parser.add_argument("--no-page", action="store_true", help="print the table instead of writing the page")
    parser.add_argument("--reference", action="store_true", help="let SciPy find the answers of expected.json again, near those there")
    args = parser.parse_args()
    unknown = set(args.names) - {c.name for c in CASES}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    if args.reference:
        known = expected()
        chosen = [c for c in CASES if not args.names or c.name in args.names]
        known |= {case.name: answer(case, known[case.name].values) for case in tqdm(chosen, unit="fit")}
        EXPECTED.write_text(json.dumps({name: asdict(a) for name, a in known.items()}, indent=1) + "\n")
        return 0
    begun, rows = time.monotonic(), []
    for case in tqdm([c for c in CASES if not args.names or c.name in args.names], unit="fit"):
        tqdm.write(case.name)
        rows.append(compare(case))
    text = page.table(rows)
    print(text)
    if not args.names and not args.no_page:
        page.write(rows)
    print(f"{time.monotonic() - begun:.0f} s; {sum(not r.wrong for r in rows)} of {len(rows)} agree")
    return int(any(r.wrong for r in rows))


if __name__ == "__main__":
    raise SystemExit(main())
