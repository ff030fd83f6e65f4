//! Physical constants by name. In: the name of a set; out: its names, values and sources. Nothing is bound unless a program asks for it
//! with `(constants si)`.
//!
//! Values: CODATA 2022 (E. Tiesinga, P. J. Mohr, D. B. Newell, B. N. Taylor, <https://physics.nist.gov/cuu/Constants/>), in SI units.
//! Those the SI fixes are exact, and so are the ones made of them, to the last bit of an f64; the others are the adjusted values.

/// One constant.
pub struct Constant {
    /// As programs write it.
    pub name: &'static str,
    /// In SI units.
    pub value: f64,
    /// Standard uncertainty in the same unit; 0 for exact ones.
    pub uncertainty: f64,
    /// The unit.
    pub unit: &'static str,
    /// What it is.
    pub doc: &'static str,
}

const fn constant(name: &'static str, value: f64, uncertainty: f64, unit: &'static str, doc: &'static str) -> Constant {
    Constant { name, value, uncertainty, unit, doc }
}

/// The constants of `(constants si)`.
pub const SI: &[Constant] = &[
    constant("c", 299_792_458.0, 0.0, "m/s", "speed of light in vacuum"),
    constant("h", 6.626_070_15e-34, 0.0, "J s", "Planck constant"),
    constant("hbar", 1.054_571_817_646_156_5e-34, 0.0, "J s", "Planck constant over 2 pi"),
    constant("e", 1.602_176_634e-19, 0.0, "C", "elementary charge"),
    constant("k_B", 1.380_649e-23, 0.0, "J/K", "Boltzmann constant"),
    constant("N_A", 6.022_140_76e23, 0.0, "1/mol", "Avogadro constant"),
    constant("R", 8.314_462_618_153_24, 0.0, "J/(mol K)", "molar gas constant, N_A k_B"),
    constant("F", 96_485.332_123_310_01, 0.0, "C/mol", "Faraday constant, N_A e"),
    constant("sigma_SB", 5.670_374_419_184_429_4e-8, 0.0, "W/(m^2 K^4)", "Stefan-Boltzmann constant"),
    constant("g_n", 9.806_65, 0.0, "m/s^2", "standard acceleration of gravity"),
    constant("atm", 101_325.0, 0.0, "Pa", "standard atmosphere"),
    constant("eV", 1.602_176_634e-19, 0.0, "J", "electron volt"),
    constant("G", 6.674_30e-11, 0.000_15e-11, "m^3/(kg s^2)", "Newtonian constant of gravitation"),
    constant("alpha", 7.297_352_564_3e-3, 0.000_000_001_1e-3, "1", "fine-structure constant"),
    constant("mu_0", 1.256_637_061_27e-6, 0.000_000_000_20e-6, "N/A^2", "vacuum magnetic permeability"),
    constant("epsilon_0", 8.854_187_818_8e-12, 0.000_000_001_4e-12, "F/m", "vacuum electric permittivity"),
    constant("m_e", 9.109_383_713_9e-31, 0.000_000_002_8e-31, "kg", "electron mass"),
    constant("m_p", 1.672_621_925_95e-27, 0.000_000_000_52e-27, "kg", "proton mass"),
    constant("m_n", 1.674_927_500_56e-27, 0.000_000_000_85e-27, "kg", "neutron mass"),
    constant("m_u", 1.660_539_068_92e-27, 0.000_000_000_52e-27, "kg", "atomic mass constant"),
    constant("a_0", 5.291_772_105_44e-11, 0.000_000_000_82e-11, "m", "Bohr radius"),
    constant("R_inf", 10_973_731.568_157, 0.000_012, "1/m", "Rydberg constant"),
    constant("mu_B", 9.274_010_065_7e-24, 0.000_000_002_9e-24, "J/T", "Bohr magneton"),
];

/// The sets a program can ask for.
pub const SETS: &[(&str, &[Constant])] = &[("si", SI)];
