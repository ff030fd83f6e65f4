"""Holds a run to `expected.json`. In: the numbers of a report; out: every rule that is broken, as a sentence.

A rule names a number and says `equals`, `at_most`, `at_least`, or `near` with `relative`. A number that is missing breaks its rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parent.parent / "expected.json"


def rules(name: str, mode: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(PLACE.read_text()).get(name, {}).get(mode, [])
    return found


def broken(rule: dict[str, Any], numbers: dict[str, Any]) -> str | None:
    """Why the numbers break the rule; None when they keep it."""
    what = rule["number"]
    if what not in numbers or numbers[what] is None:
        return f"{what} is missing"
    value = numbers[what]
    if "equals" in rule and value != rule["equals"]:
        return f"{what} is {value!r}, not {rule['equals']!r}"
    if "at_most" in rule and not value <= rule["at_most"]:
        return f"{what} is {value:.6g}, more than {rule['at_most']:.6g}"
    if "at_least" in rule and not value >= rule["at_least"]:
        return f"{what} is {value:.6g}, less than {rule['at_least']:.6g}"
    if "near" in rule and not abs(value - rule["near"]) <= rule["relative"] * abs(rule["near"]):
        return f"{what} is {value:.6g}, more than {100 * rule['relative']:.3g} % away from {rule['near']:.6g}"
    return None


def check(name: str, mode: str, numbers: dict[str, Any]) -> list[str]:
    return [complaint for rule in rules(name, mode) if (complaint := broken(rule, numbers))]
