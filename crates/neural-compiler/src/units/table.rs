//! The units there are: one row each. In: a name; out: its unit. A row says its symbols and words, whether prefixes stand before them, and
//! what it is, exactly, in other units.
//!
//! Sources: The International System of Units, 9th edition (BIPM 2019, with its tables of prefixes and of units accepted beside the SI);
//! NIST Special Publication 811 (2008), appendix B, for CGS, imperial and US units; CODATA 2022 for atomic units; IUPAC's Green Book for
//! chemistry. A symbol that two trades use differently belongs to the SI (`rad` is the radian, `Gal` is not the gallon).

use super::ratio::Ratio;
use super::unit::{BASES, Part, Unit};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// How numbers are counted on a scale.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// Twice the number is twice the quantity.
    Linear,
    /// The same, and a difference of two numbers of a scale with an origin: never a number of such a scale.
    Difference,
    /// The quantity is the number plus this, times the unit.
    Shifted(Ratio),
    /// The number is `multiple` times the decimal logarithm of the quantity over a reference.
    Logarithmic {
        /// What the logarithm is multiplied by.
        multiple: f64,
        /// What the quantity is divided by, a linear unit.
        reference: Unit,
    },
}

/// Which prefixes stand before the names of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefixes {
    /// None.
    No,
    /// Those of the SI.
    Si,
    /// Those of the SI, and the powers of 1024.
    Binary,
}

/// One unit.
pub struct Row {
    /// Symbols, which take prefixes like `k`.
    pub symbols: &'static str,
    /// Words, which take prefixes like `kilo` and a plural `s`.
    pub words: &'static str,
    /// Which prefixes.
    pub prefixes: Prefixes,
    /// What it is in other units; empty for the base units.
    pub is: &'static str,
    /// How its numbers are counted.
    scale: Counted,
}

enum Counted {
    Linear,
    Difference,
    /// Hundredths.
    Shifted(i64),
    Logarithmic(f64),
}

const fn row(symbols: &'static str, words: &'static str, prefixes: Prefixes, is: &'static str) -> Row {
    Row { symbols, words, prefixes, is, scale: Counted::Linear }
}

const fn shifted(symbols: &'static str, words: &'static str, is: &'static str, hundredths: i64) -> Row {
    Row { symbols, words, prefixes: Prefixes::No, is, scale: Counted::Shifted(hundredths) }
}

const fn difference(symbols: &'static str, is: &'static str) -> Row {
    Row { symbols, words: "", prefixes: Prefixes::No, is, scale: Counted::Difference }
}

const fn logarithmic(symbols: &'static str, words: &'static str, reference: &'static str, multiple: f64) -> Row {
    Row { symbols, words, prefixes: Prefixes::No, is: reference, scale: Counted::Logarithmic(multiple) }
}

use Prefixes::{Binary, No, Si};

impl Row {
    /// What it is, in words.
    pub fn meaning(&self) -> String {
        match self.scale {
            _ if self.is.is_empty() => "a base unit".into(),
            Counted::Linear => self.is.into(),
            Counted::Difference => format!("{}, of differences", self.is),
            Counted::Shifted(hundredths) => format!("{} from -{} on", self.is, hundredths as f64 / 100.0),
            Counted::Logarithmic(multiple) => format!("{multiple} times the decimal logarithm, over {}", self.is),
        }
    }
}

