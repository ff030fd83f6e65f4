//! The numbers of the schemes. In: nothing; out: one table per scheme with an error estimate, for the graphs of steps and for PyTorch.

/// An explicit Runge-Kutta method whose last stage is the step itself.
pub struct Explicit {
    /// Where the stages behind the first stand, as shares of the step.
    pub nodes: [f64; 6],
    /// Weights of the slopes before each of these stages.
    pub weights: [&'static [f64]; 6],
    /// Weights of all slopes in the error estimate.
    pub error: [f64; 7],
}

/// Dormand and Prince (1980): fifth order, with an estimate of fourth.
pub const DOPRI5: Explicit = Explicit {
    nodes: [0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
    weights: [
        &[0.2],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
        &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    ],
    error: [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0],
};

/// A Rosenbrock method in the form without products by the Jacobian; its last stage is the error estimate.
pub struct Rosenbrock {
    /// The matrix of every stage is 1 / (gamma h) - J.
    pub gamma: f64,
    /// Where the stages stand, as shares of the step.
    pub nodes: [f64; 6],
    /// Weights of the derivative by time.
    pub time: [f64; 6],
    /// Weights of earlier stages in the states of a stage.
    pub a: [&'static [f64]; 6],
    /// Weights of earlier stages, over h, in its right-hand side.
    pub c: [&'static [f64]; 6],
}

/// Rodas (Hairer and Wanner, Solving Ordinary Differential Equations II): fourth order, L-stable.
pub const RODAS4: Rosenbrock = Rosenbrock {
    gamma: 0.25,
    nodes: [0.0, 0.386, 0.21, 0.63, 1.0, 1.0],
    time: [0.25, -0.1043, 0.1035, -0.036_200_000_000_000_23, 0.0, 0.0],
    a: [
        &[],
        &[1.544],
        &[0.946_678_528_081_582_6, 0.255_701_169_898_328_4],
        &[3.314_825_187_068_521, 2.896_124_015_972_201, 0.998_641_913_997_781_7],
        &[1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895],
        &[1.221_224_509_226_641, 6.019_134_481_288_629, 12.537_083_329_320_87, -0.687_886_036_105_895, 1.0],
    ],
    c: [
        &[],
        &[-5.6688],
        &[-2.430_093_356_833_875, -0.206_359_915_709_191_5],
        &[-0.107_352_905_815_137_5, -9.594_562_251_023_355, -20.470_286_148_096_16],
        &[7.496_443_313_967_647, -10.246_804_314_643_52, -33.999_903_528_199_05, 11.708_908_932_061_6],
        &[8.083_246_795_921_522, -7.981_132_988_064_893, -31.521_594_328_743_71, 16.319_305_431_231_36, -6.058_818_238_834_054],
    ],
};
