"""Makes the tables of the two examples with events, by their closed forms and with fixed noise: `python3 examples/events.py`."""

from math import exp, floor, log
from pathlib import Path
from random import Random

HERE = Path(__file__).parent


def ball() -> None:
    """Heights of a ball let fall from 1.5 m, g = 9.81, of whose speed each bounce leaves 0.83; 1 cm of noise."""
    noise = Random(1)
    g, e, h0 = 9.81, 0.83, 1.5
    first = (2 * h0 / g) ** 0.5
    lines = ["t,h"]
    for k in range(121):
        t = k / 40
        n, bounce = 0, first
        while t > bounce:
            n += 1
            bounce += 2 * first * e**n
        since = t - (bounce - 2 * first * e**n) if n else t
        h = e**n * g * first * since - g * since**2 / 2 if n else h0 - g * t**2 / 2
        lines.append(f"{t},{h + noise.gauss(0, 0.01):.4f}")
    (HERE / "bouncing-ball.csv").write_text("\n".join(lines) + "\n")


def doses() -> None:
    """Two patients: ka = 1.1 1/h, CL = 3.2 l/h, V = 28 l; tablets of 100 mg every 12 h, for the second also 60 mg over 3 h at 30 h; 3 %."""
    noise = Random(2)
    ka, k, v = 1.1, 3.2 / 28, 28
    tablets = {"ann": [(12 * i, 100) for i in range(5)], "bob": [(12 * i, 100) for i in range(4)] + [(50, 50)]}
    drips = {"ann": [], "bob": [(30, 60, 20)]}
    lines, given = ["patient,t,conc"], ["patient,time,amount,rate,target"]
    for who in tablets:
        given += [f"{who},{time},{amount},,gut" for time, amount in tablets[who]]
        given += [f"{who},{time},{amount},{rate},blood" for time, amount, rate in drips[who]]
        for t in [0.5, 1, 2, 4, 8, 12, 13, 16, 24, 25, 28, 31, 33, 36, 37, 40, 48, 49, 52, 56, 60, 72]:
            blood = sum(d * ka / (ka - k) * (exp(-k * (t - s)) - exp(-ka * (t - s))) for s, d in tablets[who] if s < t)
            blood += sum(r / k * (exp(-k * max(0, t - s - d / r)) - exp(-k * (t - s))) for s, d, r in drips[who] if s < t)
            conc = blood / v * exp(noise.gauss(0, 0.03))
            lines.append(f"{who},{t},{conc:.{max(0, 3 - floor(log(conc, 10)))}f}")
    (HERE / "repeated-doses.csv").write_text("\n".join(lines) + "\n")
    (HERE / "repeated-doses-given.csv").write_text("\n".join(given) + "\n")


if __name__ == "__main__":
    ball()
    doses()
