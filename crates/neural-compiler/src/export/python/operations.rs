//! Operations in Python, for NumPy and for JAX, whose `jax.numpy` goes by the same names. In: an operation and the texts of its arguments;
//! out: an expression, and the helpers it needs.
//! Invariant: an expression says the same with NumPy and with JAX; what only one of them has is `None` for the other.

use super::Flavour;
use crate::export::spell::bare;
use crate::export::structured::Named;
use crate::ops::Op;
use crate::ops::row::Kernel;
use crate::shape::Shape;
use std::collections::BTreeSet;

/// A helper of the text: its name and its definition; JAX may need another one.
struct Helper {
    name: &'static str,
    numpy: &'static str,
    jax: Option<&'static str>,
}

const HELPERS: &[Helper] = &[
    Helper { name: "choose", numpy: "def choose(test, yes, no):\n    return np.where(test, yes, no)[()]\n", jax: None },
    Helper { name: "sign", numpy: "def sign(x):\n    return np.where(x == 0, x, np.sign(x))[()]\n", jax: None },
    Helper {
        name: "sigmoid",
        numpy: "def sigmoid(x):\n    e = np.exp(-np.abs(x))\n    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))[()]\n",
        jax: None,
    },
    Helper { name: "softplus", numpy: "def softplus(x):\n    return np.maximum(x, real(0)) + np.log1p(np.exp(-np.abs(x)))\n", jax: None },
    Helper {
        name: "gauss",
        numpy: "def gauss(x, factor):\n    # exp(factor x^2), the square in two parts so that no digits of it are lost\n    \
                y = np.clip(x, real(-60), real(60))\n    h = np.trunc(y * 1048576) / 1048576\n    \
                return np.exp(factor * h * h) * np.exp(factor * (y - h) * (y + h))\n",
        jax: None,
    },
    Helper {
        name: "modulo",
        numpy: "def modulo(x, y):\n    r = np.fmod(x, y)\n    moved = np.where((r < 0) != (y < 0), r + y, r)\n    \
                return np.where(r == 0, np.copysign(real(0), y), moved)[()]\n",
        jax: None,
    },
    Helper {
        name: "joined",
        numpy: "def joined(parts, shape):\n    return np.concatenate([np.ravel(np.asarray(p, real)) for p in parts]).reshape(shape)\n",
        jax: None,
    },
    Helper {
        name: "placed",
        numpy: "def placed(x, start, count, shape):\n    x = np.ravel(x)\n    \
                return np.concatenate([np.zeros(start, real), x, np.zeros(count - start - x.size, real)]).reshape(shape)\n",
        jax: None,
    },
    Helper {
        name: "at",
        numpy: "def at(a, i):\n    if not (0 <= i < len(a) and i == np.trunc(i)):\n        \
                raise IndexError(f\"the index {i} is outside a value of length {len(a)}\")\n    return a[int(i)]\n",
        jax: Some(
            "def at(a, i):\n    # where the index is out of range, NaN: nothing can be raised in compiled code\n    \
             fine = (i >= 0) & (i < len(a)) & (i == np.trunc(i))\n    \
             return np.where(fine, a[np.clip(np.nan_to_num(i), 0, len(a) - 1).astype(int)], np.nan)\n",
        ),
    },
    Helper {
        name: "placed_at",
        numpy: "def placed_at(x, i, shape):\n    if not (0 <= i < shape[0] and i == np.trunc(i)):\n        \
                raise IndexError(f\"the index {i} is outside a value of length {shape[0]}\")\n    \
                out = np.zeros(shape, real)\n    out[int(i)] = x\n    return out\n",
        jax: Some(
            "def placed_at(x, i, shape):\n    fine = (i >= 0) & (i < shape[0]) & (i == np.trunc(i))\n    \
             k = np.clip(np.nan_to_num(i), 0, shape[0] - 1).astype(int)\n    \
             return np.where(fine, np.zeros(shape, real).at[k].set(x), np.nan)\n",
        ),
    },
    Helper {
        name: "inverse",
        numpy: "def inverse(a):\n    try:\n        return np.linalg.inv(a)\n    except np.linalg.LinAlgError:\n        \
                return np.full_like(a, np.nan)\n",
        jax: Some("def inverse(a):\n    return np.linalg.inv(a)\n"),
    },
    Helper {
        name: "solution",
        numpy: "def solution(a, b):\n    try:\n        return np.linalg.solve(a, b)\n    except np.linalg.LinAlgError:\n        \
                return np.full_like(b, np.nan)\n",
        jax: Some("def solution(a, b):\n    return np.linalg.solve(a, b)\n"),
    },
    Helper {
        name: "cofactor",
        numpy: "def cofactor(a):\n    n = len(a)\n    if n == 1:\n        return np.ones((1, 1), real)\n    \
                minor = lambda i, j: np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))\n    \
                return np.asarray([[(-1) ** (i + j) * minor(i, j) for j in range(n)] for i in range(n)], real)\n",
        jax: None,
    },
];

