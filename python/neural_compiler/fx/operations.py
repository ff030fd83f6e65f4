"""One torch expression per operation of the table: the one deliberate second list, complete by a test of set equality.

In: torch tensors with any leading batch sizes (or FX proxies of them); out: the same. An expression is what one would write by hand
in torch, so its rounding is torch's; where torch's own function means something else (its `sign` forgets NaN, its `softplus` is cut
off at 20, `linalg.inv` raises for the whole batch), the expression says what the program means.
Invariants: values and derivatives of a lane depend on that lane only; conventions of derivatives are those of spec/derivatives.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from . import matrices, onnx_matrices
from .bessel import bessel_i, bessel_j, bessel_k
from .error_functions import erf, erfc
from .gaps import digamma_gap, erfcx, erfcx_of_order, exp_less_one, log_beta, trigamma_gap
from .graph import Shape
from .incomplete import gamma_density, gamma_p, gamma_p_slope
from .incomplete_beta import beta_density, beta_p, beta_p_slope
from .indices import element_at, placed_at
from .leaf import leaf
from .norm import norm
from .voigt import voigt, voigt_slope

Value = Any
"""A tensor, or a proxy of one."""


@dataclass(frozen=True)
class Site:
    """Where an operation stands: what its expression may need to know besides its arguments."""

    attr: int
    shapes: tuple[Shape, ...]
    """Of the arguments."""
    shape: Shape
    """Of the result."""
    anchor: Value
    """Any tensor of the program's type and device."""
    span: tuple[int, int]


@dataclass(frozen=True)
class Expression:
    """How torch computes an operation."""

    build: Callable[..., Value]
    elementwise: bool = True
    numbers: bool = False
    """Whether Python numbers may stand for constants, as one would write them."""
    truth: bool = False
    """Whether the result is a torch boolean."""


def infix(build: Callable[..., Value]) -> Expression:
    """An operator of Python: constants are written as numbers."""
    return Expression(build, numbers=True)


def function(build: Callable[..., Value]) -> Expression:
    """A function of tensors, element by element."""
    return Expression(build)


def comparison(build: Callable[..., Value]) -> Expression:
    """A comparison."""
    return Expression(build, numbers=True, truth=True)


def whole(build: Callable[..., Value]) -> Expression:
    """A function of whole vectors and matrices, told its site."""
    return Expression(build, elementwise=False)


def aligned(value: Value, shape: Shape, wanted: Shape) -> Value:
    """A scalar with as many axes behind its batch sizes as the other arguments have."""
    missing = len(wanted) - len(shape)
    return value if isinstance(value, float) or not missing else with_axes(value, missing)


@leaf
def with_axes(value: Value, count: int) -> Value:
    """A tensor of scalars with more axes behind. One that is not a batch fits all, and needs no node of autograd to say so."""
    return value[(..., *(None,) * count)] if value.dim() else value


# ---- element by element ----


def quotient(x: Value, y: Value) -> Value:
    # The whole part of the true quotient: x - fmod(x, y) is y times it, where trunc(x / y) may have been rounded up. Without a
    # remainder (y = 0, x infinite) the quotient is that of IEEE 754. Constant between jumps: no derivative, not even 0 times infinity.
    x, y = x.detach(), y.detach()
    ratio = x / y
    whole_part = torch.round((x - torch.fmod(x, y)) / y)
    return torch.where(torch.isinf(ratio) | torch.isinf(y), torch.trunc(ratio), whole_part)


def cube_root(x: Value) -> Value:
    # torch has none, a third is no number of the machine, and the power of a negative is NaN: the power of the size, corrected by a
    # step of Newton's, except at 0 (where the slope is +inf) and infinity.
    below = x < 0
    size = torch.where(below, -x, x)
    alone = (size == 0) | torch.isinf(size)
    usual = torch.where(alone, 1.0, size)
    near = usual ** (1 / 3)
    root = torch.where(alone, size ** (1 / 3), near + (usual / (near * near) - near) / 3)
    return torch.where(below, -root, root)


def power(x: Value, y: Value) -> Value:
    if isinstance(x, float) or isinstance(y, float):
        return x**y
    # Where the exponent is 0, so is torch's slope by the base, whatever the exponent does next.
    flat = (y == 0) & (x > 0) & (x < math.inf)
    found = torch.where(flat, 1.0, x) ** torch.where(flat, 1.0, y)
    found = torch.where(flat, torch.exp(torch.where(flat, y, 0.0) * torch.log(torch.where(flat, x, 1.0))), found)
    # From 0^0 = 1 it falls to 0 at once.
    corner = (y == 0) & (x == 0)
    return torch.where(corner, 1 - torch.sqrt(torch.where(corner, y, 1.0) + 0.0), found)


