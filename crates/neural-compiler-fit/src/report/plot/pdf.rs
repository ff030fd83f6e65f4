//! A picture as PDF. In: shapes; out: the bytes of a file of one page. Words are in Courier, which every reader has and whose letters are
//! all equally wide, so that they stand where they should without a table of widths.

use super::shapes::{AREA_OPACITY, DOT_OPACITY, DOT_RADIUS, FRAME, Picture, Shape};
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str};

const FONT: Name<'static> = Name(b"F");
const SOLID: Name<'static> = Name(b"S");
const FAINT: Name<'static> = Name(b"D");
const PALE: Name<'static> = Name(b"E");
const SIZE: f32 = 10.0;
/// The width of a letter of Courier, in units of its size.
const LETTER: f32 = 0.6;
/// Handles of the four curves that make a circle.
const ROUND: f32 = 0.552_284_8;

fn unit([r, g, b]: [u8; 3]) -> [f32; 3] {
    [r, g, b].map(|x| f32::from(x) / 255.0)
}

/// The letters of a word in the encoding of the font (Windows-1252, of which Latin-1 is a part); a question mark for others.
fn letters(words: &str) -> Vec<u8> {
    words.chars().map(|c| if matches!(c as u32, 0x20..=0x7e | 0xa0..=0xff) { c as u32 as u8 } else { b'?' }).collect()
}

/// Goes through points.
fn path(content: &mut Content, points: &[(f64, f64)], at: impl Fn(f64, f64) -> (f32, f32)) {
    for (k, (x, y)) in points.iter().enumerate() {
        let (x, y) = at(*x, *y);
        if k == 0 {
            content.move_to(x, y)
        } else {
            content.line_to(x, y)
        };
    }
}

/// The bytes of the picture.
pub(super) fn bytes(picture: &Picture) -> Vec<u8> {
    let (width, height) = (picture.width as f32, picture.height as f32);
    // A page counts upwards.
    let at = |x: f64, y: f64| (x as f32, height - y as f32);
    let mut content = Content::new();
    content.set_parameters(SOLID);
    for shape in &picture.shapes {
        match shape {
            Shape::Frame(p) => {
                let ([r, g, b], (x, y)) = (unit(FRAME), at(p.left, p.top + p.height));
                content.set_stroke_rgb(r, g, b).set_line_width(1.0).rect(x, y, p.width as f32, p.height as f32).stroke();
            }
            Shape::Line(points, colour) if points.len() > 1 => {
                let [r, g, b] = unit(colour.rgb());
                content.set_stroke_rgb(r, g, b).set_line_width(colour.width() as f32);
                path(&mut content, points, at);
                content.stroke();
            }
            Shape::Area(points, colour) if points.len() > 2 => {
                let [r, g, b] = unit(colour.rgb());
                content.set_parameters(PALE).set_fill_rgb(r, g, b);
                path(&mut content, points, at);
                content.close_path().fill_nonzero();
                content.set_parameters(SOLID);
            }
            Shape::Line(..) | Shape::Area(..) => {}
            Shape::Dots(points, colour) => {
                let [r, g, b] = unit(colour.rgb());
                content.set_parameters(FAINT).set_fill_rgb(r, g, b);
                let (radius, k) = (DOT_RADIUS as f32, DOT_RADIUS as f32 * ROUND);
                for (x, y) in points {
                    let (x, y) = at(*x, *y);
                    content.move_to(x + radius, y);
                    content.cubic_to(x + radius, y + k, x + k, y + radius, x, y + radius);
                    content.cubic_to(x - k, y + radius, x - radius, y + k, x - radius, y);
                    content.cubic_to(x - radius, y - k, x - k, y - radius, x, y - radius);
                    content.cubic_to(x + k, y - radius, x + radius, y - k, x + radius, y);
                    content.fill_nonzero();
                }
                content.set_parameters(SOLID);
            }
            Shape::Text { x, y, anchor, words } => {
                let letters = letters(words);
                let (x, y) = at(*x, *y);
                let left = x - *anchor as f32 * LETTER * SIZE * letters.len() as f32;
                content.set_fill_rgb(0.0, 0.0, 0.0).begin_text().set_font(FONT, SIZE).next_line(left, y).show(Str(&letters)).end_text();
            }
        }
    }
    let [catalog, pages, page, contents, font, solid, faint, pale] = [1, 2, 3, 4, 5, 6, 7, 8].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut sheet = pdf.page(page);
    sheet.media_box(Rect::new(0.0, 0.0, width, height)).parent(pages).contents(contents);
    let mut resources = sheet.resources();
    resources.fonts().pair(FONT, font);
    resources.ext_g_states().pair(SOLID, solid).pair(FAINT, faint).pair(PALE, pale);
    resources.finish();
    sheet.finish();
    pdf.type1_font(font).base_font(Name(b"Courier")).encoding_predefined(Name(b"WinAnsiEncoding"));
    pdf.ext_graphics(solid).non_stroking_alpha(1.0);
    pdf.ext_graphics(faint).non_stroking_alpha(DOT_OPACITY);
    pdf.ext_graphics(pale).non_stroking_alpha(AREA_OPACITY);
    pdf.stream(contents, &content.finish());
    pdf.finish()
}
