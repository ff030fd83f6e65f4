"""Runs every case, or those named, and writes docs/fits.md.

    python -m bench.classics [NAME …] [--no-page]
"""

from __future__ import annotations

import argparse
import time
import warnings

from tqdm import tqdm

from . import page
from .cases import CASES
from .compare import compare


def main() -> int:
    parser = argparse.ArgumentParser(description="Classic fits beside SciPy, and the page docs/fits.md.")
    parser.add_argument("names", nargs="*", help="cases; all, if none is named")
    parser.add_argument("--no-page", action="store_true", help="print the table instead of writing the page")
    args = parser.parse_args()
    unknown = set(args.names) - {c.name for c in CASES}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
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
