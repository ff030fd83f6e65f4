//! Which states the slope of each state depends on, by the structure of the law. In: the graph of a law; out: the pattern of its
//! Jacobian, and a colouring of the columns: columns of one colour have no row in common, so that one derivative along all of them at
//! once gives them all (Curtis, Powell and Reid 1974).
//! Invariant: an entry outside of the pattern is 0 whatever the states; one inside may be.

use crate::graph::{Graph, Kind, NodeId, Region};
use crate::ops::Op;
use crate::shape::Shape;
use std::collections::HashMap;
use std::rc::Rc;

/// A number: the states it depends on, in order; `None` if it is 0. On a grid that is a few, however many points there are.
type Cell = Option<Rc<[u32]>>;

/// What some numbers depend on together.
fn union(cells: impl Iterator<Item = Cell>) -> Cell {
    let mut cells = cells.flatten();
    let first = cells.next()?;
    let mut all: Option<Vec<u32>> = None;
    for cell in cells.filter(|c| !c.is_empty() && !Rc::ptr_eq(c, &first)) {
        all.get_or_insert_with(|| first.to_vec()).extend_from_slice(&cell);
    }
    let Some(mut all) = all else { return Some(first) };
    all.sort_unstable();
    all.dedup();
    Some(all.into())
}

struct Walk<'a> {
    law: &'a Graph,
    /// What depends on no state.
    nothing: Rc<[u32]>,
}

impl Walk<'_> {
    fn constant(&self) -> Cell {
        Some(self.nothing.clone())
    }

    fn region(&self, region: &Region, args: &[Vec<Cell>]) -> Vec<Vec<Cell>> {
        let mut cells: Vec<Vec<Cell>> = Vec::with_capacity(region.nodes.len());
        let mut many: HashMap<NodeId, Vec<Vec<Cell>>> = HashMap::new();
        for id in region.ids() {
            let node = region.node(id);
            let own: Vec<&Vec<Cell>> = region.args(id).iter().map(|a| &cells[a.0 as usize]).collect();
            let made = match node.kind {
                Kind::Param(p) => args[p as usize].clone(),
                Kind::Const(bits) => vec![if f64::from_bits(bits) == 0.0 { None } else { self.constant() }],
                Kind::Op(op, attr) => self.operation(op, attr as usize, region, id, &own),
                Kind::Proj(i) => many[&region.args(id)[0]][i as usize].clone(),
                kind => {
                    let inner: Vec<Vec<Cell>> = own.into_iter().cloned().collect();
                    let results = self.control(kind, &inner);
                    many.insert(id, results);
                    vec![]
                }
            };
            cells.push(made);
        }
        region.results.iter().map(|r| cells[r.0 as usize].clone()).collect()
    }

    /// Nodes that run regions. What a choice depends on changes no derivative.
    fn control(&self, kind: Kind, args: &[Vec<Cell>]) -> Vec<Vec<Cell>> {
        if let Kind::If(yes, no) = kind {
            let (y, n) = (self.region(self.law.region(yes), &args[1..]), self.region(self.law.region(no), &args[1..]));
            return y.into_iter().zip(n).map(|(y, n)| y.into_iter().zip(n).map(|(y, n)| union([y, n].into_iter())).collect()).collect();
        }
        let all = union(args.iter().flatten().cloned()).or_else(|| self.constant());
        self.law.result_types(kind).iter().map(|t| vec![all.clone(); t.shape().len()]).collect()
    }

    fn operation(&self, op: Op, attr: usize, region: &Region, id: NodeId, args: &[&Vec<Cell>]) -> Vec<Cell> {
        let len = region.shape(id).len();
        let shape = |k: usize| region.shape(region.args(id)[k]);
        let at = |k: usize, i: usize| args[k][if args[k].len() == 1 { 0 } else { i }].clone();
        // A product with 0 is 0 for every finite number.
        let product = |a: Cell, b: Cell| if a.is_some() && b.is_some() { union([a, b].into_iter()) } else { None };
        match op {
            Op::Mul | Op::Scale => (0..len).map(|i| product(at(0, i), at(1, i))).collect(),
            Op::Add | Op::Sub | Op::Neg => (0..len).map(|i| union((0..args.len()).map(|k| at(k, i)))).collect(),
            Op::Cut => args[0][attr..attr + len].to_vec(),
            Op::Join => args.iter().flat_map(|a| a.iter().cloned()).collect(),
            Op::Spread => vec![args[0][0].clone(); len],
            Op::Product => match (shape(0), shape(1)) {
                (Shape::Matrix(_, columns), Shape::Vector(_)) => {
                    let c = columns as usize;
                    (0..len).map(|i| union((0..c).map(|j| product(args[0][i * c + j].clone(), args[1][j].clone())))).collect()
                }
                _ => self.dense(args, len),
            },
            _ if op.row().is_elementwise() => {
                (0..len).map(|i| union((0..args.len()).map(|k| at(k, i))).or_else(|| self.constant())).collect()
            }
            _ => self.dense(args, len),
        }
    }

    fn dense(&self, args: &[&Vec<Cell>], len: usize) -> Vec<Cell> {
        vec![union(args.iter().flat_map(|a| a.iter().cloned())).or_else(|| self.constant()); len]
    }
}

