//! A picture as SVG. In: shapes; out: text.

use super::shapes::{AREA_OPACITY, DOT_OPACITY, DOT_RADIUS, FRAME, Picture, Shape};
use std::fmt::Write;

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The text of the picture.
pub(super) fn text(picture: &Picture) -> String {
    let Picture { width, height, shapes } = picture;
    let mut out =
        format!(r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">"##);
    out.push_str(r##"<rect width="100%" height="100%" fill="white"/>"##);
    for shape in shapes {
        // Writing to a string cannot fail.
        let _ = match shape {
            Shape::Frame(p) => {
                let grey = hex(FRAME);
                write!(
                    out,
                    r##"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="none" stroke="{grey}"/>"##,
                    p.left, p.top, p.width, p.height
                )
            }
            Shape::Line(points, colour) => {
                let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
                write!(
                    out,
                    r##"<polyline points="{}" fill="none" stroke="{}" stroke-width="{}"/>"##,
                    list.join(" "),
                    hex(colour.rgb()),
                    colour.width()
                )
            }
            Shape::Dots(points, colour) => {
                let fill = hex(colour.rgb());
                points.iter().try_for_each(|(x, y)| {
                    write!(out, r##"<circle cx="{x:.2}" cy="{y:.2}" r="{DOT_RADIUS}" fill="{fill}" fill-opacity="{DOT_OPACITY}"/>"##)
                })
            }
            Shape::Area(points, colour) => {
                let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
                let fill = hex(colour.rgb());
                write!(out, r##"<polygon points="{}" fill="{fill}" fill-opacity="{AREA_OPACITY}"/>"##, list.join(" "))
            }
            Shape::Text { x, y, anchor, words } => {
                let anchor = if *anchor == 0.0 {
                    "start"
                } else if *anchor == 1.0 {
                    "end"
                } else {
                    "middle"
                };
                write!(out, r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"##, escape(words))
            }
        };
    }
    out.push_str("</svg>\n");
    out
}