def log_gamma(x: Value) -> Value:
    # torch has numbers for derivatives at the poles below 0, whose slopes have no sign.
    pole = (x < 0) & (x == torch.floor(x)) & (x > -math.inf)
    off = torch.where(pole, x - x.detach(), 1.0)
    return torch.where(pole, -0.5 * torch.log(off * off), torch.lgamma(torch.where(pole, 1.0, x)))


def gamma(x: Value) -> Value:
    # torch has its logarithm only; between -2n - 1 and -2n the function is negative, and from the left at 0.
    below = (x < 0) & (torch.remainder(torch.floor(x), 2.0) == 1) | (1 / x == -math.inf)
    size = torch.exp(torch.lgamma(x))
    # At the poles below 0 it has no sign, so no value.
    return torch.where((x < 0) & (x == torch.floor(x)), math.nan, torch.where(below, -size, size))


def shifted(x: Value) -> tuple[Value, Value, list[Value]]:
    # An argument above 1/2 (the others are mirrored there), 16 further, where the series after Stirling has all digits, and the way.
    usual = torch.where(x < 0.5, 1 - x, x)
    return usual, usual + 16, [usual + k for k in range(16)]


def digamma(x: Value) -> Value:
    # The derivative of torch's own, its polygamma, has ten digits.
    _, far, way = shifted(x)
    # The square of the reciprocal: at infinity autograd multiplies the square's slope, infinite, by 0.
    z = torch.square(1 / far)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132)))))
    found = torch.log(far) - 0.5 / far - series - sum(1 / w for w in way)
    below = x < 0.5
    return torch.where(below, found - math.pi * cotangent(torch.where(below, x, 0.25)), found)


def cotangent(x: Value) -> Value:
    # Of a number of half turns. Around its zeros by the tangent: at the poles of that, autograd would subtract infinities from each other,
    # and from order two on the derivatives were wrong there. At its own poles but 0, where both sides are as good, it is none.
    whole = torch.round(x.detach())
    turn = torch.where(whole == 0, x, x - whole)
    aside = torch.abs(turn.detach()) > 0.25
    near = torch.where(aside, torch.where(turn < 0, turn + 0.5, turn - 0.5), 0.0)
    found = torch.where(aside, -torch.tan(math.pi * near), 1 / torch.tan(math.pi * torch.where(aside, 0.25, turn)))
    return found + torch.where((turn == 0) & (whole != 0), math.nan, 0.0).to(found.dtype)


def trigamma(x: Value) -> Value:
    _, far, way = shifted(x)
    z = torch.square(1 / far)
    series = (1 + z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * (5 / 66)))))) / far
    found = series + 0.5 * z + sum(torch.square(1 / w) for w in way)
    # By the way to the nearest whole number, which is 0 at the poles and keeps the digits far left.
    below = x < 0.5
    turn = torch.where(below, x - torch.round(x.detach()), 0.25)
    return torch.where(below, (math.pi / torch.sin(math.pi * turn)) ** 2 - found, found)


def beta_mixed(a: Value, b: Value) -> Value:
    # The first terms of the gaps cancel the first one of trigamma: the others are left.
    first, second = digamma_gap(a + 1, b), digamma_gap(b + 1, a)
    rest = b / (a + b) / a * second + a / (a + b) / b * first + first * second - trigamma(a + b + 1)
    return torch.exp(log_beta(a, b)) * rest


_EASY_ANGLES = {torch.float32: (2.0**-28, 2.0**28, 2.0**-120), torch.float64: (2.0**-240, 2.0**240, 2.0**-1000)}
"""Sizes whose fourth powers are numbers of the type, and the least one that has a reciprocal."""


@leaf
def angle(y: Value, x: Value) -> Value:
    # torch divides by the sum of the squares for the derivative, by its square for the second, which are 0 or infinite where the quotient
    # is neither. An angle is that of any multiple.
    if y.dtype not in _EASY_ANGLES:
        return torch.atan2(y, x)
    low, high, least = _EASY_ANGLES[y.dtype]
    size = torch.maximum(y.detach().abs(), x.detach().abs())
    scale = torch.where(((size >= low) & (size <= high)) | torch.isinf(size), 1.0, 1 / torch.where(size < least, least, size))
    # At the origin, where torch has a slope of 0, there is none: that of 0 as the difference of two roots.
    root = torch.sqrt(torch.where(size == 0, y + x, 1.0))
    scale = scale + (root - root)
    return torch.atan2(y * scale, x * scale)


