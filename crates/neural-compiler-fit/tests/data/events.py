"""The numbers `tests/events.rs` compares derivatives through events with: Taylor series of 40 digits up to each event, which is located
to as many, and central differences of the whole with steps of 1e-12, whose error is below 1e-22. Needs mpmath (1.3); takes a minute.

    python3 crates/neural-compiler-fit/tests/data/events.py
"""

from mpmath import findroot, mp, mpf, odefun, sin

mp.dps = 40


def derivatives(f, p):
    value = f(p)
    print("  value", [mp.nstr(v, 20) for v in value])
    for j in range(len(p)):
        h = mpf(10) ** -12
        up, down = ([x + (h if i == j else 0) * s for i, x in enumerate(p)] for s in (1, -1))
        print("  d/d", j, [mp.nstr((a - b) / (2 * h), 20) for a, b in zip(f(up), f(down), strict=True)])


def solve(law, t0, x0, t1):
    return odefun(law, t0, x0)(t1) if t1 > t0 else x0


def wall(p):
    """A pendulum that hits a wall: theta'' = -g sin(theta); where theta < w, omega becomes -e omega. At t = 4."""
    g, e, w, theta0 = p
    law = lambda t, x: [x[1], -g * sin(x[0])]
    t, x, hits = mpf(0), [theta0, mpf(0)], 0
    while True:
        path = odefun(law, t, x)
        # Looked for in steps of a twentieth, in which it cannot come and go.
        k = next((k for k in range(2, 100) if path(t + k / mpf(20))[0] < w), None)
        if k is None or t + k / mpf(20) > 4:
            print("  hits", hits)
            return path(mpf(4))
        t = findroot(lambda s: path(s)[0] - w, (t + (k - 1) / mpf(20), t + k / mpf(20)), solver="anderson", tol=mpf(10) ** -70)
        x = [w, -e * path(t)[1]]
        hits += 1


def saturated(p):
    """Michaelis-Menten elimination with a dose D at tau and one of 2 D at 3 tau + 0.1; at t = 5. The second dose empties a tenth."""
    v, k, d, tau = p
    law = lambda t, x: [-v * x[0] / (k + x[0])]
    x = solve(law, mpf(0), [mpf(1)], tau)
    x = [x[0] + d]
    t2 = 3 * tau + mpf("0.1")
    x = solve(law, tau, x, t2)
    return solve(law, t2, [x[0] * mpf("0.9") + 2 * d], mpf(5))


if __name__ == "__main__":
    print("wall")
    derivatives(wall, [mpf("4.9"), mpf("0.8"), mpf("-0.2"), mpf("0.7")])
    print("saturated")
    derivatives(saturated, [mpf("1.3"), mpf("0.5"), mpf(2), mpf("1.1")])
