//! Which parameters a model is affine in. In: a graph and inputs; out: a set of inputs in which, jointly, every second derivative is
//! zero by the structure of the graph and nothing jumps. Sound, not complete: an affine parameter may be overlooked, never a false one
//! named.

use crate::model::jumps::may_jump;
use crate::model::layout::Layout;
use neural_compiler::diff;
use neural_compiler::graph::{Graph, Kind};

/// A set of inputs in which the results are jointly affine: each is taken, in order, if it is affine with those taken before.
pub fn jointly_affine(graph: &Graph, inputs: &[usize]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for &input in inputs {
        if may_jump(graph, input) {
            continue;
        }
        let needs = tangent_needs(graph, input);
        if !needs[input] && chosen.iter().all(|&c| !needs[c]) {
            chosen.push(input);
        }
    }
    chosen
}

/// The free numbers of a layout in which the results are jointly affine.
pub(crate) fn numbers(graph: &Graph, layout: &Layout) -> Vec<usize> {
    let affine = jointly_affine(graph, &layout.free_inputs());
    let chosen = layout.shared.iter().filter(|s| affine.contains(&s.input));
    chosen.flat_map(|s| s.at.map_or(0..0, |at| at..at + s.shape.len())).collect()
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

    /// Between jumps and kinks these have constant derivatives, or none at all.
    #[test]
    fn what_jumps_or_bends_is_not_affine() {
        let texts = [
            "(modulo a 2)",
            "(modulo 7 a)",
            "(remainder a 2)",
            "(remainder 7 a)",
            "(quotient a 2)",
            "(floor a)",
            "(ceiling a)",
            "(round a)",
            "(truncate a)",
            "(sign a)",
            "(abs a)",
            "(min a 1)",
            "(max a 1)",
            "(relu a)",
            "(clamp a 0 1)",
            "(> a 0)",
            "(= a 0)",
            "(not a)",
            "(select (> a 0) 1 2)",
            "(if (> a 0) 1 2)",
            "(ref [1 4 9] (floor a))",
            "(+ a (floor a))",
            "(* b (> a 0))",
            "(norm [a 1])",
            "(loop ((i 0)) (if (> i a) i (recur (+ i 1))))",
        ];
        for text in texts {
            let found = affine(&format!("(param a 1) (param b 1) {text}"));
            assert!(!found.contains(&"a".to_string()), "{text}: {found:?}");
        }
        // Half of a remainder is one, in a function and in a loop too.
        let inside = "(param a 1) (define (f u) (modulo u 2)) (loop ((i 0) (s 0)) (if (= i 3) s (recur (+ i 1) (+ s (f (* i a))))))";
        assert_eq!(affine(inside), Vec::<String>::new());
    }
}
