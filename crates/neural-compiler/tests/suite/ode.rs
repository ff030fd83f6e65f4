//! Every row of the table of schemes is of the order it states, and so is its error estimate: by the conditions of order, and by the errors
//! of steps along an equation that is nonlinear, moves with the time and has a solution in closed form.

use neural_compiler::exec::interp;
use neural_compiler::graph::Graph;
use neural_compiler::ode::schemes::{AUTO, Explicit};
use neural_compiler::ode::{Formula, Law, SCHEMES, Scheme, step};
use neural_compiler::{Options, Shape, Tensor, compile};

/// u' = u cos t, v' = -v^2 cos t, with the solution u = exp (sin t), v = 1 / (3/2 + sin t).
fn law() -> Law {
    let inputs = vec![("s".to_string(), Some(Shape::Vector(2))), ("t".to_string(), Some(Shape::Scalar))];
    let text = "[(* (ref s 0) (cos t)) (* -1 (square (ref s 1)) (cos t))]";
    let program = compile(text, &Options { inputs: Some(inputs), ..Options::default() }).unwrap();
    Law { graph: Graph::clone(&program.graph().unwrap()), size: 2, shared: 0 }
}

fn solution(t: f64) -> [f64; 2] {
    [t.sin().exp(), 1.0 / (1.5 + t.sin())]
}

/// How wrong a step is, and by how much it says so.
fn errors(graph: &Graph, from: f64, length: f64) -> [f64; 2] {
    let inputs = [Tensor::vector(solution(from).to_vec()), Tensor::scalar(from), Tensor::scalar(length)];
    let found = interp::run(graph, &inputs, &Default::default()).unwrap();
    let far = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
    let wrong: Vec<f64> = found[0].data().iter().zip(solution(from + length)).map(|(x, y)| x - y).collect();
    [far(&wrong), found.get(1).map_or(f64::NAN, |e| far(e.data()))]
}

#[test]
fn steps_are_as_wrong_as_their_order_says() {
    let law = law();
    let starts = [0.3, 0.9, 1.7, 2.5];
    for scheme in Scheme::all() {
        let row = scheme.row();
        let graph = step(&law, scheme, true).unwrap();
        // One step of order p is wrong by the power p + 1 of its length. All starts together: at one of them an error may be near its zero.
        let power = |k: usize| {
            let all = |length: f64| starts.iter().map(|&from| errors(&graph, from, length)[k]).sum::<f64>();
            (all(0.06) / all(0.03)).log2() - 1.0
        };
        assert!((power(0) - f64::from(row.order)).abs() < 0.35, "{scheme}: {} instead of {}", power(0), row.order);
        assert_eq!(graph.outputs().len(), 1 + usize::from(row.embedded.is_some()), "{scheme}");
        if let Some(embedded) = row.embedded {
            assert!((power(1) - f64::from(embedded)).abs() < 0.35, "{scheme}: {} instead of {embedded}", power(1));
        }
    }
}

/// A rooted tree: its branches.
#[derive(Clone)]
struct Tree(Vec<Tree>);

/// All trees of a number of nodes (Butcher 1963), the branches of each in an order of their own.
fn trees(nodes: usize) -> Vec<Tree> {
    fn forests(nodes: usize, largest: (usize, usize)) -> Vec<Vec<Tree>> {
        if nodes == 0 {
            return vec![vec![]];
        }
        let mut all = Vec::new();
        for size in 1..=nodes.min(largest.0) {
            for (k, tree) in trees(size).into_iter().enumerate().filter(|(k, _)| size < largest.0 || *k <= largest.1) {
                all.extend(forests(nodes - size, (size, k)).into_iter().map(|mut f| {
                    f.push(tree.clone());
                    f
                }));
            }
        }
        all
    }
    forests(nodes - 1, (nodes, usize::MAX)).into_iter().map(Tree).collect()
}

