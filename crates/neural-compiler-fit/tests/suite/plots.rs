//! Pictures of a fit: dots where there are data, at their own time, and nowhere else.

use crate::common::{compile, table};
use neural_compiler_fit::plot::{self, Drawing, Look};
use neural_compiler_fit::{Options, Table, fit};

#[test]
fn missing_cells_move_no_dot() {
    let t: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i)).collect();
    let decay = |hole: usize| t.iter().enumerate().map(|(i, t)| if i == hole { f64::NAN } else { (-0.3 * t).exp() }).collect::<Vec<f64>>();
    let model = "(param k 1 :min 0) (state x 1) (state y 1) (derive x (- (* k x))) (derive y (- (* k y)))";
    let (program, table) = (compile(model), table(vec![("t", t.clone()), ("x", decay(3)), ("y", decay(99))]));
    let fit = fit(&program, &table, &Options::default()).unwrap();
    let drawing = Drawing::new(&program, &table, &Options::default(), &fit, Look::default());
    let svg = drawing.svg();
    // Above, below and by quantiles for each of both, and the two states over each other where both were seen.
    assert_eq!(svg.matches("<circle").count(), 3 * (11 + 12) + 11);
    let across: Vec<f64> = svg.split("<circle cx=\"").skip(1).map(|c| c.split('"').next().unwrap().parse().unwrap()).collect();
    let steps: Vec<f64> = across[..11].windows(2).map(|w| w[1] - w[0]).collect();
    // The dots of x stand one step apart, two across the hole.
    assert!((steps[2] / steps[0] - 2.0).abs() < 1e-2 && (steps[3] / steps[0] - 1.0).abs() < 1e-2, "{steps:?}");
    let png = drawing.png();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Twice the size of the SVG, in the header of the file.
    let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
    assert_eq!(f64::from(width), 2.0 * svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap());
}

#[test]
fn many_columns_go_below_each_other() {
    let t: Vec<f64> = (0..9).map(f64::from).collect();
    let lines: String = (0..6).map(|k| format!("(observe y{k} (* a {} t))", k + 1)).collect();
    let mut columns = vec![("t", t.clone())];
    let names: Vec<String> = (0..6).map(|k| format!("y{k}")).collect();
    columns.extend(names.iter().enumerate().map(|(k, name)| (name.as_str(), t.iter().map(|t| 2.0 * (k as f64 + 1.0) * t).collect())));
    let (_, svg) = drawn(&format!("(param a 1) {lines}"), &table(columns), &Options::default());
    let number = |name: &str| svg.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse::<f64>().unwrap();
    // Four side by side and two below: the picture is as wide as four of them and as high as two.
    assert_eq!((number("width"), number("height")), (76.0 + 4.0 * 416.0, 2.0 * 644.0));
    let place = |name: &str| svg.split("<text x=\"").find(|t| t.contains(&format!("{name}: data"))).unwrap().to_string();
    let (first, fifth) = (place("y0"), place("y4"));
    assert_eq!(first.split('"').next(), fifth.split('"').next(), "the fifth stands below the first");
}

fn drawn(model: &str, table: &Table, options: &Options<'_>) -> (Vec<plot::Line>, String) {
    let program = compile(model);
    let fit = fit(&program, table, options).unwrap();
    let drawing = Drawing::new(&program, table, options, &fit, Look::default());
    (drawing.lines.clone(), drawing.svg())
}