/// The rows.
pub const ROWS: &[Row] = &[
    // Base units.
    row("m", "meter metre", Si, ""),
    row("kg", "", No, ""),
    row("s sec", "second", Si, ""),
    row("A", "ampere amp", Si, ""),
    row("K", "kelvin", Si, ""),
    row("mol", "mole", Si, ""),
    row("cd", "candela", Si, ""),
    row("IU", "international_unit", Si, ""),
    row("g", "gram gramme", Si, "1e-3 kg"),
    // The SI's units with names.
    row("rad", "radian", Si, "1"),
    row("sr", "steradian", Si, "1"),
    row("Hz", "hertz", Si, "1/s"),
    row("N", "newton", Si, "kg*m/s^2"),
    row("Pa", "pascal", Si, "N/m^2"),
    row("J", "joule", Si, "N*m"),
    row("W", "watt", Si, "J/s"),
    row("C", "coulomb", Si, "A*s"),
    row("V", "volt", Si, "W/A"),
    row("F", "farad", Si, "C/V"),
    row("Ω \u{2126} ohm", "", Si, "V/A"),
    row("S", "siemens", Si, "A/V"),
    row("Wb", "weber", Si, "V*s"),
    row("T", "tesla", Si, "Wb/m^2"),
    row("H", "henry", Si, "Wb/A"),
    row("lm", "lumen", Si, "cd"),
    row("lx", "lux", Si, "lm/m^2"),
    row("Bq", "becquerel", Si, "1/s"),
    row("Gy", "gray", Si, "J/kg"),
    row("Sv", "sievert", Si, "J/kg"),
    row("kat", "katal", Si, "mol/s"),
    // Times.
    row("min mins", "minute", No, "60 s"),
    row("h hr hrs", "hour", No, "60 min"),
    row("d", "day", No, "24 h"),
    row("wk", "week", No, "7 d"),
    row("fortnight", "", No, "14 d"),
    row("yr a", "year julian_year", Si, "365.25 d"),
    row("mo", "month", No, "1/12 yr"),
    // Angles and pure numbers.
    row("deg °", "degree arcdegree", No, "pi/180 rad"),
    row("arcmin", "arcminute", No, "1/60 deg"),
    row("arcsec", "arcsecond", Si, "1/60 arcmin"),
    row("grad gon", "", No, "pi/200 rad"),
    row("rev turn", "revolution", No, "2 pi rad"),
    row("rpm", "", No, "rev/min"),
    row("%", "percent", No, "1/100"),
    row("‰", "permille", No, "1/1000"),
    row("ppm", "", No, "1e-6"),
    row("ppb", "", No, "1e-9"),
    row("ppt", "", No, "1e-12"),
    row("CFU copies", "cell copy count dimensionless", No, "1"),
    row("dozen", "", No, "12"),
    row("bit", "", Binary, "1"),
    row("B byte", "", Binary, "8"),
    // Lengths.
    row("Å \u{212b} angstrom", "", No, "1e-10 m"),
    row("micron", "", No, "1e-6 m"),
    row("au", "astronomical_unit", No, "149597870700 m"),
    row("ly", "light_year", Si, "9460730472580800 m"),
    row("pc", "parsec", Si, "648000/pi au"),
    row("in", "inch inches", No, "2.54 cm"),
    row("ft", "foot feet", No, "12 in"),
    row("yd", "yard", No, "3 ft"),
    row("mi", "mile", No, "5280 ft"),
    row("nmi", "nautical_mile", No, "1852 m"),
    row("mil thou", "", No, "1e-3 in"),
    row("survey_ft", "survey_foot", No, "1200/3937 m"),
    row("fathom", "", No, "6 survey_ft"),
    row("furlong", "", No, "660 survey_ft"),
    // Areas and volumes.
    row("ha", "hectare", No, "1e4 m^2"),
    row("are", "", No, "100 m^2"),
    row("acre", "", No, "43560 survey_ft^2"),
    row("barn", "", Si, "1e-28 m^2"),
    row("L l", "liter litre", Si, "1e-3 m^3"),
    row("cc", "", No, "cm^3"),
    row("gal", "gallon", No, "231 in^3"),
    row("qt", "quart", No, "1/4 gal"),
    row("pt", "pint", No, "1/8 gal"),
    row("cup", "", No, "1/16 gal"),
    row("floz fl_oz", "fluid_ounce", No, "1/128 gal"),
    row("tbsp", "tablespoon", No, "1/2 floz"),
    row("tsp", "teaspoon", No, "1/6 floz"),
    row("imp_gal", "imperial_gallon", No, "4.54609 L"),
    row("imp_pt", "imperial_pint", No, "1/8 imp_gal"),
    row("imp_floz", "imperial_fluid_ounce", No, "1/160 imp_gal"),
    row("bbl", "oil_barrel", No, "42 gal"),
    // Masses.
    row("t", "tonne metric_ton", Si, "1000 kg"),
    row("lb lbm", "pound", No, "0.45359237 kg"),
    row("oz", "ounce", No, "1/16 lb"),
    row("gr", "grain", No, "1/7000 lb"),
    row("oz_t", "troy_ounce", No, "480 gr"),
    row("stone", "", No, "14 lb"),
    row("slug", "", No, "lbf*s^2/ft"),
    row("ton short_ton", "", No, "2000 lb"),
    row("long_ton", "", No, "2240 lb"),
    row("carat ct", "", No, "200 mg"),
    row("mcg", "", No, "1e-6 g"),
    row("Da u amu", "dalton", Si, "1.66053906892e-27 kg"),
    // Speeds and accelerations.
    row("kn", "knot", No, "nmi/h"),
    row("mph", "", No, "mi/h"),
    row("kph", "", No, "km/h"),
    row("Gal", "", Si, "cm/s^2"),
    row("g0 g_n", "standard_gravity", No, "9.80665 m/s^2"),
    // Forces, pressures, viscosities.
    row("dyn", "dyne", Si, "1e-5 N"),
    row("kgf", "kilogram_force", No, "9.80665 N"),
    row("lbf", "pound_force", No, "4.4482216152605 N"),
    row("kip", "", No, "1000 lbf"),
    row("bar", "", Si, "1e5 Pa"),
    row("atm", "atmosphere", No, "101325 Pa"),
    row("Torr torr", "", Si, "101325/760 Pa"),
    row("mmHg mm_Hg", "", No, "133.322387415 Pa"),
    row("inHg", "", No, "25.4 mmHg"),
    row("cmH2O", "", No, "98.0665 Pa"),
    row("psi", "", No, "lbf/in^2"),
    row("P", "poise", Si, "0.1 Pa*s"),
    row("St", "stokes", Si, "1e-4 m^2/s"),
    // Energies and powers.
    row("erg", "", Si, "1e-7 J"),
    row("cal", "calorie", Si, "4.184 J"),
    row("Btu BTU", "", No, "1055.05585262 J"),
    row("Wh", "watt_hour", Si, "3600 J"),
    row("eV", "electron_volt", Si, "1.602176634e-19 J"),
    row("Eh hartree", "", No, "4.3597447222060e-18 J"),
    row("Ry", "rydberg", No, "2.1798723611030e-18 J"),
    row("hp", "horsepower", No, "550 ft*lbf/s"),
    row("therm", "", No, "1e5 Btu"),
    // Electricity and magnetism, CGS in their SI equivalents.
    row("G", "gauss", Si, "1e-4 T"),
    row("Mx", "maxwell", Si, "1e-8 Wb"),
    row("Oe", "oersted", Si, "250/pi A/m"),
    row("Ah", "ampere_hour", Si, "3600 C"),
    row("Debye debye", "", No, "1e-21/299792458 C*m^2/s"),
    // Radiation.
    row("Ci", "curie", Si, "3.7e10 Bq"),
    row("rem", "", Si, "1e-2 Sv"),
    row("rd", "", No, "1e-2 Gy"),
    row("roentgen", "", Si, "2.58e-4 C/kg"),
    // Chemistry and pharmacology.
    row("M molar", "", Si, "mol/L"),
    row("molal", "", Si, "mol/kg"),
    row("Eq", "equivalent", Si, "mol"),
    row("Osm", "osmole", Si, "mol"),
    row("U", "enzyme_unit", Si, "1e-6 mol/min"),
    row("bpm", "", No, "1/min"),
    row("svedberg", "", No, "1e-13 s"),
    // Temperatures: differences are kelvins and their kin, the numbers of thermometers have origins of their own.
    shifted("degC °C", "celsius", "K", 27315),
    shifted("degF °F", "fahrenheit", "5/9 K", 45967),
    row("degR °R", "rankine", No, "5/9 K"),
    difference("delta_degC", "K"),
    difference("delta_degF", "5/9 K"),
    // Levels.
    logarithmic("dB", "decibel", "1", 10.0),
    logarithmic("dBm", "", "mW", 10.0),
    logarithmic("dBW", "", "W", 10.0),
    logarithmic("dBV", "", "V", 20.0),
    logarithmic("dBu", "", "(3/5)^(1/2)*V", 20.0),
    logarithmic("dB_SPL dBSPL", "", "20 uPa", 20.0),
    logarithmic("pH", "", "mol/L", -1.0),
    logarithmic("pOH", "", "mol/L", -1.0),
];