impl Tree {
    fn nodes(&self) -> f64 {
        1.0 + self.0.iter().map(Tree::nodes).sum::<f64>()
    }

    /// One over the factor of the exact solution.
    fn density(&self) -> f64 {
        self.nodes() * self.0.iter().map(Tree::density).product::<f64>()
    }

    /// The factor of each stage.
    fn stages(&self, scheme: &Explicit) -> Vec<f64> {
        let rows = std::iter::once(&[][..]).chain(scheme.stages.iter().copied());
        let inner: Vec<Vec<f64>> = self.0.iter().map(|t| t.stages(scheme)).collect();
        let sum = |row: &[f64], of: &[f64]| row.iter().zip(of).map(|(a, x)| a * x).sum::<f64>();
        rows.map(|row| inner.iter().map(|of| sum(row, of)).product()).collect()
    }
}

#[test]
fn explicit_schemes_meet_the_conditions_of_their_order() {
    assert_eq!([1, 2, 3, 4, 5, 6].map(|n| trees(n).len()), [1, 1, 2, 4, 9, 20]);
    for row in SCHEMES {
        let Formula::Explicit(scheme) = row.formula else { continue };
        let worst = |order: usize, weights: &dyn Fn(usize) -> f64| {
            let off = |tree: &Tree| {
                let found: f64 = tree.stages(&scheme).iter().enumerate().map(|(i, x)| weights(i) * x).sum();
                (found - 1.0 / tree.density()).abs()
            };
            trees(order).iter().map(off).fold(0.0, f64::max)
        };
        let weight = |i: usize| scheme.weights.get(i).copied().unwrap_or(0.0);
        let embedded = |i: usize| weight(i) - scheme.error.get(i).copied().unwrap_or(0.0);
        for order in 1..=row.order as usize + 1 {
            assert_eq!(worst(order, &weight) < 1e-13, order <= row.order as usize, "{}: order {order}", row.name);
        }
        if let Some(lower) = row.embedded {
            for order in 1..=lower as usize + 1 {
                assert_eq!(worst(order, &embedded) < 1e-13, order <= lower as usize, "{}: embedded, order {order}", row.name);
            }
        }
    }
}

#[test]
fn rows_are_whole() {
    for row in SCHEMES {
        assert_eq!(row.embedded.is_some(), has_estimate(&row.formula), "{}", row.name);
        if let Formula::Explicit(e) = row.formula {
            assert_eq!(e.nodes.len(), e.stages.len(), "{}", row.name);
            for (k, (node, stage)) in e.nodes.iter().zip(e.stages).enumerate() {
                assert!(stage.len() <= k + 1, "{}: a stage sees what comes behind it", row.name);
                assert!((stage.iter().sum::<f64>() - node).abs() < 1e-14, "{}: stage {k}", row.name);
            }
            assert!((e.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{}", row.name);
            assert!(e.error.iter().sum::<f64>().abs() < 1e-15, "{}", row.name);
        }
    }
}

fn has_estimate(formula: &Formula) -> bool {
    match formula {
        Formula::Map => false,
        Formula::Explicit(e) => !e.error.is_empty(),
        Formula::Rosenbrock(_) => true,
    }
}

#[test]
fn names_are_found_and_others_are_told() {
    let mut seen: Vec<&str> = vec![AUTO, "map"];
    for row in SCHEMES {
        for name in [&[row.name], row.aliases].concat() {
            assert!(!seen.contains(&name), "{name} twice");
            seen.push(name);
            assert_eq!(name.parse::<Scheme>().unwrap().row().name, row.name);
        }
    }
    assert_eq!((Scheme::explicit().is_implicit(), Scheme::implicit().is_implicit()), (false, true));
    let error = "rk5".parse::<Scheme>().unwrap_err().to_string();
    assert_eq!(error, "the method is one of auto, dopri5, tsit5, bosh3, rosenbrock, rodas5p, rk4, euler, not \"rk5\"");
}
