//! The benchmark's programs by hand: value, and value with gradient, for a vector of lanes. `../../programs/*.scm` says what
//! each is; operations are in the order stated there, and nothing is contracted, as Rust does not.

use crate::lanes::Lanes;

/// A program of `I` inputs.
pub(crate) trait Formula<const I: usize> {
    /// Vectors worked on at once, to hide the latency of a long chain of operations.
    const ABREAST: usize = 1;

    fn value<V: Lanes>(x: [V; I]) -> V;
    fn gradient<V: Lanes>(x: [V; I]) -> (V, [V; I]);
}

macro_rules! formulas {
    ($($name:ident [$($x:ident),*] $value:expr => [$($partial:expr),*];)*) => {$(
        pub(crate) struct $name;

        impl Formula<{ [$(stringify!($x)),*].len() }> for $name {
            #[inline(always)]
            fn value<V: Lanes>([$($x),*]: [V; { [$(stringify!($x)),*].len() }]) -> V {
                $value
            }
            #[inline(always)]
            #[allow(unused_variables, reason = "some gradients are constant")]
            fn gradient<V: Lanes>([$($x),*]: [V; { [$(stringify!($x)),*].len() }]) -> (V, [V; { [$(stringify!($x)),*].len() }]) {
                ($value, [$($partial),*])
            }
        }
    )*};
}

formulas! {
    Add [x, y] x + y => [V::all(1.0), V::all(1.0)];
    SquarePlus [x, y] x * x + y => [V::all(2.0) * x, V::all(1.0)];
    FourOps [a, b, c, d] a * b + (c - d) => [b, a, V::all(1.0), V::all(-1.0)];
    Abs [x] x.if_greater(V::all(0.0), x, V::all(0.0) - x) => [x.if_greater(V::all(0.0), V::all(1.0), V::all(-1.0))];
    Clamp [x] x.if_less(V::all(0.0), V::all(0.0), x.if_greater(V::all(10.0), V::all(10.0), x))
        => [x.if_less(V::all(0.0), V::all(0.0), x.if_greater(V::all(10.0), V::all(0.0), V::all(1.0)))];
    Quadratic [a, b, c, x] a * (x * x) + b * x + c => [x * x, x, V::all(1.0), V::all(2.0) * a * x + b];
    Discriminant [a, b, c] (b * b - V::all(4.0) * (a * c)).if_at_least(V::all(0.0), V::all(1.0), V::all(0.0))
        => [V::all(0.0), V::all(0.0), V::all(0.0)];
    DistSq [x1, x2, y1, y2] (x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2)
        => [V::all(2.0) * (x1 - x2), V::all(-2.0) * (x1 - x2), V::all(2.0) * (y1 - y2), V::all(-2.0) * (y1 - y2)];
    Dot4 [a1, b1, a2, b2, a3, b3, a4, b4] (a1 * b1 + a2 * b2) + (a3 * b3 + a4 * b4) => [b1, a1, b2, a2, b3, a3, b4, a4];
}

pub(crate) struct Gaussian;

impl Formula<2> for Gaussian {
    #[inline(always)]
    fn value<V: Lanes>([theta, sigma]: [V; 2]) -> V {
        ((V::all(0.0) - theta * theta) / (V::all(2.0) * (sigma * sigma))).exp()
    }
    #[inline(always)]
    fn gradient<V: Lanes>([theta, sigma]: [V; 2]) -> (V, [V; 2]) {
        let value = Gaussian::value([theta, sigma]);
        let slope = theta / (sigma * sigma);
        (value, [V::all(0.0) - value * slope, value * slope * (theta / sigma)])
    }
}

pub(crate) struct Barometric;

impl Formula<4> for Barometric {
    #[inline(always)]
    fn value<V: Lanes>([m, g, x, t]: [V; 4]) -> V {
        V::all(5.0) * ((V::all(0.0) - m) * (g * x) / (V::all(1.381) * t)).exp()
    }
    #[inline(always)]
    fn gradient<V: Lanes>([m, g, x, t]: [V; 4]) -> (V, [V; 4]) {
        let over = V::all(1.0) / (V::all(1.381) * t);
        let value = V::all(5.0) * ((V::all(0.0) - m) * (g * x) * over).exp();
        let down = V::all(0.0) - value * over;
        (value, [down * (g * x), down * (m * x), down * (m * g), V::all(0.0) - down * (m * (g * x)) / t])
    }
}