def inverse_part(x: Value, y: Value) -> Value:
    size = torch.hypot(x, y)
    return x / size / size


def normal_log_cdf(x: Value) -> Value:
    # torch's own has no rule for vmap. Each side keeps to its half: the other would overflow and spoil the derivative.
    low = x < -1
    below = torch.where(low, x, -1.0)
    above = torch.where(low, -1.0, x)
    # At infinity the square alone is left, and no logarithm of 0.
    scaled = torch.where(below == -math.inf, -1.0, below)
    tail = torch.log(0.5 * erfcx(scaled * -0.7071067811865476)) - 0.5 * below * below
    return torch.where(low, tail, torch.log1p(-0.5 * erfc(above * 0.7071067811865476)))


def normal_hazard(x: Value) -> Value:
    return torch.exp(-0.5 * x * x - normal_log_cdf(x)) * 0.3989422804014327


def sign(x: Value) -> Value:
    return torch.where(torch.isnan(x), x.detach(), torch.sign(x))


# ---- vectors ----


def broadcast(*parts: Value) -> list[Value]:
    """Values of one shape with the batch sizes they make together."""
    together = torch.broadcast_tensors(*parts)
    return [together[k] for k in range(len(parts))]


def flat(x: Value, shape: Shape) -> Value:
    """The elements of a value, row by row, as one axis."""
    return x[..., None] if not shape else x.flatten(-2) if len(shape) == 2 else x


def shaped(x: Value, shape: Shape) -> Value:
    """One axis of elements as a value of this shape."""
    return x[..., 0] if not shape else x.unflatten(-1, shape) if len(shape) == 2 else x


def join(site: Site, *parts: Value) -> Value:
    alike = len(set(site.shapes)) == 1
    if alike and len(site.shape) == len(site.shapes[0]) + 1:
        return torch.stack(torch.broadcast_tensors(*parts), -1 - len(site.shapes[0]))
    return shaped(end_to_end(*(flat(p, s) for p, s in zip(parts, site.shapes))), site.shape)


@leaf
def end_to_end(*vectors: torch.Tensor) -> torch.Tensor:
    """Vectors with batch sizes that fit together, one after another."""
    batch = torch.broadcast_shapes(*(v.shape[:-1] for v in vectors))
    return torch.cat([v.expand(*batch, -1) for v in vectors], -1)


