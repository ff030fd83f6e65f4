"""Programs and points for the tests of the PyTorch face: one per operation of the table, and programs with every kind of control
flow and shape. Points lie where derivatives exist, away from kinks."""

from __future__ import annotations

from dataclasses import dataclass

import torch

F64 = torch.float64


@dataclass(frozen=True)
class Sample:
    """A program and a batch of inputs."""

    source: str
    inputs: dict[str, object]
    values: tuple[tuple[float, ...], ...]
    """For each input the numbers of one lane, row by row; further lanes are moved a little."""
    whole: tuple[str, ...] = ()
    """Inputs that are whole numbers, an index say: they have no neighbours to take differences with."""

    def tensors(self, lanes: int = 2, requires_grad: bool = True) -> list[torch.Tensor]:
        made = []
        for (name, shape), numbers in zip(self.inputs.items(), self.values, strict=True):
            axes = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)  # type: ignore[arg-type]
            base = torch.tensor(numbers, dtype=F64).reshape(axes)
            batch = torch.stack([base * (1 + 0.03 * lane) for lane in range(lanes)])
            made.append(batch.requires_grad_(requires_grad and name not in self.whole))
        return made


def _scalars(name: str, *point: float) -> Sample:
    names = "xyz"[: len(point)]
    return Sample(f"({name} {' '.join(names)})", dict.fromkeys(names), tuple((p,) for p in point))


V = (0.4, -0.7, 1.1)
W = (0.9, 0.3, -0.5)
M = (2.0, 0.3, -0.4, 0.1, 1.5, 0.2, -0.3, 0.6, 1.8)
N = (0.7, -0.2, 0.5, 0.3, 0.9, -0.6, 0.1, 0.4, 1.2)

_UNARY = {
    "Neg": "-", "Recip": "/", "Abs": "abs", "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan",
    "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh", "Exp": "exp", "Log": "log", "Exp2": "exp2", "Log2": "log2", "Log10": "log10",
    "Expm1": "expm1", "Log1p": "log1p", "Sqrt": "sqrt", "Cbrt": "cbrt", "Square": "square", "Floor": "floor", "Ceiling": "ceiling",
    "Round": "round", "Truncate": "truncate", "Sign": "sign", "Sigmoid": "sigmoid", "Softplus": "softplus", "Relu": "relu", "Erf": "erf",
    "Erfc": "erfc", "Erfcx": "erfcx", "Gamma": "gamma", "Lgamma": "lgamma", "Digamma": "digamma", "Trigamma": "trigamma",
    "NormalCdf": "normal-cdf", "NormalLogCdf": "normal-log-cdf", "NormalQuantile": "normal-quantile",
    "BesselJ0": "bessel-j0", "BesselJ1": "bessel-j1", "BesselI0": "bessel-i0", "BesselI1": "bessel-i1", "BesselK0": "bessel-k0",
    "BesselK1": "bessel-k1", "Not": "not",
}  # fmt: skip
_BINARY = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Min": "min", "Max": "max", "Pow": "pow", "Atan2": "atan", "LogBase": "log",
    "Beta": "beta", "Lbeta": "lbeta", "GammaP": "gamma-p", "GammaQ": "gamma-q", "Eq": "=", "Lt": "<", "Gt": ">", "Le": "<=", "Ge": ">=",
}  # fmt: skip