#[test]
fn lines_are_fine_where_the_model_can_be_asked_between_the_data() {
    // Two trajectories that begin at different times and values.
    let t = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let group = vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    let x: Vec<f64> = t
        .iter()
        .zip(&group)
        .map(|(&t, &g): (&f64, &f64)| if g == 0.0 { (-0.5 * t).exp() } else { 2.0 * (-0.5 * (t - 3.0)).exp() })
        .collect();
    let data = table(vec![("t", t), ("g", group), ("x", x)]);
    let options = Options { group: Some("g".into()), ..Options::default() };
    let (lines, _) = drawn("(param k 1 :min 0) (state x x) (derive x (- (* k x)))", &data, &options);
    assert_eq!(lines.len(), 2);
    for (line, begin, size) in [(&lines[0], 0.0, 1.0), (&lines[1], 3.0, 2.0)] {
        assert!(line.along.len() > 100 && line.along[0] == begin && *line.along.last().unwrap() == begin + 2.0, "{line:?}");
        let off = line.along.iter().zip(&line.targets[0]).map(|(t, x)| (x - size * (-0.5 * (t - begin)).exp()).abs()).fold(0.0, f64::max);
        assert!(off < 1e-6, "{off}");
    }
}

#[test]
fn inputs_are_linear_between_rows_in_pictures_too() {
    let t: Vec<f64> = (0..9).map(f64::from).collect();
    let push: Vec<f64> = t.iter().map(|t| t.sin()).collect();
    // What the solver makes of a push that is linear between rows: trapezia.
    let mut x = vec![2.0];
    push.windows(2).for_each(|w| x.push(x.last().unwrap() + 0.5 * (w[0] + w[1])));
    let model = "(param k 2 :min 0) (input push) (state x 2) (derive x (* k push))";
    let (lines, _) = drawn(model, &table(vec![("t", t.clone()), ("push", push.clone()), ("x", x.clone())]), &Options::default());
    let line = &lines[0];
    assert!(lines.len() == 1 && line.along.len() > 100);
    for (at, drawn) in line.along.iter().zip(&line.targets[0]) {
        let row = (at.floor() as usize).min(7);
        let part = at - row as f64;
        let wanted = x[row] + part * push[row] + 0.5 * part * part * (push[row + 1] - push[row]);
        assert!((drawn - wanted).abs() < 1e-6, "{drawn} at {at}, not {wanted}");
    }
    // A formula knows its other inputs in the rows only.
    let y: Vec<f64> = push.iter().zip(&t).map(|(p, t)| 2.0 * p * t).collect();
    let options = Options { time: None, target: Some("y".into()), ..Options::default() };
    let (lines, _) = drawn("(param k 1) (* k push t)", &table(vec![("t", t), ("push", push), ("y", y)]), &options);
    assert!(lines.iter().all(|l| l.along.len() <= 9), "{lines:?}");
}

#[test]
fn a_formula_is_drawn_over_its_input_or_over_its_predictions() {
    let x: Vec<f64> = (0..8).map(|i| f64::from((i * 3) % 8)).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * x * x).collect();
    let (lines, svg) = drawn("(param a 1) (* a (* x x))", &table(vec![("x", x.clone()), ("y", y.clone())]), &Options::default());
    assert!(lines[0].along.is_sorted() && lines[0].along.len() > 100);
    let off = lines[0].along.iter().zip(&lines[0].targets[0]).map(|(x, y)| (y - 2.0 * x * x).abs()).fold(0.0, f64::max);
    assert!(off < 1e-9, "{off}");
    // Round numbers along the axes.
    for words in [">0</text>", ">2</text>", ">6</text>", ">40</text>", ">100</text>"] {
        assert!(svg.contains(words), "{words} is missing in {svg}");
    }
    let other: Vec<f64> = x.iter().map(|x| x + 1.0).collect();
    let both = table(vec![("u", x), ("v", other), ("y", y)]);
    let (lines, svg) = drawn("(param a 1) (* a (* u (- v 1)))", &both, &Options::default());
    assert!(lines.is_empty() && svg.contains("data (dots) over predictions"));
}

