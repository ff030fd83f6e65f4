//! Pictures of graphs: well-formed, escaped, and quick for any size.

use neural_compiler::graph::svg::to_svg;
use neural_compiler::{Options, compile};

fn draw(source: &str) -> String {
    let program = compile(source, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    to_svg(&program.graph().unwrap_or_else(|e| panic!("{e}")))
}

/// Every tag is closed in order.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "a coordinate is no number");
}

#[test]
fn small_graphs_show_every_node() {
    let svg = draw("(+ (* 2 (sin x)) (if (> x 0) (log x) (loop ((i 0)) (if (> i x) i (recur (+ i 1))))))");
    assert_well_formed(&svg);
    for text in [">sin<", ">x<", "main#0", "then#", "loop", ">log<"] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn names_are_escaped() {
    let svg = draw("(+ |<&\">| 1)");
    assert_well_formed(&svg);
    assert!(svg.contains("&lt;&amp;&quot;&gt;"));
}

#[test]
fn trivial_graphs() {
    for source in ["1", "x", "[1 2]", "(let ((a 1)) x)"] {
        assert_well_formed(&draw(source));
    }
}

#[test]
fn large_graphs_are_summarised() {
    let sum = |n: usize| format!("(+ {})", (0..n).map(|i| format!("(sin (* {i} x))")).collect::<Vec<_>>().join(" "));
    assert_well_formed(&draw(&sum(600)));
    let svg = draw(&sum(20_000));
    assert_well_formed(&svg);
    assert!(svg.len() < 100_000 && svg.contains("20000 × sin"));
    // One input used all along a chain: the worst case for lines that cross many layers.
    let chain = (0..900).fold("x".to_string(), |e, _| format!("(sin (+ x {e}))"));
    assert_well_formed(&draw(&chain));
}