OPERATIONS: dict[str, Sample] = {
    **{op: _scalars(name, 0.63) for op, name in _UNARY.items()},
    **{op: _scalars(name, 0.63, 1.7) for op, name in _BINARY.items()},
    "Modulo": _scalars("modulo", 7.3, 2.1),
    "Remainder": _scalars("remainder", -7.3, 2.1),
    "Quotient": _scalars("quotient", 7.3, 2.1),
    "Select": _scalars("select", 1.0, 0.4, 0.9),
    "Voigt": _scalars("voigt", 0.5, 0.8, 0.3),
    "BetaP": _scalars("beta-p", 1.3, 2.1, 0.4),
    "BetaQ": _scalars("beta-q", 1.3, 2.1, 0.4),
    "Clamp": _scalars("clamp", 0.5, 0.2, 0.9),
    "Vec": Sample("(vec x y (* x y))", {"x": None, "y": None}, ((0.4,), (1.3,))),
    "Ref": Sample("(* (ref v 1) (ref v i))", {"v": 3, "i": None}, (V, (0.0,)), ("i",)),
    "Dot": Sample("(dot u v)", {"u": 3, "v": 3}, (V, W)),
    "Cross": Sample("(cross u v)", {"u": 3, "v": 3}, (V, W)),
    "Norm": Sample("(norm v)", {"v": 3}, (V,)),
    "Normalize": Sample("(normalize v)", {"v": 3}, (V,)),
    "Vsum": Sample("(vsum (* v v))", {"v": 3}, (V,)),
    "Vlen": Sample("(* (vlen v) (ref v 0))", {"v": 3}, (V,)),
    "Scale": Sample("(scale s v)", {"s": None, "v": 3}, ((0.7,), V)),
    "Slice": Sample("(slice v 1 3)", {"v": 3}, (V,)),
    "Concat": Sample("(concat u (* u v))", {"u": 3, "v": 3}, (V, W)),
    "Linspace": Sample("(square (linspace x y 4))", {"x": None, "y": None}, ((0.4,), (1.3,))),
    "FirstDifference": Sample("(first-difference v s 2 h)", {"v": 3, "s": None, "h": None}, (V, (0.7,), (0.4,))),
    "SecondDifference": Sample("(second-difference v s (ref v 0) h)", {"v": 3, "s": None, "h": None}, (V, (0.7,), (0.4,))),
    "Interpolate": Sample("(interpolate v 0 2 x)", {"v": 3, "x": None}, (V, (0.7,))),
    "Total": Sample("(total (* a a))", {"a": (3, 3)}, (M,)),
    "Mat": Sample("(mat u v)", {"u": 3, "v": 3}, (V, W)),
    "Matmul": Sample("(matmul a b)", {"a": (3, 3), "b": (3, 3)}, (M, N)),
    "Matvec": Sample("(matvec a v)", {"a": (3, 3), "v": 3}, (M, V)),
    "Transpose": Sample("(transpose a)", {"a": (3, 3)}, (M,)),
    "Trace": Sample("(trace (matmul a a))", {"a": (3, 3)}, (M,)),
    "Det": Sample("(det a)", {"a": (3, 3)}, (M,)),
    "Inv": Sample("(inv a)", {"a": (3, 3)}, (M,)),
    "Solve": Sample("(solve a v)", {"a": (3, 3), "v": 3}, (M, V)),
    "Outer": Sample("(outer u v)", {"u": 3, "v": 3}, (V, W)),
    "Eye": Sample("(* x (eye 3))", {"x": None}, ((0.7,),)),
    "Zeros": Sample("(+ x (zeros 2 2))", {"x": None}, ((0.7,),)),
    "Ones": Sample("(* x (ones 3))", {"x": None}, ((0.7,),)),
    "Fill": Sample("(fill (* x x) 3)", {"x": None}, ((0.7,),)),
    "Cofactor": Sample("(cofactor a)", {"a": (3, 3)}, (M,)),
}  # fmt: skip

PROGRAMS: dict[str, Sample] = {
    "branch": Sample("(if (> x 1) (* x y) (/ (sin x) y))", {"x": None, "y": None}, ((0.99,), (1.3,))),
    "loop": Sample("(loop ((i 0) (a 1)) (if (>= i 4) a (recur (+ i 1) (+ (* a x) (sin y)))))", {"x": None, "y": None}, ((0.7,), (0.4,))),
    "uneven loop": Sample("(let go ((a x)) (if (> (abs a) 3) (* a y) (go (* a 1.7))))", {"x": None, "y": None}, ((1.75,), (0.4,))),
    "recursion": Sample(
        "(define (f n) (if (<= n 0) x (+ (* y (f (- n 1))) (exp (f (- n 2)))))) (f 3)", {"x": None, "y": None}, ((0.3,), (0.4,))
    ),
    "vectors": Sample("(dot (cross u v) (normalize (+ u (* 2 v))))", {"u": 3, "v": 3}, (V, W)),
    "matrices": Sample("(matvec (inv (matmul a (transpose a))) v)", {"a": (3, 3), "v": 3}, (M, V)),
    "vector result": Sample("[(* x y) (sin x) (/ x y)]", {"x": None, "y": None}, ((0.6,), (1.4,))),
    "loop over vectors": Sample(
        "(loop ((i 0) (u v)) (if (>= i 3) (dot u v) (recur (+ i 1) (sin (matvec a u)))))", {"a": (3, 3), "v": 3}, (N, V)
    ),
}