/// The texts of helpers, in an order in which each comes before its use.
pub(super) fn helpers(needed: &BTreeSet<&'static str>, flavour: Flavour) -> String {
    let wanted = HELPERS.iter().filter(|h| needed.contains(h.name));
    let texts: Vec<&str> = wanted.map(|h| h.jax.filter(|_| flavour == Flavour::Jax).unwrap_or(h.numpy)).collect();
    texts.iter().map(|t| format!("{t}\n\n")).collect()
}

/// An expression, or `None` where the library has no such function.
pub(super) struct Writer {
    pub(super) flavour: Flavour,
    pub(super) needed: BTreeSet<&'static str>,
    /// Whether special functions are used.
    pub(super) special: bool,
}

/// A shape as Python writes it.
pub(super) fn shape_text(shape: Shape) -> String {
    match shape {
        Shape::Scalar => "()".into(),
        Shape::Vector(n) => format!("({n},)"),
        Shape::Matrix(r, c) => format!("({r}, {c})"),
    }
}

impl Writer {
    pub(super) fn new(flavour: Flavour) -> Writer {
        Writer { flavour, needed: BTreeSet::new(), special: false }
    }

    fn helper(&mut self, name: &'static str, args: &str) -> Option<String> {
        self.needed.insert(name);
        Some(format!("{name}({args})"))
    }

    /// A function of SciPy; those that JAX has too are marked.
    fn special(&mut self, name: &str, both: bool, args: &str) -> Option<String> {
        if self.flavour == Flavour::Jax && !both {
            return None;
        }
        self.special = true;
        Some(format!("special.{name}({args})"))
    }

    /// An elementwise operation on values of any shape.
    pub(super) fn elementwise(&mut self, op: Op, args: &[String]) -> Option<String> {
        let all = args.iter().map(|a| bare(a)).collect::<Vec<_>>().join(", ");
        let np = |name: &str| Some(format!("np.{name}({all})"));
        let infix = |sign: &str| Some(format!("({} {sign} {})", args[0], args[1]));
        match &op.row().kernel {
            Kernel::Unary(f) => match f.name {
                "neg" => Some(format!("(-{})", args[0])),
                "asin" => np("arcsin"),
                "acos" => np("arccos"),
                "atan" => np("arctan"),
                "ceiling" => np("ceil"),
                "round" => np("rint"),
                "truncate" => np("trunc"),
                name @ ("sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "exp" | "exp2" | "expm1" | "log" | "log2" | "log10"
                | "log1p" | "sqrt" | "cbrt" | "square" | "floor" | "abs") => np(name),
                "relu" => self.helper("choose", &format!("{0} <= 0, real(0), {0}", args[0])),
                "sign" => self.helper("sign", &all),
                "sigmoid" => self.helper("sigmoid", &all),
                "softplus" => self.helper("softplus", &all),
                "bell" => self.helper("gauss", &format!("{all}, real(-1)")),
                "half-bell" => self.helper("gauss", &format!("{all}, real(-0.5)")),
                "half-growth" => self.helper("gauss", &format!("{all}, real(0.5)")),
                "erf" => self.special("erf", true, &all),
                "erfc" => self.special("erfc", true, &all),
                "erfcx" => self.special("erfcx", false, &all),
                "gamma" => self.special("gamma", true, &all),
                "lgamma" => self.special("gammaln", true, &all),
                "digamma" => self.special("digamma", true, &all),
                "trigamma" => self.special("polygamma", true, &format!("1, {all}")),
                "normal-cdf" => self.special("ndtr", true, &all),
                "normal-log-cdf" => self.special("log_ndtr", true, &all),
                "normal-quantile" => self.special("ndtri", true, &all),
                "bessel-j0" => self.special("j0", false, &all),
                "bessel-j1" => self.special("j1", false, &all),
                "bessel-i0" => self.special("i0", true, &all),
                "bessel-i1" => self.special("i1", true, &all),
                "bessel-k0" => self.special("k0", false, &all),
                "bessel-k1" => self.special("k1", false, &all),
                _ => None,
            },
            Kernel::Binary(f) => match f.name {
                "add" => infix("+"),
                "sub" => infix("-"),
                "mul" => infix("*"),
                "div" => infix("/"),
                "min" => np("minimum"),
                "max" => np("maximum"),
                "pow" => np("power"),
                "atan2" => np("arctan2"),
                "remainder" => np("fmod"),
                "modulo" => self.helper("modulo", &all),
                "quotient" => Some(format!("np.trunc({} / {})", args[0], args[1])),
                "log_base" => Some(format!("(np.log({}) / np.log({}))", args[0], args[1])),
                "inverse-part" => Some(format!("({0} / ({0} * {0} + {1} * {1}))", args[0], args[1])),
                "eq" => self.test(args, "=="),
                "lt" => self.test(args, "<"),
                "gt" => self.test(args, ">"),
                "le" => self.test(args, "<="),
                "ge" => self.test(args, ">="),
                "polygamma" => self.special("polygamma", true, &all),
                "beta" => self.special("beta", true, &all),
                "lbeta" => self.special("betaln", true, &all),
                "bessel-j" => self.special("jv", false, &all),
                "bessel-i" => self.special("iv", false, &all),
                "bessel-k" => self.special("kv", false, &all),
                "gamma-p" => self.special("gammainc", true, &all),
                "gamma-q" => self.special("gammaincc", true, &all),
                _ => None,
            },
            Kernel::Select => self.helper("choose", &format!("{} != 0, {}, {}", args[0], args[1], args[2])),
            Kernel::Ternary(f) if f.name == "voigt" => {
                self.special("voigt_profile", false, &format!("{}, np.abs({}), {}", args[0], args[1], args[2]))
            }
            Kernel::Ternary(_) | Kernel::Tensor(_) | Kernel::Composite(_) => None,
        }
    }

