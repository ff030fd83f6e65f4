//! What a picture is made of: frames, lines, dots and words, in the order they are drawn.

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// What something stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Colour {
    Data,
    Model,
    /// Data and model of a group.
    Group(usize),
    /// Error bars of a group, or of all data.
    Bar(Option<usize>),
    /// Lines at round numbers.
    Grid,
}

impl Colour {
    /// Red, green, blue.
    pub(super) fn rgb(self) -> [u8; 3] {
        match self {
            Colour::Data => [0x1f, 0x6f, 0xb4],
            Colour::Model => [0xd1, 0x49, 0x5b],
            Colour::Group(k) => GROUPS[k % GROUPS.len()],
            // Paler than what they belong to.
            Colour::Bar(group) => group.map_or(Colour::Data, Colour::Group).rgb().map(|x| x / 2 + 0x7f),
            Colour::Grid => [0xe8; 3],
        }
    }

    /// How wide a line is.
    pub(super) fn width(self) -> f64 {
        match self {
            Colour::Grid => 0.8,
            Colour::Bar(_) => 1.0,
            Colour::Data | Colour::Model | Colour::Group(_) => 1.5,
        }
    }
}

/// Colours of groups, told apart by people who see few colours too; then from the beginning.
const GROUPS: [[u8; 3]; 8] = [
    [0x1f, 0x6f, 0xb4],
    [0xd1, 0x49, 0x5b],
    [0x2a, 0x9d, 0x5c],
    [0xe0, 0x8a, 0x1e],
    [0x8e, 0x5e, 0xa2],
    [0x17, 0xa2, 0xb8],
    [0x8c, 0x56, 0x4b],
    [0x4d, 0x4d, 0x4d],
];

/// The grey of frames.
pub(super) const FRAME: [u8; 3] = [0x99; 3];
/// How strong a dot is.
pub(super) const DOT_OPACITY: f32 = 0.6;
pub(super) const DOT_RADIUS: f64 = 2.0;
/// How strong an area is.
pub(super) const AREA_OPACITY: f32 = 0.18;

/// A thing that is drawn.
#[derive(Debug)]
pub(super) enum Shape {
    Frame(Place),
    Line(Vec<(f64, f64)>, Colour),
    Dots(Vec<(f64, f64)>, Colour),
    /// An area within these corners.
    Area(Vec<(f64, f64)>, Colour),
    /// Words at a place on their base line; `anchor` 0: it is where they begin, 1: where they end.
    Text {
        x: f64,
        y: f64,
        anchor: f64,
        words: String,
    },
}

/// A picture.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) shapes: Vec<Shape>,
}

impl Picture {
    pub(super) fn new(width: f64, height: f64) -> Picture {
        Picture { width, height, shapes: Vec::new() }
    }

    pub(super) fn frame(&mut self, place: Place) {
        self.shapes.push(Shape::Frame(place));
    }

    pub(super) fn line(&mut self, points: Vec<(f64, f64)>, colour: Colour) {
        self.shapes.push(Shape::Line(points, colour));
    }

    pub(super) fn dots(&mut self, points: Vec<(f64, f64)>, colour: Colour) {
        self.shapes.push(Shape::Dots(points, colour));
    }

    pub(super) fn area(&mut self, points: Vec<(f64, f64)>, colour: Colour) {
        self.shapes.push(Shape::Area(points, colour));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: f64, words: &str) {
        self.shapes.push(Shape::Text { x, y, anchor, words: words.to_string() });
    }
}