/// Prefixes of symbols and of words, and the powers of ten they are.
const PREFIXES: &[(&str, &str, i64)] = &[
    ("Q", "quetta", 30),
    ("R", "ronna", 27),
    ("Y", "yotta", 24),
    ("Z", "zetta", 21),
    ("E", "exa", 18),
    ("P", "peta", 15),
    ("T", "tera", 12),
    ("G", "giga", 9),
    ("M", "mega", 6),
    ("k", "kilo", 3),
    ("h", "hecto", 2),
    ("da", "deca", 1),
    ("d", "deci", -1),
    ("c", "centi", -2),
    ("m", "milli", -3),
    ("u", "micro", -6),
    ("µ", "micro", -6),
    ("μ", "micro", -6),
    ("n", "nano", -9),
    ("p", "pico", -12),
    ("f", "femto", -15),
    ("a", "atto", -18),
    ("z", "zepto", -21),
    ("y", "yocto", -24),
    ("r", "ronto", -27),
    ("q", "quecto", -30),
];

/// Prefixes of bits and bytes, and the powers of 1024 they are.
const BINARY: &[(&str, i64)] = &[("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];

/// The row of each name, and whether the name is a word.
fn places() -> &'static FxHashMap<&'static str, (u16, bool)> {
    static PLACES: OnceLock<FxHashMap<&'static str, (u16, bool)>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let mut places = FxHashMap::default();
        for (i, row) in ROWS.iter().enumerate() {
            places.extend(row.symbols.split_whitespace().map(|s| (s, (i as u16, false))));
            places.extend(row.words.split_whitespace().map(|w| (w, (i as u16, true))));
        }
        places
    })
}

