//! Places the nodes of a drawing in layers. In: boxes and edges between them; out: positions, and edges as chains of points.
//! Invariants: every edge goes downwards by one layer at a time (longer ones through invisible boxes, shared by the edges of one
//! source); boxes of a layer do not overlap; the work is linear in boxes, edges and invisible boxes up to logarithms.

/// A box to place.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Its width.
    pub(super) width: f64,
    /// Its layer, from the top.
    pub(super) layer: usize,
    /// Its middle; found by `place`.
    pub(super) x: f64,
    /// Whether it is drawn, rather than a bend of an edge.
    pub(super) visible: bool,
}

/// A drawing of boxes in layers.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Boxes.
    pub(super) cells: Vec<Cell>,
    /// Edges from one layer to the next.
    pub(super) edges: Vec<(usize, usize)>,
    /// Width of the whole.
    pub(super) width: f64,
    /// Number of layers.
    pub(super) layers: usize,
}

/// Blanks between neighbours.
const GAP: f64 = 18.0;
/// Beyond this many bends edges are drawn straight.
const MOST_BENDS: usize = 20_000;
const SWEEPS: usize = 12;

/// Places boxes of given widths and layers. An edge must go to a later layer.
pub(super) fn place(cells: Vec<Cell>, edges: &[(usize, usize)]) -> Layout {
    let mut layout = Layout { layers: cells.iter().map(|c| c.layer + 1).max().unwrap_or(0), cells, ..Layout::default() };
    layout.bend(edges);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layout.layers];
    for (i, c) in layout.cells.iter().enumerate() {
        rows[c.layer].push(i);
    }
    let (mut above, mut below) = (vec![Vec::new(); layout.cells.len()], vec![Vec::new(); layout.cells.len()]);
    for &(a, b) in &layout.edges {
        below[a].push(b);
        above[b].push(a);
    }
    layout.order(&mut rows, &above, &below);
    layout.spread(&rows, &above, &below);
    layout
}

impl Layout {
    /// Splits long edges at every layer they cross.
    fn bend(&mut self, edges: &[(usize, usize)]) {
        let mut reach: Vec<usize> = self.cells.iter().map(|c| c.layer).collect();
        for &(a, b) in edges {
            reach[a] = reach[a].max(self.cells[b].layer);
        }
        let bends: usize = reach.iter().zip(&self.cells).map(|(&r, c)| (r - c.layer).saturating_sub(1)).sum();
        if bends > MOST_BENDS {
            self.edges = edges.to_vec();
            return;
        }
        // For each box, the first of its bends; they follow one after another, one per layer.
        let mut chain = vec![0; reach.len()];
        for a in 0..reach.len() {
            chain[a] = self.cells.len();
            let mut before = a;
            for layer in self.cells[a].layer + 1..reach[a] {
                self.edges.push((before, self.cells.len()));
                before = self.cells.len();
                self.cells.push(Cell { width: 0.0, layer, x: 0.0, visible: false });
            }
        }
        for &(a, b) in edges {
            let steps = self.cells[b].layer - self.cells[a].layer;
            let from = if steps > 1 { chain[a] + steps - 2 } else { a };
            self.edges.push((from, b));
        }
        self.edges.sort_unstable();
        self.edges.dedup();
    }

