//! A graph as a picture. In: a graph; out: an SVG document. Regions are labelled groups, values flow downwards; a constant is drawn
//! at every use, which keeps lines short. Large graphs are drawn as a summary: a box per region.

use super::layout::{Cell, Layout, place};
use super::print::title;
use super::{Graph, Kind, Region, Type};
use crate::shape::Shape;
use std::fmt::Write;

/// Graphs of more nodes are summarised: nobody could read the picture.
const MOST_NODES: usize = 2_000;
/// Regions a summary shows.
const MOST_REGIONS: usize = 200;
/// Characters of a label.
const LONGEST: usize = 36;
const LETTER: f64 = 7.3;
const BOX: f64 = 26.0;
const STEP: f64 = 62.0;
const MARGIN: f64 = 16.0;
const HEADER: f64 = 26.0;
/// Regions are set in rows about this wide.
const PAGE: f64 = 1100.0;

/// A region drawn at the origin.
struct Picture {
    body: String,
    width: f64,
    height: f64,
}

/// Draws a graph.
pub fn to_svg(graph: &Graph) -> String {
    let mut pictures: Vec<Picture> = Vec::new();
    if graph.size() <= MOST_NODES {
        pictures.push(draw(graph, graph.main.0 as usize));
        pictures.extend((0..graph.regions.len()).filter(|&r| r != graph.main.0 as usize).map(|r| draw(graph, r)));
    } else {
        let total = format!("{} nodes in {} regions", graph.size(), graph.regions.len());
        pictures.push(card(&total, &["too many to draw one by one".into()], "summary"));
        pictures.extend(graph.regions.iter().enumerate().take(MOST_REGIONS).map(|(r, region)| summary(region, r)));
        if graph.regions.len() > MOST_REGIONS {
            pictures.push(card("", &[format!("and {} more regions", graph.regions.len() - MOST_REGIONS)], "summary"));
        }
    }
    page(&pictures)
}

