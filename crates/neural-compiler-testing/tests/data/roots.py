"""The references of tests/suite/roots.rs: derivatives of implicit functions, by differences with 40 digits."""

import mpmath as mp

mp.mp.dps = 40
R = mp.mpf("8.314462618")


def kepler(m: mp.mpf, e: mp.mpf) -> mp.mpf:
    return mp.findroot(lambda x: x - e * mp.sin(x) - m, 1.5)


def volume(t: mp.mpf, p: mp.mpf, a: mp.mpf, b: mp.mpf) -> mp.mpf:
    return mp.findroot(lambda v: (p + a / v**2) * (v - b) - R * t, R * t / p)


for order in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3)]:
    print("kepler", order, mp.nstr(mp.diff(kepler, (1, mp.mpf(1) / 2), order), 17))
at = (mp.mpf(350), mp.mpf(10) ** 6, mp.mpf("0.364"), mp.mpf("4.267e-5"))
print("volume", mp.nstr(volume(*at), 17))
for i in range(4):
    print("volume", i, mp.nstr(mp.diff(volume, at, tuple(int(i == j) for j in range(4))), 17))
