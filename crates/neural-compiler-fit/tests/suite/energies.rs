//! Laws that are an energy: Hamiltonian and Lagrangian models of examples/hamiltonian keep it as exactly as they are solved, and agree.

use crate::common::{compile, table};
use neural_compiler_fit::{Given, Options, Simulation, simulate};

fn run(model: &str, until: f64, tolerance: f64) -> Simulation {
    let rows = table(vec![("t", (0..=200).map(|k| until * f64::from(k) / 200.0).collect())]);
    let options = Options { tolerance: Some(tolerance), ..Options::default() };
    simulate(&compile(model), &rows, &options, &Given::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn column(found: &Simulation, name: &str) -> Vec<f64> {
    let place = found.names().iter().position(|n| n == name).expect("a column");
    found.column(place)
}

/// By how much the energy changes at most, as a share of its first value.
fn drift(found: &Simulation) -> f64 {
    let energy = column(found, "energy");
    energy.iter().fold(0.0f64, |m, e| m.max((e - energy[0]).abs())) / energy[0].abs()
}

#[test]
fn known_energies_are_kept_to_the_tolerance() {
    // Forty swings of a chaotic double pendulum, sixteen eccentric orbits (their period is 2 pi).
    let pendulum = include_str!("../../../../examples/hamiltonian/double-pendulum.scm");
    assert!(drift(&run(pendulum, 40.0, 1e-11)) < 1e-8, "{}", drift(&run(pendulum, 40.0, 1e-11)));
    let bodies = run(include_str!("../../../../examples/hamiltonian/two-body.scm"), 100.0, 1e-11);
    assert!(drift(&bodies) < 1e-8, "{}", drift(&bodies));
    // Half the axis is 1: E = -1/2, and after 16 periods the bodies are back.
    assert!((column(&bodies, "energy")[0] + 0.5).abs() < 1e-15);
}

#[test]
fn the_lagrangian_says_the_same() {
    let (hamilton, lagrange) = (
        run(include_str!("../../../../examples/hamiltonian/two-body.scm"), 20.0, 1e-11),
        run(include_str!("../../../../examples/hamiltonian/two-body-lagrangian.scm"), 20.0, 1e-11),
    );
    for (a, b) in [("x", "q[0]"), ("y", "q[1]"), ("u", "w[0]"), ("v", "w[1]"), ("energy", "energy")] {
        let apart = column(&hamilton, a).iter().zip(column(&lagrange, b)).fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
        assert!(apart < 1e-6, "{a} and {b} differ by {apart}");
    }
}
