//! The table of schemes. In: a name; out: the numbers of a scheme, its orders and what to say of it.
//!
//! A row is all there is to a scheme: the graph of its step (`step`), its step control (`control`), the command line, fits, saved models
//! and PyTorch's `odeint` read it.
//! Invariant (tested): every row meets the conditions of its order and, where it has an error estimate, those of the order it states.

use std::fmt;
use std::str::FromStr;

/// The numbers of an explicit Runge-Kutta method.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Explicit {
    /// Where the stages behind the first stand, as shares of the step.
    pub nodes: &'static [f64],
    /// Weights of the slopes before each of these stages.
    pub stages: &'static [&'static [f64]],
    /// Weights of the slopes in the step. Where they are those of the last stage, that is the step, and its slope the next step's first.
    pub weights: &'static [f64],
    /// Weights of all slopes in the error estimate; empty: there is none.
    pub error: &'static [f64],
}

/// The numbers of a Rosenbrock method in the form without products by the Jacobian; its last stage is the error estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rosenbrock {
    /// The matrix of every stage is 1 / (gamma h) - J.
    pub gamma: f64,
    /// Where the stages stand, as shares of the step.
    pub nodes: &'static [f64],
    /// Weights of the derivative by time.
    pub time: &'static [f64],
    /// Weights of earlier stages in the states of a stage.
    pub states: &'static [&'static [f64]],
    /// Weights of earlier stages, over h, in its right-hand side.
    pub slopes: &'static [&'static [f64]],
}

/// How a step is computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Formula {
    /// A map: the law itself gives the next states.
    Map,
    /// Slopes at stages, and sums of them.
    Explicit(Explicit),
    /// Stages by linear solves with the Jacobian.
    Rosenbrock(Rosenbrock),
}

/// A row of the table.
#[derive(PartialEq, Debug)]
pub struct Row {
    /// Its name in every face.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// In a few words.
    pub about: &'static str,
    /// The power of the step that the error of a solution goes with.
    pub order: u32,
    /// The same of the solution the error estimate compares with; `None`: steps are given.
    pub embedded: Option<u32>,
    /// Its numbers.
    pub formula: Formula,
}

/// A way for states to move on: a row of the table, or a map.
#[derive(Clone, Copy)]
pub struct Scheme(&'static Row);

/// The name under which fits and `odeint` choose between [`Scheme::explicit`] and [`Scheme::implicit`] themselves.
pub const AUTO: &str = "auto";

impl Scheme {
    /// A map: every step is the law itself. It has no row: it solves no equation.
    pub const MAP: Scheme =
        Scheme(&Row { name: "map", aliases: &[], about: "the law itself", order: 0, embedded: None, formula: Formula::Map });

    /// The scheme `auto` begins with.
    pub fn explicit() -> Scheme {
        known("dopri5")
    }

    /// The scheme `auto` takes where an explicit one needs too many steps.
    pub fn implicit() -> Scheme {
        known("rosenbrock")
    }

    /// All schemes, in the order of the table.
    pub fn all() -> impl Iterator<Item = Scheme> {
        SCHEMES.iter().map(Scheme)
    }

    /// The names of all schemes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|s| s.name)
    }

    /// Its row.
    pub fn row(self) -> &'static Row {
        self.0
    }

    /// Whether it is a map.
    pub fn is_map(self) -> bool {
        self.0.formula == Formula::Map
    }

    /// Whether its steps need the Jacobian of the law.
    pub fn is_implicit(self) -> bool {
        matches!(self.0.formula, Formula::Rosenbrock(_))
    }

    /// The power of the step that the error estimate goes with, for the choice of steps; `None` where steps are given.
    pub fn error_order(self) -> Option<f64> {
        self.0.embedded.map(|order| f64::from(order + 1))
    }
}

fn known(name: &str) -> Scheme {
    name.parse().expect("the table has this row")
}

impl PartialEq for Scheme {
    fn eq(&self, other: &Scheme) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Scheme {}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// A name no scheme has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownScheme(pub String);

impl fmt::Display for UnknownScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the method is one of {AUTO}, {}, not \"{}\"", Scheme::names().collect::<Vec<_>>().join(", "), self.0)
    }
}

impl std::error::Error for UnknownScheme {}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(name: &str) -> Result<Scheme, UnknownScheme> {
        let found = SCHEMES.iter().find(|s| s.name == name || s.aliases.contains(&name));
        found.map(Scheme).ok_or_else(|| UnknownScheme(name.to_string()))
    }
}

