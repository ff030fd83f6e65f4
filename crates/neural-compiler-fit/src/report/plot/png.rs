//! A picture as PNG, at twice the size of its SVG. In: shapes; out: the bytes of a file. Lines and dots are drawn by tiny-skia; words come
//! from a bitmap font, so that no font has to be found on the machine.

use super::shapes::{AREA_OPACITY, DOT_OPACITY, DOT_RADIUS, FRAME, Picture, Shape};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Rect, Stroke, Transform};

const SCALE: f32 = 2.0;
const HEIGHT: RasterHeight = RasterHeight::Size20;

fn paint<'a>([r, g, b]: [u8; 3], opacity: f32) -> Paint<'a> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (255.0 * opacity) as u8);
    paint.anti_alias = true;
    paint
}

/// The bytes of the picture; empty where it is too large to be drawn.
pub(super) fn bytes(picture: &Picture) -> Vec<u8> {
    let size = |x: f64| (x as f32 * SCALE).ceil() as u32;
    let Some(mut map) = Pixmap::new(size(picture.width), size(picture.height)) else { return vec![] };
    map.fill(Color::WHITE);
    let scale = Transform::from_scale(SCALE, SCALE);
    for shape in &picture.shapes {
        match shape {
            Shape::Frame(p) => {
                if let Some(rect) = Rect::from_xywh(p.left as f32, p.top as f32, p.width as f32, p.height as f32) {
                    map.stroke_path(&PathBuilder::from_rect(rect), &paint(FRAME, 1.0), &Stroke::default(), scale, None);
                }
            }
            Shape::Area(points, colour) => {
                let mut path = along(points);
                path.close();
                if let Some(path) = path.finish() {
                    map.fill_path(&path, &paint(colour.rgb(), AREA_OPACITY), FillRule::Winding, scale, None);
                }
            }
            Shape::Line(points, colour) => {
                if let Some(path) = along(points).finish() {
                    let stroke = Stroke { width: colour.width() as f32, ..Stroke::default() };
                    map.stroke_path(&path, &paint(colour.rgb(), 1.0), &stroke, scale, None);
                }
            }
            Shape::Dots(points, colour) => {
                for (x, y) in points {
                    if let Some(dot) = PathBuilder::from_circle(*x as f32, *y as f32, DOT_RADIUS as f32) {
                        map.fill_path(&dot, &paint(colour.rgb(), DOT_OPACITY), FillRule::Winding, scale, None);
                    }
                }
            }
            Shape::Text { x, y, anchor, words } => write(&mut map, *x as f32, *y as f32, *anchor as f32, words),
        }
    }
    map.encode_png().unwrap_or_default()
}

/// A path through points.
fn along(points: &[(f64, f64)]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (k, (x, y)) in points.iter().enumerate() {
        if k == 0 { path.move_to(*x as f32, *y as f32) } else { path.line_to(*x as f32, *y as f32) }
    }
    path
}

/// Words on their base line.
fn write(map: &mut Pixmap, x: f32, y: f32, anchor: f32, words: &str) {
    let advance = get_raster_width(FontWeight::Regular, HEIGHT);
    let length = advance * words.chars().count();
    // The base line of the font is at four fifths of its height.
    let (mut left, top) = ((x * SCALE - anchor * length as f32) as i64, (y * SCALE - 0.8 * HEIGHT.val() as f32) as i64);
    let (width, height) = (i64::from(map.width()), i64::from(map.height()));
    for letter in words.chars() {
        let Some(raster) = get_raster(letter, FontWeight::Regular, HEIGHT).or_else(|| get_raster('?', FontWeight::Regular, HEIGHT)) else {
            continue;
        };
        for (row, line) in raster.rows().enumerate() {
            for (column, ink) in line.iter().enumerate().filter(|(_, ink)| **ink > 0) {
                let (px, py) = (left + column as i64, top + row as i64);
                if (0..width).contains(&px) && (0..height).contains(&py) {
                    let grey = 255 - ink;
                    if let Some(colour) = PremultipliedColorU8::from_rgba(grey, grey, grey, 255) {
                        map.pixels_mut()[(py * width + px) as usize] = colour;
                    }
                }
            }
        }
        left += advance as i64;
    }
}
