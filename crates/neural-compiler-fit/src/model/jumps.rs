//! Whether a result may jump where an input moves. In: a graph and an input; out: whether, by its structure, the input reaches a rounding,
//! a remainder, a comparison, a computed index, a choice or the end of a loop. Sound, not complete: without such a thing on its way an
//! input moves the results continuously, and its derivative tells all; with one the derivative may be zero or constant between jumps.

use neural_compiler::graph::{Graph, Kind, RegionId};
use neural_compiler::ops::Op;
use neural_compiler::ops::row::Derivative;
use std::collections::HashMap;

/// Whether some result may jump where this input moves.
pub(crate) fn may_jump(graph: &Graph, input: usize) -> bool {
    let moved: Vec<bool> = (0..graph.inputs.len()).map(|i| i == input).collect();
    Walk { graph, known: HashMap::new() }.region(graph.main, moved).is_none()
}

/// Which results of a region move with some of its parameters; `None` if one may jump.
type Moves = Option<Vec<bool>>;

struct Walk<'a> {
    graph: &'a Graph,
    /// What is known of regions already looked at; one under way counts as jumping, so recursion does.
    known: HashMap<(RegionId, Vec<bool>), Moves>,
}

impl Walk<'_> {
    fn region(&mut self, id: RegionId, params: Vec<bool>) -> Moves {
        if !params.contains(&true) {
            return Some(vec![false; self.graph.region(id).results.len()]);
        }
        if let Some(known) = self.known.get(&(id, params.clone())) {
            return known.clone();
        }
        self.known.insert((id, params.clone()), None);
        let found = self.nodes(id, &params);
        self.known.insert((id, params), found.clone());
        found
    }

    fn nodes(&mut self, id: RegionId, params: &[bool]) -> Moves {
        let region = self.graph.region(id);
        let mut moves = vec![false; region.nodes.len()];
        for node in region.ids() {
            let args: Vec<bool> = region.args(node).iter().map(|a| moves[a.0 as usize]).collect();
            let kind = region.node(node).kind;
            moves[node.0 as usize] = match kind {
                Kind::Param(p) => params[p as usize],
                _ if !args.contains(&true) => false,
                _ => self.node(kind, &args)?,
            };
        }
        Some(region.results.iter().map(|r| moves[r.0 as usize]).collect())
    }

    /// Whether a node moves with its arguments, some of which do; `None` if it may jump.
    fn node(&mut self, kind: Kind, args: &[bool]) -> Option<bool> {
        match kind {
            Kind::Op(op, _) => {
                let steps = match op {
                    Op::Modulo | Op::Remainder => true,
                    Op::Select => args[0],
                    Op::CutAt | Op::PlaceAt => args[1],
                    _ => matches!(op.row().derivative, Derivative::Zero),
                };
                (!steps).then_some(true)
            }
            Kind::If(yes, no) => {
                if args[0] {
                    return None;
                }
                let (yes, no) = (self.region(yes, args[1..].to_vec())?, self.region(no, args[1..].to_vec())?);
                Some(yes.contains(&true) || no.contains(&true))
            }
            Kind::Loop { body, carried, .. } => {
                let (carried, mut params) = (carried as usize, args.to_vec());
                loop {
                    let results = self.region(body, params.clone())?;
                    if results[0] {
                        return None;
                    }
                    let before = params.clone();
                    params.iter_mut().zip(&results[1..=carried]).for_each(|(p, r)| *p |= r);
                    if params == before {
                        return Some(results[1..].contains(&true));
                    }
                }
            }
            Kind::Root { zero, starts, .. } => {
                let inside = std::iter::once(false).chain(args[starts as usize..].iter().copied()).collect();
                Some(self.region(zero, inside)?.contains(&true))
            }
            Kind::Call(region) => Some(self.region(region, args.to_vec())?.contains(&true)),
            Kind::Back { .. } => None,
            Kind::Param(_) | Kind::Const(_) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => Some(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use neural_compiler::{Options, compile};

    fn jumps(text: &str) -> bool {
        let graph = compile(&format!("(param a 1) (param x 2) {text}"), &Options::default()).and_then(|p| p.graph()).unwrap();
        may_jump(&graph, 0)
    }

    #[test]
    fn looks_into_loops_functions_and_choices() {
        for text in [
            "(* x (exp a))",
            "(* a (floor x))",
            "(if (> x 0) (* 2 a) (- a))",
            "(define (f u) (* 3 u)) (f a)",
            "(define (f n u) (if (< n 1) u (* 2 (f (- n 1) x)))) (f 3 x)",
        ] {
            assert!(!jumps(text), "{text}");
        }
        for text in [
            "(if (> x 0) (* 2 a) (floor a))",
            "(define (f u) (modulo u x)) (f a)",
            "(loop ((i 0) (s a)) (if (> s 3) i (recur (+ i 1) (+ s 1))))",
            "(loop ((i 0) (s 0) (r a)) (if (= i 3) s (recur (+ i 1) (round r) (* 2 r))))",
            "(select (> a x) 1 2)",
        ] {
            assert!(jumps(text), "{text}");
        }
    }
}