/// Per row of the Jacobian of a law by its states, its first input, the columns that may not be 0.
pub(super) fn pattern(law: &Graph, size: usize) -> Vec<Vec<usize>> {
    let walk = Walk { law, nothing: Rc::new([]) };
    let mut args = vec![(0..size as u32).map(|i| Some(Rc::from([i]))).collect::<Vec<Cell>>()];
    args.extend(law.inputs[1..].iter().map(|i| vec![walk.constant(); i.shape.len()]));
    let rows = walk.region(law.main(), &args);
    let columns = |cell: &Cell| cell.as_ref().map_or(vec![], |states| states.iter().map(|&j| j as usize).collect());
    rows[0].iter().map(columns).collect()
}

/// A colour for each column: the first that no column with a common row has.
pub(super) fn colours(pattern: &[Vec<usize>], size: usize) -> Vec<usize> {
    // A slope that depends on all states needs all colours.
    if pattern.iter().any(|row| row.len() == size) {
        return (0..size).collect();
    }
    let mut rows = vec![Vec::new(); size];
    pattern.iter().for_each(|row| row.iter().for_each(|&c| rows[c].push(row)));
    let mut colours: Vec<usize> = Vec::with_capacity(size);
    for (column, rows) in rows.iter().enumerate() {
        let mut taken = vec![false; column + 1];
        rows.iter().for_each(|row| row.iter().filter(|&&c| c < column).for_each(|&c| taken[colours[c]] = true));
        colours.push(taken.iter().position(|t| !t).unwrap_or(column));
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, size: u32) -> (Vec<Vec<usize>>, Vec<usize>) {
        let inputs = vec![("u".to_string(), Some(Shape::Vector(size))), ("k".to_string(), Some(Shape::Scalar))];
        let law = crate::compile(text, &crate::Options { inputs: Some(inputs), ..Default::default() }).unwrap();
        let pattern = pattern(&law.graph().unwrap(), size as usize);
        let colours = colours(&pattern, size as usize);
        (pattern, colours)
    }

    #[test]
    fn a_chain_takes_three_colours() {
        let (pattern, colours) = of("(concat 0 (* k (+ (slice u 2 7) (slice u 0 5) (* -2 (slice u 1 6)))) 0)", 7);
        assert_eq!(pattern, [vec![], vec![0, 1, 2], vec![1, 2, 3], vec![2, 3, 4], vec![3, 4, 5], vec![4, 5, 6], vec![]]);
        assert_eq!(colours, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn zeros_of_a_matrix_count_and_what_is_not_understood_is_dense() {
        let text = "(define x (slice u 0 3)) (define y (ref u 3))
            (concat (matvec [[(- k) 0 0] [k (- k) 0] [0 k 0]] x) (if (> y 0) (norm x) (* y (ref x 1))))";
        assert_eq!(of(text, 4).0, [vec![0], vec![0, 1], vec![1], vec![0, 1, 2, 3]]);
    }
}