pub(crate) struct Pendulum;

impl Formula<2> for Pendulum {
    #[inline(always)]
    fn value<V: Lanes>([theta, omega]: [V; 2]) -> V {
        V::all(-9.81) * theta.sin_cos().0 + V::all(-0.3) * omega
    }
    #[inline(always)]
    fn gradient<V: Lanes>([theta, omega]: [V; 2]) -> (V, [V; 2]) {
        let (sin, cos) = theta.sin_cos();
        (V::all(-9.81) * sin + V::all(-0.3) * omega, [V::all(-9.81) * cos, V::all(-0.3)])
    }
}

pub(crate) struct ThreeBody;

const MU: f64 = 0.01215;

impl Formula<6> for ThreeBody {
    #[inline(always)]
    fn value<V: Lanes>(at: [V; 6]) -> V {
        ThreeBody::gradient(at).0
    }
    #[inline(always)]
    fn gradient<V: Lanes>([x, y, z, px, py, pz]: [V; 6]) -> (V, [V; 6]) {
        let (mu, rest) = (V::all(MU), V::all(1.0) - V::all(MU));
        let (dx1, dx2) = (x + mu, x - rest);
        let plane = y * y + z * z;
        let (r1, r2) = ((dx1 * dx1 + plane).sqrt(), (dx2 * dx2 + plane).sqrt());
        let (u1, u2) = (rest / r1, mu / r2);
        let kinetic = V::all(0.5) * (px * px + py * py + pz * pz);
        let (f1, f2) = (u1 / (r1 * r1), u2 / (r2 * r2));
        let partials = [f1 * dx1 + f2 * dx2 - py, px + (f1 + f2) * y, (f1 + f2) * z, px + y, py - x, pz];
        (kinetic + (y * px - x * py) - u1 - u2, partials)
    }
}

pub(crate) struct SoftClamp;

impl Formula<1> for SoftClamp {
    #[inline(always)]
    fn value<V: Lanes>(x: [V; 1]) -> V {
        SoftClamp::gradient(x).0
    }
    /// One exponential serves both outer branches, as a lane takes only one of them.
    #[inline(always)]
    fn gradient<V: Lanes>([x]: [V; 1]) -> (V, [V; 1]) {
        let (one, two, ten) = (V::all(1.0), V::all(2.0), V::all(10.0));
        let e = x.if_less(V::all(0.0), x, two * (x - ten)).exp();
        let t = one - two / (e + one);
        let value = x.if_less(V::all(0.0), e - one, x.if_greater(ten, ten + t, x));
        (value, [x.if_less(V::all(0.0), e, x.if_greater(ten, one - t * t, one))])
    }
}

pub(crate) struct Newton20;

impl Formula<1> for Newton20 {
    const ABREAST: usize = 2;

    #[inline(always)]
    fn value<V: Lanes>([x]: [V; 1]) -> V {
        let mut y = V::all(1.0);
        for _ in 0..20 {
            y = V::all(0.5) * (y + x / y);
        }
        y
    }
    /// Forward: one tangent for one input.
    #[inline(always)]
    fn gradient<V: Lanes>([x]: [V; 1]) -> (V, [V; 1]) {
        let (mut y, mut dy) = (V::all(1.0), V::all(0.0));
        for _ in 0..20 {
            let over = V::all(1.0) / y;
            let ratio = x * over;
            dy = V::all(0.5) * (dy + (V::all(1.0) - ratio * dy) * over);
            y = V::all(0.5) * (y + ratio);
        }
        (y, [dy])
    }
}

pub(crate) struct Chain250;

impl Formula<1> for Chain250 {
    const ABREAST: usize = 8;

    #[inline(always)]
    fn value<V: Lanes>([x]: [V; 1]) -> V {
        (0..250).fold(x, |sum, _| sum + V::all(1.0))
    }
    #[inline(always)]
    fn gradient<V: Lanes>(x: [V; 1]) -> (V, [V; 1]) {
        (Chain250::value(x), [V::all(1.0)])
    }
}
