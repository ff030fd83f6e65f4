//! Which parameters a model is affine in. In: a graph and inputs; out: a set of inputs in which, jointly, every second derivative is
//! zero by the structure of the graph. Sound, not complete: an affine parameter may be overlooked, never a false one named.

use neural_compiler::diff;
use neural_compiler::graph::{Graph, Kind};

/// A set of inputs in which the results are jointly affine: each is taken, in order, if it is affine with those taken before.
pub fn jointly_affine(graph: &Graph, inputs: &[usize]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for &input in inputs {
        let needs = tangent_needs(graph, input);
        if !needs[input] && chosen.iter().all(|&c| !needs[c]) {
            chosen.push(input);
        }
    }
    chosen
}

/// Which inputs the derivative by one of them depends on.
fn tangent_needs(graph: &Graph, wrt: usize) -> Vec<bool> {
    let derivative = diff::jvp(graph, &[wrt]);
    let main = derivative.main();
    let mut needed = vec![false; main.nodes.len()];
    main.results[graph.outputs().len()..].iter().for_each(|r| needed[r.0 as usize] = true);
    let mut inputs = vec![false; derivative.inputs.len()];
    for id in main.ids().rev() {
        if !needed[id.0 as usize] {
            continue;
        }
        if let Kind::Param(p) = main.node(id).kind {
            inputs[p as usize] = true;
        }
        main.args(id).iter().for_each(|a| needed[a.0 as usize] = true);
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use neural_compiler::{Options, compile};

    fn affine(text: &str) -> Vec<String> {
        let program = compile(text, &Options::default()).unwrap();
        let graph = program.graph().unwrap();
        let all: Vec<usize> = (0..graph.inputs.len()).collect();
        jointly_affine(&graph, &all).into_iter().map(|i| graph.inputs[i].name.clone()).collect()
    }

    #[test]
    fn finds_what_is_affine() {
        assert_eq!(affine("(param a 1) (param b 1) (param x 1) (+ a (* b (exp (* -1 (square x)))))"), ["a", "b"]);
        assert_eq!(affine("(param a 1) (param b 1) (* a b)"), ["a"], "jointly: only one of the two");
        assert_eq!(affine("(param a 1) (if (> a 0) a (- a))"), Vec::<String>::new(), "a choice is not affine");
        assert_eq!(affine("(param k 1) (/ k 3)"), ["k"]);
    }
}
