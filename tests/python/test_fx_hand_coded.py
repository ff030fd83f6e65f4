"""Single equations: `backend="torch"` is to the bit what one would write in eager torch, values and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import neural_compiler as nc
import pytest
import torch
from fx_compare import DTYPES, gradient
from neural_compiler.fx import lower

Hand = Callable[..., torch.Tensor]

EQUATIONS: list[tuple[str, str, Hand]] = [
    # The paper's fifteen Feynman equations.
    ("(* h f)", "h f", lambda h, f: h * f),
    ("(* (- 0 k) x)", "k x", lambda k, x: (0 - k) * x),
    ("(* alpha (* m (pow v 2)))", "alpha m v", lambda alpha, m, v: alpha * (m * v**2)),
    ("(/ (* G (* m1 m2)) (pow r 2))", "G m1 m2 r", lambda G, m1, m2, r: G * (m1 * m2) / r**2),
    ("(* n (* R T))", "n R T", lambda n, R, T: n * (R * T)),
    ("(* k (sqrt (/ L g)))", "k L g", lambda k, L, g: k * torch.sqrt(L / g)),
    ("(/ (* kappa (* (- T2 T1) A)) d)", "kappa T2 T1 A d", lambda kappa, T2, T1, A, d: kappa * ((T2 - T1) * A) / d),
    ("(/ (* ke (* q1 q2)) (pow r 2))", "ke q1 q2 r", lambda ke, q1, q2, r: ke * (q1 * q2) / r**2),
    (
        "(/ (exp (/ (- 0 (pow (/ (- theta mu) sigma) 2)) 2)) (* sigma (sqrt (* 2 pi))))",
        "theta mu sigma",
        lambda theta, mu, sigma: torch.exp((0 - ((theta - mu) / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi)),
    ),
    ("(/ (* m (pow c 2)) (sqrt (- 1 (pow (/ v c) 2))))", "m c v", lambda m, c, v: m * c**2 / torch.sqrt(1 - (v / c) ** 2)),
    ("(sqrt (/ (* gamma P) rho))", "gamma P rho", lambda gamma, P, rho: torch.sqrt(gamma * P / rho)),
    (
        "(* n0 (exp (/ (* (- 0 m) (* g x)) (* kB T))))",
        "n0 m g x kB T",
        lambda n0, m, g, x, kB, T: n0 * torch.exp((0 - m) * (g * x) / (kB * T)),
    ),
    ("(* coeff (* E (* E V)))", "coeff E V", lambda coeff, E, V: coeff * (E * (E * V))),
    ("(* A (sin (+ (* omega t) phi)))", "A omega t phi", lambda A, omega, t, phi: A * torch.sin(omega * t + phi)),
    ("(/ m0 (sqrt (- 1 (pow (/ v c) 2))))", "m0 v c", lambda m0, v, c: m0 / torch.sqrt(1 - (v / c) ** 2)),
    # The pendulum, the predators and their prey, and what else physics is made of.
    ("(+ (* neg_g_over_L (sin theta)) (* neg_b w))", "neg_g_over_L theta neg_b w", lambda g, theta, b, w: g * torch.sin(theta) + b * w),
    ("(- (* alpha x) (* beta (* x y)))", "alpha x beta y", lambda alpha, x, beta, y: alpha * x - beta * (x * y)),
    ("(/ 1 (+ (* x x) 1))", "x", lambda x: 1 / (x * x + 1)),
    ("(* 4 eps (- (pow (/ s r) 12) (pow (/ s r) 6)))", "eps s r", lambda eps, s, r: 4 * eps * ((q := s / r) ** 12 - q**6)),
    ("(/ (* Vm S) (+ Km S))", "Vm S Km", lambda Vm, S, Km: Vm * S / (Km + S)),
    ("(* A (exp (/ (- Ea) (* 8.314 T))))", "A Ea T", lambda A, Ea, T: A * torch.exp(-Ea / (8.314 * T))),
    ("(tanh (+ (* a x) b))", "a x b", lambda a, x, b: torch.tanh(a * x + b)),
    ("(log1p (exp (- (abs x))))", "x", lambda x: torch.log1p(torch.exp(-torch.abs(x)))),
    ("(atan (sin a) (* (cos a) (tan b)))", "a b", lambda a, b: torch.atan2(torch.sin(a), torch.cos(a) * torch.tan(b))),
    ("(pow (+ 1 (/ r n)) (* n t))", "r n t", lambda r, n, t: (1 + r / n) ** (n * t)),
    ("(max (min x y) (* 0.5 (+ x y)))", "x y", lambda x, y: torch.maximum(torch.minimum(x, y), 0.5 * (x + y))),
    ("(* x (sigmoid x))", "x", lambda x: x * torch.sigmoid(x)),
    ("(* 0.5 x (+ 1 (erf (/ x (sqrt 2)))))", "x", lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))),
    ("(if (> x y) (* x 2) (- y x))", "x y", lambda x, y: torch.where(x > y, x * 2, y - x)),
]


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal numbers, signs of zeros included; one NaN is like another."""
    return bool((((a == b) & (torch.signbit(a) == torch.signbit(b))) | (torch.isnan(a) & torch.isnan(b))).all())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("source", "names", "hand"), EQUATIONS, ids=[e[0] for e in EQUATIONS])
def test_identical_to_the_bit(source: str, names: str, hand: Hand, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(len(source))
    count = len(names.split())
    values = [torch.rand(1000, dtype=dtype, generator=generator) * 0.9 + 0.05 for _ in range(count)]
    module = nc.compile_scheme(source, inputs=names.split(), backend="torch")
    ours, theirs = ([v.clone().requires_grad_() for v in values] for _ in range(2))
    found, expected = module(*ours), hand(*theirs)
    assert same_bits(found, expected)
    for name, a, b in zip(names.split(), gradient(found, ours), gradient(expected, theirs)):
        assert same_bits(a, b), f"the derivative with respect to {name}"


def test_vector_equations_are_identical_to_the_bit() -> None:
    generator = torch.Generator().manual_seed(5)
    r, v = (torch.randn(500, 3, generator=generator) for _ in range(2))
    g = torch.rand(500, generator=generator)
    a, b = (torch.randn(500, 3, 3, generator=generator) for _ in range(2))
    cases = [
        ("(scale (/ (- 0 G) (pow (norm r) 3)) r)", {"G": None, "r": 3}, (g, r), ((0 - g) / torch.norm(r, dim=-1) ** 3)[..., None] * r),
        ("(dot r v)", {"r": 3, "v": 3}, (r, v), (r * v).sum(dim=-1)),
        ("(cross r v)", {"r": 3, "v": 3}, (r, v), torch.linalg.cross(r, v)),
        ("(outer r v)", {"r": 3, "v": 3}, (r, v), r[..., None] * v[..., None, :]),
        ("(matmul a b)", {"a": (3, 3), "b": (3, 3)}, (a, b), torch.matmul(a, b)),
        ("(inv a)", {"a": (3, 3)}, (a,), torch.linalg.inv(a)),
        ("(trace a)", {"a": (3, 3)}, (a,), torch.diagonal(a, dim1=-2, dim2=-1).sum(dim=-1)),
        ("[(* g 2) (sin g) g]", {"g": None}, (g,), torch.stack([g * 2, torch.sin(g), g], dim=-1)),
    ]
    for source, inputs, values, expected in cases:
        (found,) = lower(nc.compile(source, inputs=inputs).graph_json())(*values)
        assert torch.equal(found, expected), source