/// The scheme of a name; `None` where it is [`AUTO`], which leaves the choice to the solver.
pub fn chosen(name: &str) -> Result<Option<Scheme>, UnknownScheme> {
    if name == AUTO { Ok(None) } else { name.parse().map(Some) }
}

/// Weights of the first stages in the states of the last three of Rodas5P.
const RODAS5P_LAST: &[f64] =
    &[-7.502_846_399_306_121, 2.561_846_144_803_919, -11.627_539_656_261_098, -0.182_687_676_599_422_56, 0.030_198_172_008_377_946];

/// Every scheme.
pub static SCHEMES: &[Row] = &[
    // Dormand and Prince 1980.
    Row {
        name: "dopri5",
        aliases: &[],
        about: "Dormand-Prince, explicit, adaptive steps",
        order: 5,
        embedded: Some(4),
        formula: Formula::Explicit(Explicit {
            nodes: &[0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
            stages: &[
                &[0.2],
                &[3.0 / 40.0, 9.0 / 40.0],
                &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
                &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
                &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
                &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
            ],
            weights: &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
            error: &[71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0],
        }),
    },
    // Tsitouras 2011, table 1.
    Row {
        name: "tsit5",
        aliases: &[],
        about: "Tsitouras, explicit, adaptive steps",
        order: 5,
        embedded: Some(4),
        formula: Formula::Explicit(Explicit {
            nodes: &[0.161, 0.327, 0.9, 0.980_025_540_904_509_7, 1.0, 1.0],
            stages: &[
                &[0.161],
                &[-0.008_480_655_492_356_989, 0.335_480_655_492_357],
                &[2.897_153_057_105_493, -6.359_448_489_975_075, 4.362_295_432_869_581_5],
                &[5.325_864_828_439_257, -11.748_883_564_062_828, 7.495_539_342_889_836_5, -0.092_495_066_361_755_25],
                &[5.861_455_442_946_42, -12.920_969_317_847_11, 8.159_367_898_576_159, -0.071_584_973_281_401, -0.028_269_050_394_068_383],
                &[
                    0.096_460_766_818_065_23,
                    0.01,
                    0.479_889_650_414_499_6,
                    1.379_008_574_103_742,
                    -3.290_069_515_436_081,
                    2.324_710_524_099_774,
                ],
            ],
            weights: &[
                0.096_460_766_818_065_23,
                0.01,
                0.479_889_650_414_499_6,
                1.379_008_574_103_742,
                -3.290_069_515_436_081,
                2.324_710_524_099_774,
            ],
            error: &[
                -0.001_780_011_052_225_777,
                -0.000_816_434_459_656_746_9,
                0.007_880_878_010_261_995,
                -0.144_711_007_173_262_9,
                0.582_357_165_452_555_2,
                -0.458_082_105_929_186_97,
                0.015_151_515_151_515_152,
            ],
        }),
    },
    // Bogacki and Shampine 1989.
    Row {
        name: "bosh3",
        aliases: &[],
        about: "Bogacki-Shampine, explicit, adaptive steps, for rough accuracy",
        order: 3,
        embedded: Some(2),
        formula: Formula::Explicit(Explicit {
            nodes: &[0.5, 0.75, 1.0],
            stages: &[&[0.5], &[0.0, 0.75], &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0]],
            weights: &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0],
            error: &[-5.0 / 72.0, 1.0 / 12.0, 1.0 / 9.0, -1.0 / 8.0],
        }),
    },
    // Rodas (Hairer and Wanner, Solving Ordinary Differential Equations II): L-stable.
    Row {
        name: "rosenbrock",
        aliases: &["rodas4"],
        about: "Rosenbrock (Rodas), implicit, adaptive steps, for stiff problems",
        order: 4,
        embedded: Some(3),
        formula: Formula::Rosenbrock(Rosenbrock {
            gamma: 0.25,
            nodes: &[0.0, 0.386, 0.21, 0.63, 1.0, 1.0],
            time: &[0.25, -0.1043, 0.1035, -0.036_200_000_000_000_23, 0.0, 0.0],
            states: &[
                &[],
                &[1.544],
                &[0.946_678_528_081_582_6, 0.255_701_169_898_328_4],
                &[3.314_825_187_068_521, 2.896_124_015_972_201, 0.998_641_913_997_781_7],
                &[1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895],
                &[1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895, 1.0],
            ],
            slopes: &[
                &[],
                &[-5.6688],
                &[-2.430_093_356_833_875, -0.206_359_915_709_191_5],
                &[-0.107_352_905_815_137_5, -9.594_562_251_023_355, -20.470_286_148_096_16],
                &[7.496_443_313_967_647, -10.246_804_314_643_52, -33.999_903_528_199_05, 11.708_908_932_061_6],
                &[8.083_246_795_921_522, -7.981_132_988_064_893, -31.521_594_328_743_71, 16.319_305_431_231_36, -6.058_818_238_834_054],
            ],
        }),
    },
    // Steinebach 2023 (BIT Numerical Mathematics 63, 27): stiffly accurate, L-stable, keeps its order on parabolic problems.
    Row {
        name: "rodas5p",
        aliases: &[],
        about: "Rodas5P, implicit, adaptive steps, for stiff problems and tight tolerances",
        order: 5,
        embedded: Some(4),
        formula: Formula::Rosenbrock(Rosenbrock {
            gamma: 0.211_937_563_194_290_14,
            nodes: &[
                0.0,
                0.635_812_689_582_870_4,
                0.409_579_839_339_753_5,
                0.976_930_672_506_071_6,
                0.428_840_360_955_866_4,
                1.0,
                1.0,
                1.0,
            ],
            time: &[
                0.211_937_563_194_290_14,
                -0.423_875_126_388_580_27,
                -0.338_462_712_623_592_4,
                1.804_645_287_288_273_4,
                2.325_825_639_765_069,
                0.0,
                0.0,
                0.0,
            ],
            states: &[
                &[],
                &[3.0],
                &[2.849_394_379_747_939, 0.458_422_422_044_639_23],
                &[-6.954_028_509_809_101, 2.489_845_061_869_568, -10.358_996_098_473_584],
                &[2.802_998_627_562_896_4, 0.507_246_473_622_820_6, -0.398_831_254_177_052_4, -0.047_211_872_304_046_41],
                RODAS5P_LAST,
                &[RODAS5P_LAST[0], RODAS5P_LAST[1], RODAS5P_LAST[2], RODAS5P_LAST[3], RODAS5P_LAST[4], 1.0],
                &[RODAS5P_LAST[0], RODAS5P_LAST[1], RODAS5P_LAST[2], RODAS5P_LAST[3], RODAS5P_LAST[4], 1.0, 1.0],
            ],
            slopes: &[
                &[],
                &[-14.155_112_264_123_755],
                &[-17.972_960_358_859_52, -2.859_693_295_451_294],
                &[147.121_502_757_117_16, -1.412_214_027_182_13, 71.689_402_513_023_58],
                &[165.435_170_248_716_76, -0.459_282_345_649_112_6, 42.909_383_369_586_03, -5.961_986_721_573_306],
                &[
                    24.854_864_614_690_072,
                    -3.000_922_700_283_218_6,
                    47.493_111_002_076_8,
                    5.581_419_782_155_812_5,
                    -0.661_069_182_524_947_1,
                ],
                &[
                    30.912_732_140_285_99,
                    -3.120_824_334_993_797_4,
                    77.799_546_460_708_92,
                    34.286_460_282_947_83,
                    -19.097_331_116_725_623,
                    -28.087_943_162_872_662,
                ],
                &[
                    37.802_771_233_905_63,
                    -3.257_196_902_907_227_6,
                    112.269_188_494_963_27,
                    66.934_723_124_404_7,
                    -40.066_189_370_910_02,
                    -54.667_802_628_779_68,
                    -9.488_616_523_096_27,
                ],
            ],
        }),
    },
    // Kutta 1901.
    Row {
        name: "rk4",
        aliases: &[],
        about: "Runge-Kutta of fourth order, fixed steps",
        order: 4,
        embedded: None,
        formula: Formula::Explicit(Explicit {
            nodes: &[0.5, 0.5, 1.0],
            stages: &[&[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
            weights: &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
            error: &[],
        }),
    },
    Row {
        name: "euler",
        aliases: &[],
        about: "Euler, first order, fixed steps",
        order: 1,
        embedded: None,
        formula: Formula::Explicit(Explicit { nodes: &[], stages: &[], weights: &[1.0], error: &[] }),
    },
];