def cut(site: Site, x: Value) -> Value:
    (source,), start, size = site.shapes, site.attr, _count(site.shape)
    if not site.shape and len(source) == 1:
        return x[..., start]
    if not site.shape and len(source) == 2:
        return x[..., start // source[1], start % source[1]]
    if len(source) == 2 and site.shape == source[1:] and start % source[1] == 0:
        return x[..., start // source[1], :]
    return shaped(flat(x, source)[..., start : start + size], site.shape)


def place(site: Site, x: Value) -> Value:
    room = _count(site.shape) - site.attr - _count(site.shapes[0])
    return shaped(F.pad(flat(x, site.shapes[0]), (site.attr, room)), site.shape)


def spread(site: Site, x: Value) -> Value:
    return aligned(x, (), site.shape).expand(x.shape + site.shape)


def total(site: Site, x: Value) -> Value:
    return x.sum(tuple(range(-len(site.shapes[0]), 0))) if site.shapes[0] else x


def _count(shape: Shape) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


# ---- matrices ----


def product(site: Site, a: Value, b: Value) -> Value:
    return torch.matmul(a, b) if len(site.shapes[1]) == 2 else torch.matmul(a, b[..., None])[..., 0]


def solve(site: Site, a: Value, b: Value) -> Value:
    return solved(a, b[..., None])[..., 0] if len(site.shapes[1]) == 1 else solved(a, b)


@leaf
def solved(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The solutions of systems with matrices on the right. For forward derivatives PyTorch solves once more, and raises for the whole batch
    where one lane is singular: there it gets another matrix, which has the same derivative."""
    found: torch.Tensor
    if torch.onnx.is_in_onnx_export():
        found, info = onnx_matrices.solve_ex(a, b)
        found = matrices.or_nan(info == 0, found)
        return found
    regular = torch.linalg.lu_factor_ex(a.detach())[2] == 0
    other = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device) + (a - a.detach())
    usual = torch.where(regular[..., None, None], a, other)
    # With as many axes as the others: PyTorch may take a matrix for a batch of vectors.
    right = b[(None,) * max(0, a.dim() - b.dim())]
    found = matrices.or_nan(regular, torch.linalg.solve_ex(usual, right)[0])
    return found


def solve_band(site: Site, *parts: Value) -> Value:
    """By the whole matrix: `site.attr` diagonals are below the main one, and columns are counted round."""
    *diagonals, right = parts
    n = site.shape[0]
    numbers = torch.stack(torch.broadcast_tensors(*diagonals), -1)
    offsets = torch.arange(len(diagonals), device=numbers.device) - site.attr
    columns = (torch.arange(n, device=numbers.device)[:, None] + offsets) % n
    matrix = numbers.new_zeros(*numbers.shape[:-1], n).scatter(-1, columns.expand(numbers.shape), numbers)
    return solved(matrix, right[..., None])[..., 0]


HALF_E = 1.3591409142295225


def _far(x: Any) -> tuple[Any, Any, Any]:
    """Where torch's vector code for `sinh` and `cosh` overflows before the result does; the argument elsewhere; and half the exponential
    there, as exp(|x| - 1) e / 2. Each side is finite where the other is taken, so are their derivatives."""
    far = x.abs() > 700.0
    return far, torch.where(far, 0.0, x), torch.exp(torch.where(far, x.abs(), 1.0) - 1.0) * HALF_E


def _sinh(x: Any) -> Any:
    far, near, half = _far(x)
    return torch.where(far, torch.sign(x) * half, torch.sinh(near))


def _cosh(x: Any) -> Any:
    far, near, half = _far(x)
    return torch.where(far, half, torch.cosh(near))


OPERATIONS: dict[str, Expression] = {
    "Add": infix(lambda x, y: x + y),
    "Sub": infix(lambda x, y: x - y),
    "Neg": infix(lambda x: -x),
    "Mul": infix(lambda x, y: x * y),
    "Div": infix(lambda x, y: x / y),
    "Min": function(torch.minimum),
    "Max": function(torch.maximum),
    "Pow": infix(power),
    "Modulo": function(torch.remainder),
    "Remainder": function(torch.fmod),
    "Quotient": function(quotient),
    "Abs": function(torch.abs),
    "Sin": function(torch.sin),
    "Cos": function(torch.cos),
    "Tan": function(torch.tan),
    "Asin": function(torch.asin),
    "Acos": function(torch.acos),
    "Atan": function(torch.atan),
    "Atan2": function(angle),
    "InversePart": function(inverse_part),
    "Sinh": function(_sinh),
    "Cosh": function(_cosh),
    "Tanh": function(torch.tanh),
    "Exp": function(torch.exp),
    "Log": function(torch.log),
    "LogBase": function(lambda x, base: torch.log(x) / torch.log(base)),
    "Exp2": function(torch.exp2),
    "Log2": function(torch.log2),
    "Log10": function(torch.log10),
    "Expm1": function(exp_less_one),
    "Log1p": function(torch.log1p),
    "Sqrt": function(torch.sqrt),
    "Cbrt": function(cube_root),
    "Square": function(torch.square),
    "Floor": function(torch.floor),
    "Ceiling": function(torch.ceil),
    "Round": function(torch.round),
    "Truncate": function(torch.trunc),
    "Sign": function(sign),
    "Sigmoid": function(torch.sigmoid),
    # Above 40 it is x to the last digit. Other ways to write it lose the tails where torch exports them to ONNX.
    "Softplus": function(lambda x: F.softplus(x, threshold=40.0)),
    "Relu": function(torch.relu),
    "Erf": function(erf),
    "Bell": function(lambda x: torch.exp(-x * x)),
    "HalfBell": function(lambda x: torch.exp(-0.5 * x * x)),
    "HalfGrowth": function(lambda x: torch.exp(0.5 * x * x)),
    "Erfc": function(erfc),
    "Erfcx": function(erfcx),
    "ErfcxSlope": function(partial(erfcx_of_order, 1)),
    "ErfcxOfOrder": infix(erfcx_of_order),
    "Gamma": function(gamma),
    "Lgamma": function(log_gamma),
    "Digamma": function(digamma),
    "Trigamma": function(trigamma),
    "Polygamma": infix(lambda order, x: torch.polygamma(int(order), x)),
    "Beta": function(lambda a, b: torch.exp(log_beta(a, b))),
    "BetaSlope": function(lambda a, b: -torch.exp(log_beta(a, b)) * digamma_gap(a, b)),
    "BetaMixed": function(beta_mixed),
    "Lbeta": function(log_beta),
    "DigammaGap": function(digamma_gap),
    "TrigammaGap": function(trigamma_gap),
    # torch's own is 0 where the result is small.
    "NormalCdf": function(lambda x: 0.5 * erfc(-math.sqrt(0.5) * x)),
    "NormalLogCdf": function(normal_log_cdf),
    "NormalQuantile": function(torch.special.ndtri),
    "NormalHazard": function(normal_hazard),
    "NormalExcess": function(lambda x: x + normal_hazard(x)),
    "BesselJ0": function(lambda x: bessel_j(0, x)),
    "BesselJ1": function(lambda x: bessel_j(1, x)),
    "BesselI0": function(lambda x: bessel_i(0, x)),
    "BesselI1": function(lambda x: bessel_i(1, x)),
    "BesselK0": function(lambda x: bessel_k(0, x)),
    "BesselK1": function(lambda x: bessel_k(1, x)),
    "BesselJ": infix(lambda order, x: bessel_j(order, x)),
    "BesselI": infix(lambda order, x: bessel_i(order, x)),
    "BesselK": infix(lambda order, x: bessel_k(order, x)),
    "GammaP": function(gamma_p),
    "GammaQ": function(lambda a, x: gamma_p(a, x, True)),
    "GammaP1": function(partial(gamma_p_slope, 1)),
    "GammaP2": function(partial(gamma_p_slope, 2)),
    "GammaP3": function(partial(gamma_p_slope, 3)),
    "GammaDensity": function(gamma_density),
    "BetaP": function(beta_p),
    "BetaQ": function(lambda a, b, x: beta_p(a, b, x, True)),
    "BetaPA": function(partial(beta_p_slope, (1, 0))),
    "BetaPB": function(partial(beta_p_slope, (0, 1))),
    "BetaPAA": function(partial(beta_p_slope, (2, 0))),
    "BetaPAB": function(partial(beta_p_slope, (1, 1))),
    "BetaPBB": function(partial(beta_p_slope, (0, 2))),
    "BetaDensity": function(beta_density),
    "Voigt": function(voigt),
    **{f"Voigt{by}": function(partial(voigt_slope, len(by), by[-1] == "G")) for by in ("X", "G", "XX", "XG", "XXX", "XXG", "XXXX", "XXXG")},
    "Eq": comparison(lambda x, y: x == y),
    "Lt": comparison(lambda x, y: x < y),
    "Gt": comparison(lambda x, y: x > y),
    "Le": comparison(lambda x, y: x <= y),
    "Ge": comparison(lambda x, y: x >= y),
    "Select": Expression(torch.where, numbers=True),
    "Dot": whole(lambda _, u, v: (u * v).sum(-1)),
    "Cross": whole(lambda _, u, v: torch.linalg.cross(*broadcast(u, v))),
    "Norm": whole(lambda _, v: norm(v)),
    "Total": whole(total),
    "Transpose": whole(lambda _, a: a.transpose(-2, -1)),
    "Trace": whole(lambda _, a: torch.diagonal(a, dim1=-2, dim2=-1).sum(-1)),
    "Det": whole(lambda site, a: matrices.determinant(a, site.shapes[0][0])),
    "Inv": whole(lambda _, a: matrices.inverse(a)),
    "Solve": whole(solve),
    "SolveBand": whole(solve_band),
    "Outer": whole(lambda _, u, v: u[..., :, None] * v[..., None, :]),
    "Cofactor": whole(lambda site, a: matrices.cofactors(a, site.shape[0])),
    "CofactorAlong": whole(lambda site, a, t: matrices.cofactors_along(a, t, site.shape[0])),
    "Join": whole(join),
    "Cut": whole(cut),
    "Place": whole(place),
    "CutAt": whole(lambda site, x, i: element_at(x, i, site.shapes[0], site.span, site.attr)),
    "PlaceAt": whole(lambda site, x, i: placed_at(x, i, site.shape, site.span, site.attr)),
    "Spread": whole(spread),
    "Identity": whole(lambda site: torch.diag_embed(site.anchor.new_ones(site.shape[0]))),
    "Product": whole(product),
}