/// Every name, without prefixes.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|r| r.symbols.split_whitespace().chain(r.words.split_whitespace()))
}

/// How many bytes of a text are the name of a unit, as far as its letters say.
pub(super) fn name_length(text: &str) -> usize {
    // Names that hold digits.
    if let Some(name) = ["cmH2O", "g0"].iter().find(|n| text.starts_with(**n)) {
        return name.len();
    }
    text.chars().take_while(|&c| c.is_alphabetic() || matches!(c, '_' | '%' | '‰' | '°')).map(char::len_utf8).sum()
}

/// The unit of a row: that of differences.
fn unit(place: u16) -> Unit {
    static UNITS: OnceLock<Vec<OnceLock<Unit>>> = OnceLock::new();
    let units = UNITS.get_or_init(|| ROWS.iter().map(|_| OnceLock::new()).collect());
    let found = units[place as usize].get_or_init(|| {
        let row = &ROWS[place as usize];
        if matches!(row.scale, Counted::Logarithmic(_)) {
            return Unit::one();
        }
        match BASES.iter().position(|b| row.symbols.split_whitespace().next() == Some(b)) {
            Some(base) => Unit::part(Part::Base(base as u8)),
            None => super::parse(row.is).expect("a row of the table is made of units").unit,
        }
    });
    found.clone()
}

/// The unit of a name that may have a prefix; of a scale with an origin, that of its differences.
pub(super) fn named(name: &str) -> Option<Unit> {
    let places = places();
    if let Some(&(place, _)) = places.get(name) {
        return Some(unit(place));
    }
    // One plural; symbols have none.
    if let Some(&(place, true)) = name.strip_suffix('s').and_then(|n| places.get(n)) {
        return Some(unit(place));
    }
    let prefixed = |prefix: &str, word: bool, factor: Unit| {
        let rest = name.strip_prefix(prefix)?;
        let &(place, is_word) = places.get(rest).or_else(|| places.get(rest.strip_suffix('s').filter(|_| word)?))?;
        let row = &ROWS[place as usize];
        (is_word == word && row.prefixes != No).then(|| unit(place).times(&factor))?
    };
    let si = PREFIXES.iter().find_map(|&(symbol, word, power)| {
        let factor = || Unit::number(10).power(Ratio::whole(power));
        prefixed(symbol, false, factor()?).or_else(|| prefixed(word, true, factor()?))
    });
    si.or_else(|| {
        let power = |&(symbol, power): &(&str, i64)| {
            let rest = name.strip_prefix(symbol)?;
            let binary = places.get(rest).is_some_and(|p| ROWS[p.0 as usize].prefixes == Binary);
            binary.then(|| prefixed(symbol, false, Unit::number(1024).power(Ratio::whole(power))?))?
        };
        BINARY.iter().find_map(power)
    })
}

/// A unit that stands alone and has an origin or counts logarithms.
pub(super) fn lone(name: &str) -> Option<(Unit, Kind)> {
    let &(place, _) = places().get(name)?;
    let row = &ROWS[place as usize];
    let origin = Unit::part(Part::Origin(place));
    match row.scale {
        Counted::Linear => None,
        Counted::Difference => Some((unit(place), Kind::Difference)),
        Counted::Shifted(hundredths) => Some((unit(place).times(&origin)?, Kind::Shifted(Ratio::new(i128::from(hundredths), 100)?))),
        Counted::Logarithmic(multiple) => {
            let reference = super::parse(row.is).ok()?.unit;
            // A level over no unit is a pure number; every other has the origin of its own reference.
            let unit = if reference.is_one() { Unit::one() } else { origin };
            Some((unit, Kind::Logarithmic { multiple, reference }))
        }
    }
}

/// The first symbol of a row.
pub(super) fn symbol(place: u16) -> &'static str {
    ROWS[place as usize].symbols.split_whitespace().next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_row_is_made_of_units() {
        let all: Vec<&str> = names().collect();
        for (k, name) in all.iter().enumerate() {
            assert!(!all[..k].contains(name), "`{name}` is there twice");
            assert!(named(name).is_some(), "{name}");
        }
    }
}
