//! Lines of text from pieces that may break. In: a stream of texts, possible breaks and groups; out: text whose groups stand on one line
//! where they fit. Invariants: a group is either flat or broken at all of its own breaks; time is linear in the stream; indentation is
//! bounded, so that the text is too.

/// Columns a line should not exceed.
const WIDTH: usize = 88;
/// Deeper indentation than this helps nobody and would make the output quadratic in the nesting.
const DEEPEST: usize = 60;

enum Piece {
    Text(String),
    /// This text, or a new line.
    Break(&'static str),
    /// A new line.
    Hard,
    /// A group begins, indented by so much.
    Begin(usize),
    End,
}

/// A stream of pieces.
#[derive(Default)]
pub(crate) struct Layout {
    pieces: Vec<Piece>,
}

impl Layout {
    pub(crate) fn text(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        match self.pieces.last_mut() {
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_string())),
        }
    }

    pub(crate) fn or_break(&mut self, flat: &'static str) {
        self.pieces.push(Piece::Break(flat));
    }

    pub(crate) fn hard(&mut self) {
        self.pieces.push(Piece::Hard);
    }

    pub(crate) fn begin(&mut self, indent: usize) {
        self.pieces.push(Piece::Begin(indent));
    }

    pub(crate) fn end(&mut self) {
        self.pieces.push(Piece::End);
    }

    /// A comment to the end of the line: behind what came last, or on a line of its own.
    pub(crate) fn remark(&mut self, text: &str, trailing: bool) {
        // Groups that have just begun stay behind it, so that a break before them becomes the end of its line.
        let begun = self.pieces.iter().rev().take_while(|p| matches!(p, Piece::Begin(_))).count();
        let groups = self.pieces.split_off(self.pieces.len() - begun);
        if matches!(self.pieces.last(), Some(Piece::Break(_))) {
            self.pieces.pop();
        }
        if !self.at_line_start() {
            if trailing {
                self.text("  ");
            } else {
                self.hard();
            }
        }
        self.text(text);
        self.hard();
        self.pieces.extend(groups);
    }

    /// Whether nothing has been put, or a new line came last.
    pub(crate) fn at_line_start(&self) -> bool {
        self.pieces.iter().rev().find(|p| !matches!(p, Piece::Begin(_) | Piece::End)).is_none_or(|p| matches!(p, Piece::Hard))
    }

    /// The columns of each group on one line, by the place of its beginning; `None` where it cannot stand on one.
    fn widths(&self) -> Vec<Option<usize>> {
        let mut widths = vec![None; self.pieces.len()];
        let mut open: Vec<(usize, Option<usize>)> = Vec::new();
        let add = |open: &mut Vec<(usize, Option<usize>)>, width: Option<usize>| {
            if let Some((_, sum)) = open.last_mut() {
                *sum = sum.zip(width).map(|(a, b)| a + b);
            }
        };
        for (i, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(t) => add(&mut open, (!t.contains('\n')).then(|| t.chars().count())),
                Piece::Break(flat) => add(&mut open, Some(flat.chars().count())),
                Piece::Hard => add(&mut open, None),
                Piece::Begin(_) => open.push((i, Some(0))),
                Piece::End => {
                    if let Some((at, width)) = open.pop() {
                        widths[at] = width;
                        add(&mut open, width);
                    }
                }
            }
        }
        widths
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        let mut column = 0;
        // Of each open group: its indentation, and whether it is flat.
        let mut open: Vec<(usize, bool)> = vec![(0, false)];
        let newline = |out: &mut String, column: &mut usize, indent: usize| {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            *column = indent;
        };
        for (i, piece) in self.pieces.iter().enumerate() {
            let (indent, flat) = *open.last().unwrap_or(&(0, false));
            match piece {
                Piece::Text(t) => {
                    out.push_str(t);
                    column = t.rsplit_once('\n').map_or(column + t.chars().count(), |(_, last)| last.chars().count());
                }
                Piece::Break(text) if flat => {
                    out.push_str(text);
                    column += text.chars().count();
                }
                Piece::Break(_) | Piece::Hard => newline(&mut out, &mut column, indent),
                Piece::Begin(more) => {
                    let fits = flat || widths[i].is_some_and(|w| column + w <= WIDTH);
                    open.push(((indent + more).min(DEEPEST), fits));
                }
                Piece::End => {
                    open.pop();
                }
            }
        }
        out.truncate(out.trim_end().len());
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }
}