    fn test(&mut self, args: &[String], sign: &str) -> Option<String> {
        self.helper("choose", &format!("{} {sign} {}, real(1), real(0)", args[0], args[1]))
    }

    /// An operation on whole values.
    pub(super) fn tensor(&mut self, op: Op, attribute: u32, to: &Named, args: &[Named]) -> Option<String> {
        let text = |k: usize| args.get(k).map_or("", |a| &a.text);
        let (a, b, shape, start) = (text(0), text(1), shape_text(to.shape()), attribute as usize);
        match op {
            Op::Dot => Some(format!("np.dot({a}, {b})")),
            Op::Cross => Some(format!("np.cross({a}, {b})")),
            Op::Norm => Some(format!("np.linalg.norm({a})")),
            Op::Total => Some(format!("np.sum({a})")),
            Op::Transpose => Some(format!("np.transpose({a})")),
            Op::Trace => Some(format!("np.trace({a})")),
            Op::Det => Some(format!("np.linalg.det({a})")),
            Op::Inv => self.helper("inverse", a),
            Op::Solve => self.helper("solution", &format!("{a}, {b}")),
            Op::Outer => Some(format!("np.outer({a}, {b})")),
            Op::Cofactor => self.helper("cofactor", a),
            Op::Join => {
                let parts: Vec<&str> = args.iter().map(|p| p.text.as_str()).collect();
                self.helper("joined", &format!("[{}], {shape}", parts.join(", ")))
            }
            Op::Cut if to.is_scalar() => Some(format!("np.ravel({a})[{start}]")),
            Op::Cut => Some(format!("np.ravel({a})[{start}:{}].reshape({shape})", start + to.len())),
            Op::Place => self.helper("placed", &format!("{a}, {start}, {}, {shape}", to.len())),
            Op::CutAt => self.helper("at", &format!("{a}, {b}")),
            Op::PlaceAt => self.helper("placed_at", &format!("{a}, {b}, {shape}")),
            Op::Spread => Some(format!("np.full({shape}, {a}, real)")),
            Op::Identity => match to.shape() {
                Shape::Matrix(r, c) => Some(format!("np.eye({r}, {c}, dtype=real)")),
                Shape::Scalar | Shape::Vector(_) => None,
            },
            Op::Product => Some(match args.first().map(Named::shape) {
                Some(Shape::Vector(n)) => format!("(np.reshape({a}, ({n}, 1)) @ {b}).reshape({shape})"),
                _ => format!("({a} @ {b})"),
            }),
            _ => None,
        }
    }
}
