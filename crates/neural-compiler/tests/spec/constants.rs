//! The constants of `(constants si)` beside CODATA's list, digit for digit, and the table of them in the reference.

use crate::root;
use neural_compiler::syntax::constants::SI;

/// NIST's list; its header says where it comes from.
const CODATA: &str = include_str!("codata-2022.txt");

/// The digits of a number as NIST writes it, in groups.
fn digits(text: &str) -> String {
    text.replace(' ', "")
}

#[test]
fn constants_are_those_of_codata() {
    let rows: Vec<Vec<&str>> = CODATA.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('|').map(str::trim).collect()).collect();
    let names: Vec<&str> = rows.iter().map(|r| r[0]).collect();
    assert_eq!(names, SI.iter().map(|c| c.name).collect::<Vec<_>>());
    for (row, constant) in rows.iter().zip(SI) {
        let (value, uncertainty) = (digits(row[2]), digits(row[3]));
        if let Some((first, rest)) = value.split_once("...") {
            // digits left out: those given, and all of them in the last column
            let whole: f64 = row[5].parse().expect("a number");
            assert_eq!(constant.value, whole, "{}", row[0]);
            let (mantissa, exponent) = row[5].split_once('e').unwrap_or((row[5], ""));
            assert!(mantissa.starts_with(first) && rest.trim_start_matches('e') == exponent, "{}: {} and {}", row[0], row[5], row[2]);
        } else {
            assert_eq!(constant.value, value.parse::<f64>().expect("a number"), "{}", row[0]);
        }
        let uncertainty: f64 = if uncertainty == "(exact)" { 0.0 } else { uncertainty.parse().expect("a number") };
        assert_eq!(constant.uncertainty, uncertainty, "{}", row[0]);
    }
}

#[test]
fn the_reference_lists_them() {
    let text = std::fs::read_to_string(root().join("spec/models.md")).expect("spec/models.md");
    for c in SI {
        let cells: Vec<&str> = text
            .lines()
            .find(|l| l.starts_with(&format!("| `{}` |", c.name)))
            .unwrap_or_else(|| panic!("`{}` is not in the reference", c.name))
            .split('|')
            .map(str::trim)
            .collect();
        assert_eq!(cells[2].parse(), Ok(c.value), "{}", c.name);
        let uncertainty = if cells[3] == "exact" { 0.0 } else { cells[3].parse().expect("a number") };
        assert_eq!((uncertainty, cells[4], cells[5]), (c.uncertainty, c.unit, c.doc));
    }
}