#[test]
fn a_peak_is_sampled_where_it_bends() {
    // A line of width 1e-4 in a range of 1, of which the data show the foot and the top.
    let x: Vec<f64> = (0..11).map(|i| 0.1 * f64::from(i)).chain([0.35 - 1e-4, 0.35, 0.35 + 1e-4]).collect();
    let peak = |x: f64| 1.0 / (1.0 + ((x - 0.35) / 1e-4).powi(2));
    let y: Vec<f64> = x.iter().map(|&x| 3.0 * peak(x)).collect();
    let (lines, _) = drawn("(param a 1) (/ a (+ 1 (square (/ (- x 0.35) 1e-4))))", &table(vec![("x", x), ("y", y)]), &Options::default());
    let line = &lines[0];
    assert!(line.along.len() < 6000, "{}", line.along.len());
    // Nowhere is the drawn line off by what can be seen.
    let drawn = |x: f64| {
        let k = line.along.partition_point(|a| *a <= x).clamp(1, line.along.len() - 1);
        let (a, b) = (line.along[k - 1], line.along[k]);
        let share = (x - a) / (b - a);
        line.targets[0][k - 1] * (1.0 - share) + line.targets[0][k] * share
    };
    let off = (0..200_001).map(|i| f64::from(i) / 200_000.0).map(|x| (drawn(x) - 3.0 * peak(x)).abs()).fold(0.0, f64::max);
    assert!(off < 0.02, "{off}");
}

#[test]
fn error_bars_groups_and_powers_of_ten() {
    let t: Vec<f64> = (0..12).map(|i| 0.5 * f64::from(i % 6)).collect();
    let g: Vec<f64> = (0..12).map(|i| f64::from(i / 6)).collect();
    let x: Vec<f64> = t.iter().zip(&g).map(|(t, g): (&f64, &f64)| (1.0 + g) * (-0.9 * t).exp()).collect();
    let s: Vec<f64> = x.iter().map(|x| 0.1 * x).collect();
    let data = table(vec![("t", t), ("g", g), ("x", x), ("s", s)]);
    let options = Options { group: Some("g".into()), sigma_column: Some("s".into()), ..Options::default() };
    let program = compile("(param k 1 :min 0) (state x x) (derive x (- (* k x)))");
    let fit = fit(&program, &data, &options).unwrap();
    let picture = |look: Look| Drawing::new(&program, &data, &options, &fit, look);
    let plain = picture(Look { groups: vec!["ann".into(), "bob".into()], ..Look::default() }).svg();
    // Dots of both groups above, below and among the quantiles (the first of each group starts its state and is compared with nothing),
    // their names, bars.
    let (first, second) = ("#1f6fb4", "#d1495b");
    for colour in [first, second] {
        assert_eq!(plain.matches(&format!("r=\"2\" fill=\"{colour}\"")).count(), 3 * 5 + 1, "{colour}");
        assert_eq!(
            plain.matches(&format!("stroke=\"{colour}\" stroke-width=\"1.5\"")).count(),
            if colour == second { 3 } else { 1 },
            "{colour}"
        );
    }
    assert!(plain.contains(">ann</text>") && plain.contains(">bob</text>"));
    assert_eq!(plain.matches("stroke-width=\"1\"").count(), 2 * 10);
    // By powers of ten an exponential is straight.
    let log = picture(Look { log_y: true, ..Look::default() }).svg();
    let line = log.split("<polyline").find(|p| p.contains(&format!("stroke=\"{first}\" stroke-width=\"1.5\""))).unwrap();
    let points: Vec<(f64, f64)> = line
        .split('"')
        .nth(1)
        .unwrap()
        .split(' ')
        .map(|p| p.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap())
        .collect();
    let (a, b) = (points[0], points[points.len() - 1]);
    for (x, y) in &points {
        assert!((a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0) - y).abs() < 0.03, "{x} {y}");
    }
    let pdf = picture(Look { log_x: true, ..Look::default() }).pdf();
    assert!(pdf.starts_with(b"%PDF-1.") && pdf.ends_with(b"%%EOF") && String::from_utf8_lossy(&pdf).contains("(residuals) Tj"));
}
