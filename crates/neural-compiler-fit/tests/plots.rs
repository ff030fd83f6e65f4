//! Pictures of a fit: dots where there are data, at their own time, and nowhere else.

mod common;
use common::{compile, table};
use neural_compiler_fit::{Options, fit, plot};

#[test]
fn missing_cells_move_no_dot() {
    let t: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i)).collect();
    let decay = |hole: usize| t.iter().enumerate().map(|(i, t)| if i == hole { f64::NAN } else { (-0.3 * t).exp() }).collect::<Vec<f64>>();
    let model = "(param k 1 :min 0) (state x 1) (state y 1) (derive x (- (* k x))) (derive y (- (* k y)))";
    let fit = fit(&compile(model), &table(vec![("t", t.clone()), ("x", decay(3)), ("y", decay(99))]), &Options::default()).unwrap();
    let svg = plot::svg(&fit);
    // Above and below for each of both, and the two states over each other where both were seen.
    assert_eq!(svg.matches("<circle").count(), 2 * (11 + 12) + 11);
    let across: Vec<f64> = svg.split("<circle cx=\"").skip(1).map(|c| c.split('"').next().unwrap().parse().unwrap()).collect();
    let steps: Vec<f64> = across[..11].windows(2).map(|w| w[1] - w[0]).collect();
    // The dots of x stand one step apart, two across the hole.
    assert!((steps[2] / steps[0] - 2.0).abs() < 1e-2 && (steps[3] / steps[0] - 1.0).abs() < 1e-2, "{steps:?}");
    let png = plot::png(&fit);
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Twice the size of the SVG, in the header of the file.
    let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
    assert_eq!(f64::from(width), 2.0 * svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap());
}