/// Sets pictures in rows.
fn page(pictures: &[Picture]) -> String {
    let (mut x, mut y, mut row, mut width) = (MARGIN, MARGIN, 0.0f64, 0.0f64);
    let mut body = String::new();
    for p in pictures {
        if x > MARGIN && x + p.width > PAGE {
            (x, y, row) = (MARGIN, y + row + MARGIN, 0.0);
        }
        write!(body, "<g transform=\"translate({x:.1} {y:.1})\">\n{}</g>\n", p.body).expect("a string");
        x += p.width + MARGIN;
        row = row.max(p.height);
        width = width.max(x);
    }
    let height = y + row + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <style>\n\
         text {{ font: 12px 'DejaVu Sans Mono', Menlo, Consolas, monospace; text-anchor: middle; fill: #111827 }}\n\
         .name {{ text-anchor: start; font-weight: bold; fill: #4b5563 }}\n\
         .note {{ font-size: 9px; fill: #6b7280 }}\n\
         rect {{ stroke: #6b7280; fill: #ffffff }}\n\
         rect.region {{ stroke: #d1d5db; fill: #fafafa }}\n\
         rect.input {{ fill: #dbeafe }}\n\
         rect.const {{ stroke: #d1d5db; fill: #f3f4f6 }}\n\
         rect.control {{ fill: #fef3c7 }}\n\
         rect.result {{ fill: #dcfce7 }}\n\
         path {{ stroke: #9ca3af; stroke-width: 1.2; fill: none }}\n\
         </style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8Z\" style=\"fill:#9ca3af;stroke:none\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" style=\"fill:#ffffff;stroke:none\"/>\n{body}</svg>\n"
    )
}

/// What is drawn of a node.
struct Drawn {
    label: String,
    note: String,
    class: &'static str,
    tip: String,
}

fn type_note(ty: Type) -> String {
    match ty {
        Type::Value(Shape::Scalar) | Type::Many => String::new(),
        Type::Value(shape) => shape.to_string(),
        Type::Record => "record".into(),
    }
}

/// Draws a region.
fn draw(graph: &Graph, index: usize) -> Picture {
    let region = &graph.regions[index];
    let (mut drawn, mut cells, mut edges) = (Vec::new(), Vec::new(), Vec::new());
    let mut add = |d: Drawn, layer: usize, cells: &mut Vec<Cell>| {
        let letters = d.label.chars().count().max(d.note.chars().count());
        cells.push(Cell { width: (letters as f64 * LETTER + 18.0).max(34.0), layer, x: 0.0, visible: true });
        drawn.push(d);
        cells.len() - 1
    };
    // The box of each node; constants get one at each use.
    let mut boxes = vec![usize::MAX; region.nodes.len()];
    let constant = |id: super::NodeId| {
        let label = shorten(title(graph, region, id).trim_start_matches("const "));
        Drawn { tip: format!("%{}", id.0), label, note: String::new(), class: "const" }
    };
    for id in region.ids() {
        let node = region.node(id);
        let class = match node.kind {
            Kind::Const(_) => continue,
            Kind::Param(_) => "input",
            Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. } => "control",
            Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => "op",
        };
        let args = region.args(id);
        let above = args.iter().filter_map(|a| cells.get(boxes[a.0 as usize])).map(|c: &Cell| c.layer + 1).max();
        let any_constant = args.iter().any(|a| boxes[a.0 as usize] == usize::MAX);
        let layer = above.unwrap_or(0).max(usize::from(any_constant));
        let name = title(graph, region, id);
        let label = shorten(name.strip_prefix("input ").unwrap_or(&name));
        let own = add(Drawn { tip: format!("%{} = {name}", id.0), label, note: type_note(node.ty), class }, layer, &mut cells);
        boxes[id.0 as usize] = own;
        for &a in args {
            let from = match boxes[a.0 as usize] {
                usize::MAX => add(constant(a), layer - 1, &mut cells),
                b => b,
            };
            edges.push((from, own));
        }
    }
    let last = cells.iter().map(|c| c.layer + 1).max().unwrap_or(0).max(1);
    for (i, &r) in region.results.iter().enumerate() {
        let own = add(Drawn { tip: String::new(), label: format!("result {i}"), note: String::new(), class: "result" }, last, &mut cells);
        let from = match boxes[r.0 as usize] {
            usize::MAX => add(constant(r), last - 1, &mut cells),
            b => b,
        };
        edges.push((from, own));
    }
    let layout = place(cells, &edges);
    frame(&format!("{}#{index}", region.name), layout.width, layout.layers as f64 * STEP - (STEP - BOX), paint(&layout, &drawn))
}

/// The boxes and lines of a region.
fn paint(layout: &Layout, drawn: &[Drawn]) -> String {
    let mut out = String::new();
    let y = |layer: usize| layer as f64 * STEP;
    for &(a, b) in &layout.edges {
        let (from, to) = (&layout.cells[a], &layout.cells[b]);
        // A bend has no height of its own: its line starts where the one into it ended.
        let (x0, y0) = (from.x, y(from.layer) + if from.visible { BOX } else { BOX / 2.0 });
        let (x1, y1) = (to.x, y(to.layer) + if to.visible { 0.0 } else { BOX / 2.0 });
        let middle = (y0 + y1) / 2.0;
        let arrow = if to.visible { " marker-end=\"url(#arrow)\"" } else { "" };
        writeln!(out, "<path d=\"M{x0:.1} {y0:.1}C{x0:.1} {middle:.1} {x1:.1} {middle:.1} {x1:.1} {y1:.1}\"{arrow}/>").expect("a string");
    }
    for (cell, d) in layout.cells.iter().zip(drawn) {
        let (left, top) = (cell.x - cell.width / 2.0, y(cell.layer));
        let round = if matches!(d.class, "input" | "result") { 13 } else { 4 };
        let tip = if d.tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(&d.tip)) };
        writeln!(
            out,
            "<g>{tip}<rect class=\"{}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BOX}\" rx=\"{round}\"/>",
            d.class, cell.width
        )
        .expect("a string");
        let baseline = if d.note.is_empty() { 17.5 } else { 12.5 };
        write!(out, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", cell.x, top + baseline, escape(&d.label)).expect("a string");
        if !d.note.is_empty() {
            write!(out, "<text class=\"note\" x=\"{:.1}\" y=\"{:.1}\">{}</text>", cell.x, top + 22.5, escape(&d.note)).expect("a string");
        }
        out.push_str("</g>\n");
    }
    out
}

/// A labelled frame around a drawing.
fn frame(name: &str, width: f64, height: f64, body: String) -> Picture {
    let name = shorten(name);
    let inner = width.max(name.chars().count() as f64 * (LETTER + 0.5));
    let (w, h) = (inner + 2.0 * MARGIN, height + HEADER + 2.0 * MARGIN);
    let body = format!(
        "<rect class=\"region\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"8\"/>\n<text class=\"name\" x=\"{MARGIN}\" y=\"22\">{}</text>\n\
         <g transform=\"translate({MARGIN} {})\">\n{body}</g>\n",
        escape(&name),
        HEADER + MARGIN
    );
    Picture { body, width: w, height: h }
}

/// A frame with lines of text.
fn card(name: &str, lines: &[String], class: &str) -> Picture {
    let width = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0) as f64 * LETTER;
    let mut body = String::new();
    for (i, line) in lines.iter().enumerate() {
        writeln!(body, "<text class=\"{class}\" style=\"text-anchor:start\" x=\"0\" y=\"{}\">{}</text>", i * 16 + 4, escape(line))
            .expect("a string");
    }
    frame(name, width, lines.len().saturating_sub(1) as f64 * 16.0, body)
}

/// A region in a few words.
fn summary(region: &Region, index: usize) -> Picture {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for node in &region.nodes {
        let name = match node.kind {
            Kind::Op(op, _) => op.row().name,
            Kind::If(..) => "if",
            Kind::Loop { .. } => "loop",
            Kind::Back { .. } => "loop-back",
            Kind::Call(_) => "call",
            Kind::Root { .. } => "root",
            Kind::Param(_) | Kind::Const(_) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => continue,
        };
        match counts.iter_mut().find(|c| c.0 == name) {
            Some(c) => c.1 += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut lines = vec![format!("{} nodes, {} parameters, {} results", region.nodes.len(), region.params.len(), region.results.len())];
    lines.extend(counts.iter().take(8).map(|(name, n)| format!("{n} × {name}")));
    card(&format!("{}#{index}", region.name), &lines, "summary")
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Text that XML takes: markup escaped, characters it forbids replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
