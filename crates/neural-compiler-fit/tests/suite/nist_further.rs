//! Further problems of NIST's Statistical Reference Datasets, those whose data are short or follow from a formula: data, starts and
//! certified values written down here. A wrong number anywhere would show: sums of squares agree to eight digits or more.

use crate::common::{compile, table};
use neural_compiler_fit::{Options, fit};

struct Problem {
    name: &'static str,
    model: &'static str,
    x: Vec<f64>,
    y: Vec<f64>,
    starts: [&'static [f64]; 2],
    /// Values, and the residual sum of squares; `None` where it is that of rounding errors.
    certified: (&'static [f64], Option<f64>),
}

/// Numbers with so many significant digits, as a table would print them.
fn printed(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap()
}

fn problems() -> Vec<Problem> {
    let misra_x = vec![77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0];
    let misra_y = vec![10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78];
    let lanczos = "(+ (* b1 (exp (- (* b2 x)))) (* b3 (exp (- (* b4 x)))) (* b5 (exp (- (* b6 x)))))";
    let lanczos_x: Vec<f64> = (0..24).map(|i| f64::from(5 * i) / 100.0).collect();
    let sum = |x: f64| 0.0951 * (-x).exp() + 0.8607 * (-3.0 * x).exp() + 1.5576 * (-5.0 * x).exp();
    let lanczos_starts: [&[f64]; 2] = [&[1.2, 0.3, 5.6, 5.5, 6.5, 7.6], &[0.5, 0.7, 3.6, 4.2, 4.0, 6.3]];
    vec![
        Problem {
            name: "Misra1c",
            model: "(* b1 (- 1 (pow (+ 1 (* 2 b2 x)) -0.5)))",
            x: misra_x.clone(),
            y: misra_y.clone(),
            starts: [&[500.0, 1e-4], &[600.0, 2e-4]],
            certified: (&[6.3642725809e2, 2.0813627256e-4], Some(4.0966836971e-2)),
        },
        Problem {
            name: "Misra1d",
            model: "(/ (* b1 b2 x) (+ 1 (* b2 x)))",
            x: misra_x,
            y: misra_y,
            starts: [&[500.0, 1e-4], &[450.0, 3e-4]],
            certified: (&[4.3736970754e2, 3.0227324449e-4], Some(5.6419295283e-2)),
        },
        Problem {
            name: "Lanczos1",
            model: lanczos,
            x: lanczos_x.clone(),
            y: lanczos_x.iter().map(|&x| printed(sum(x), 14)).collect(),
            starts: lanczos_starts,
            certified: (&[0.0951, 1.0, 0.8607, 3.0, 1.5576, 5.0], None),
        },
        Problem {
            name: "Lanczos2",
            model: lanczos,
            x: lanczos_x.clone(),
            y: lanczos_x.iter().map(|&x| printed(sum(x), 6)).collect(),
            starts: lanczos_starts,
            certified: (
                &[9.6251029939e-2, 1.0057332849, 8.6424689056e-1, 3.0078283915, 1.5529016879, 5.0028798100],
                Some(2.2299428125e-11),
            ),
        },
        Problem {
            name: "MGH09",
            model: "(/ (* b1 (+ (* x x) (* x b2))) (+ (* x x) (* x b3) b4))",
            x: vec![4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625],
            y: vec![0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246],
            starts: [&[25.0, 39.0, 41.5, 39.0], &[0.25, 0.39, 0.415, 0.39]],
            certified: (&[1.9280693458e-1, 1.9128232873e-1, 1.2305650693e-1, 1.3606233068e-1], Some(3.0750560385e-4)),
        },
        Problem {
            name: "MGH10",
            model: "(* b1 (exp (/ b2 (+ x b3))))",
            x: (0..16).map(|i| f64::from(50 + 5 * i)).collect(),
            y: vec![
                34780.0, 28610.0, 23650.0, 19630.0, 16370.0, 13720.0, 11540.0, 9744.0, 8261.0, 7030.0, 6005.0, 5147.0, 4427.0, 3820.0,
                3307.0, 2872.0,
            ],
            starts: [&[2.0, 400_000.0, 25_000.0], &[0.02, 4000.0, 250.0]],
            certified: (&[5.6096364710e-3, 6.1813463463e3, 3.4522363462e2], Some(8.7945855171e1)),
        },
        Problem {
            name: "Rat42",
            model: "(/ b1 (+ 1 (exp (- b2 (* b3 x)))))",
            x: vec![9.0, 14.0, 21.0, 28.0, 42.0, 57.0, 63.0, 70.0, 79.0],
            y: vec![8.93, 10.8, 18.59, 22.33, 39.35, 56.11, 61.73, 64.62, 67.08],
            starts: [&[100.0, 1.0, 0.1], &[75.0, 2.5, 0.07]],
            certified: (&[7.2462237576e1, 2.6180768402, 6.7359200066e-2], Some(8.0565229338)),
        },
        Problem {
            name: "Rat43",
            model: "(/ b1 (pow (+ 1 (exp (- b2 (* b3 x)))) (/ 1 b4)))",
            x: (1..16).map(f64::from).collect(),
            y: vec![16.08, 33.83, 65.80, 97.20, 191.55, 326.20, 386.87, 520.53, 590.03, 651.92, 724.93, 699.56, 689.96, 637.56, 717.41],
            starts: [&[100.0, 10.0, 1.0, 1.0], &[700.0, 5.0, 0.75, 1.3]],
            certified: (&[6.9964151270e2, 5.2771253025, 7.5962938329e-1, 1.2792483859], Some(8.7864049080e3)),
        },
    ]
}

#[test]
fn certified_values_from_both_starts() {
    for p in problems() {
        let data = table(vec![("x", p.x.clone()), ("y", p.y.clone())]);
        for start in p.starts {
            let declared: String = start.iter().enumerate().map(|(j, v)| format!("(param b{} {v:e})\n", j + 1)).collect();
            let found = fit(&compile(&format!("{declared}{}", p.model)), &data, &Options::default()).unwrap();
            let off = |a: f64, b: f64| (a / b - 1.0).abs();
            let worst = found.parameters.iter().zip(p.certified.0).map(|(f, c)| off(f.value, *c)).fold(0.0, f64::max);
            println!(
                "{}: worst value off by {worst:.1e}, {} of {} starts agree, cost {:.10e}",
                p.name, found.agreed, found.tried, found.cost
            );
            assert!(worst < 1e-8, "{} from {start:?}: {:?}", p.name, found.parameters);
            match p.certified.1 {
                Some(sum) => assert!(off(found.cost, sum) < 1e-8, "{}: {:e}", p.name, found.cost),
                None => assert!(found.cost < 1e-24, "{}: {:e}", p.name, found.cost),
            }
            // Where no sum is certified the data are the model's own, to their last digit: nothing tells errors.
            let exact = p.certified.1.is_none();
            let as_told = found.exact == exact && found.parameters.iter().all(|f| f.stderr.is_none() == exact);
            assert!(found.converged && as_told, "{}: {} {:?}", p.name, found.message, found.warnings);
        }
    }
}
