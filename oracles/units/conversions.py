"""Conversions of units by Pint: what `crates/neural-compiler-testing/data/conversions.tsv` holds.

Pint converts in exact fractions, which are rounded once at the end (its floating point loses digits where temperatures cancel).
Levels are not Pint's, whose floating point misses 10^2 by two units in the last place: they follow from the definition, in 40 digits.

    pip install pint==0.25.3
    python oracles/units/conversions.py > crates/neural-compiler-testing/data/conversions.tsv
"""

import random
from decimal import Decimal, getcontext
from fractions import Fraction

import pint

GROUPS = """
m km cm mm um nm pm inch ft yd mi nautical_mile angstrom au light_year fathom furlong mil
m^2 cm^2 hectare acre ft^2 in^2 barn
m^3 L mL uL cm^3 gallon quart pint cup fluid_ounce tablespoon teaspoon in^3 ft^3 oil_barrel imperial_gallon
kg g mg ug ng lb oz grain troy_ounce stone tonne short_ton long_ton carat
s ms us ns min h day week year month
m/s km/h mph knot ft/s cm/s
N kN dyne lbf kgf
Pa kPa MPa bar mbar atm torr psi
J kJ cal kcal erg eV keV Wh kWh
W kW hp
K degR
Hz kHz 1/min 1/h
C mC Ah
Pa*s poise cP
m^2/s stokes cSt
mol mmol umol nmol
mol/L mM uM nM mmol/m^3 mol/m^3
mg/L ug/mL g/L ng/mL kg/m^3 lb/ft^3
mol/s katal enzyme_unit umol/min
mg/kg ug/kg g/kg
mL/min L/h m^3/s gallon/min
J/mol kJ/mol kcal/mol
J/(mol*K) cal/(mol*K)
V mV uV kV
ohm kohm Mohm
F uF nF pF
Bq kBq curie
Gy mGy
Sv mSv rem
rad deg arcmin arcsec revolution
1 percent ppm
W/(m^2*K) W/(cm^2*K)
m/s^2 cm/s^2 ft/s^2 Gal
bit byte kB MiB
"""
# Pint's own names where they differ from ours.
PINT = {
    "inch": "inch",
    "byte": "byte",
    "kB": "kB",
    "cP": "centipoise",
    "cSt": "centistokes",
    "Gal": "galileo",
    "1": "dimensionless",
    "mM": "millimolar",
    "uM": "micromolar",
    "nM": "nanomolar",
    "mph": "mile/hour",
    "pint": "pint",
    "percent": "percent",
    "hp": "horsepower",
    "bar": "bar",
    "nautical_mile": "nautical_mile",
    "au": "astronomical_unit",
    "h": "hour",
    "cup": "cup",
    "min": "minute",
    "mil": "thou",
    "month": "month",
    "day": "day",
    "1/min": "1/minute",
    "1/h": "1/hour",
    "mL/min": "mL/minute",
    "L/h": "L/hour",
    "gallon/min": "gallon/minute",
    "umol/min": "umol/minute",
    "km/h": "km/hour",
    "Ah": "ampere_hour",
    "Wh": "watt_hour",
    "kWh": "kilowatt_hour",
    "kohm": "kiloohm",
    "Mohm": "megaohm",
    "ft": "foot",
    "mi": "mile",
    "knot": "knot",
    "us": "microsecond",
}
TEMPERATURES = ["K", "degC", "degF"]
# A level, its reference, and what ten times the logarithm is multiplied by.
LEVELS = [("dBm", "mW", 10), ("dBW", "W", 10), ("dB", "1", 10), ("dBV", "V", 20), ("pH", "mol/L", -1)]


def main() -> None:
    getcontext().prec = 40
    rng = random.Random(20)
    exact = pint.UnitRegistry(non_int_type=Fraction)
    rows = []
    for line in GROUPS.split("\n"):
        names = line.split()
        pairs = [(a, b) for a in names for b in names if a != b]
        for a, b in rng.sample(pairs, min(len(pairs), 24)):
            x = float(f"{10 ** rng.uniform(-3, 4):.6g}")
            factor = exact.Quantity(Fraction(1), PINT.get(a, a)).to(PINT.get(b, b)).magnitude
            rows.append((a, b, x, float(Fraction(x) * Fraction(factor))))
    for a in TEMPERATURES:
        for b in TEMPERATURES:
            for x in (0.0, 25.0, -40.0, 98.6, 300.0, 451.0):
                if a != b:
                    rows.append((a, b, x, float(exact.Quantity(Fraction(x), a).to(b).magnitude)))
    for level, reference, multiple in LEVELS:
        for x in (0.5, 1.0, 7.25, 20.0, 33.0):
            rows.append((level, reference, x, float(Decimal(10) ** (Decimal(x) / multiple))))
            rows.append((reference, level, x, float(multiple * Decimal(x).log10())))
    print("# from, to, number, number by Pint " + pint.__version__ + "; made by oracles/units/conversions.py")
    for a, b, x, y in rows:
        print(f"{a}\t{b}\t{x!r}\t{y!r}")


main()