    /// Reorders each layer so that neighbours in adjacent layers come near each other: fewer crossings.
    fn order(&self, rows: &mut [Vec<usize>], above: &[Vec<usize>], below: &[Vec<usize>]) {
        let mut rank = vec![0.0; self.cells.len()];
        for row in rows.iter() {
            for (i, &c) in row.iter().enumerate() {
                rank[c] = i as f64;
            }
        }
        let alone = |c: usize| above[c].is_empty() && below[c].is_empty();
        let mean = |c: usize, near: &[usize], rank: &[f64]| match near {
            // What nothing is connected with stands aside.
            [] if alone(c) => f64::INFINITY,
            [] => rank[c],
            _ => near.iter().map(|&n| rank[n]).sum::<f64>() / near.len() as f64,
        };
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            for k in 0..rows.len() {
                let row = &mut rows[if down { k } else { self.layers - 1 - k }];
                let near = if down { above } else { below };
                let mut keyed: Vec<(f64, usize)> = row.iter().map(|&c| (mean(c, &near[c], &rank), c)).collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                for (i, (_, c)) in keyed.into_iter().enumerate() {
                    row[i] = c;
                    rank[c] = i as f64;
                }
            }
        }
    }

    /// Finds middles: each box as near as its layer allows to the mean of its neighbours.
    fn spread(&mut self, rows: &[Vec<usize>], above: &[Vec<usize>], below: &[Vec<usize>]) {
        for row in rows {
            let mut x = 0.0;
            for &c in row {
                self.cells[c].x = x + self.cells[c].width / 2.0;
                x += self.cells[c].width + GAP;
            }
        }
        for sweep in 0..2 * SWEEPS {
            let down = sweep % 2 == 0;
            for k in 0..rows.len() {
                let row = &rows[if down { k } else { self.layers - 1 - k }];
                let mut wanted: Vec<f64> = Vec::with_capacity(row.len());
                for (i, &c) in row.iter().enumerate() {
                    let near = if down { &above[c] } else { &below[c] };
                    wanted.push(match wanted.last() {
                        _ if !near.is_empty() => near.iter().map(|&n| self.cells[n].x).sum::<f64>() / near.len() as f64,
                        Some(before) if above[c].is_empty() && below[c].is_empty() => before + self.distance(row[i - 1], c),
                        _ => self.cells[c].x,
                    });
                }
                for (&c, x) in row.iter().zip(self.settle(row, &wanted)) {
                    self.cells[c].x = x;
                }
            }
        }
        let left = self.cells.iter().map(|c| c.x - c.width / 2.0).fold(f64::INFINITY, f64::min);
        for c in &mut self.cells {
            c.x -= left;
        }
        self.width = self.cells.iter().map(|c| c.x + c.width / 2.0).fold(0.0, f64::max);
    }

    /// How far apart the middles of neighbours must be.
    fn distance(&self, a: usize, b: usize) -> f64 {
        (self.cells[a].width + self.cells[b].width) / 2.0 + GAP
    }

    /// The places nearest to the wanted ones (least squares) that keep the order and the gaps: neighbours that would overlap are
    /// pooled into blocks, which sit at the mean of their wishes.
    fn settle(&self, row: &[usize], wanted: &[f64]) -> Vec<f64> {
        let mut offsets = Vec::with_capacity(row.len());
        let mut offset = 0.0;
        for (i, &c) in row.iter().enumerate() {
            if i > 0 {
                offset += self.distance(row[i - 1], c);
            }
            offsets.push(offset);
        }
        let mut blocks: Vec<(f64, usize)> = Vec::new();
        for (w, o) in wanted.iter().zip(&offsets) {
            let mut block = (w - o, 1);
            while let Some(&(sum, n)) = blocks.last()
                && sum / n as f64 > block.0 / block.1 as f64
            {
                block = (block.0 + sum, block.1 + n);
                blocks.pop();
            }
            blocks.push(block);
        }
        let level = blocks.into_iter().flat_map(|(sum, n)| std::iter::repeat_n(sum / n as f64, n));
        level.zip(&offsets).map(|(l, o)| l + o).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_keep_apart_and_edges_go_one_layer() {
        let cells: Vec<Cell> = (0..60).map(|i| Cell { width: 30.0 + i as f64, layer: i / 6, x: 0.0, visible: true }).collect();
        let edges: Vec<(usize, usize)> =
            (6..60).flat_map(|i| [(i % 6, i), (i - 6 + (i * 7) % 3 % (7 - i % 6).max(1), i)]).filter(|&(a, b)| a / 6 < b / 6).collect();
        let layout = place(cells, &edges);
        for &(a, b) in &layout.edges {
            assert_eq!(layout.cells[a].layer + 1, layout.cells[b].layer);
        }
        for layer in 0..layout.layers {
            let mut row: Vec<&Cell> = layout.cells.iter().filter(|c| c.layer == layer).collect();
            row.sort_by(|a, b| a.x.total_cmp(&b.x));
            for pair in row.windows(2) {
                assert!(pair[0].x + pair[0].width / 2.0 <= pair[1].x - pair[1].width / 2.0 + 1e-6);
            }
        }
        assert!(layout.cells.iter().all(|c| c.x.is_finite() && c.x <= layout.width));
    }

    #[test]
    fn nothing_is_placed_nowhere() {
        assert_eq!(place(Vec::new(), &[]).layers, 0);
    }
}
