//! The lines of a text table that matter. In: bytes as they come; out: the same without comment lines and blank lines, with `\n` at the end
//! of every line, and where the lines were in the file.
//!
//! Only whole lines are handed on where that is possible: when all of them have been used, the next byte has to be waited for.
//! Invariants: what stands in quotes is not touched; no line is longer than `LONGEST_ROW`.

use super::dialect::Separator;
use std::collections::VecDeque;
use std::io::{self, Read};

/// Bytes of the longest row.
pub(super) const LONGEST_ROW: usize = 1 << 26;
const BLOCK: usize = 1 << 16;

/// Where the reader is in a line.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// At its beginning.
    Line,
    /// At the beginning of a cell; behind blanks, where blanks separate.
    Cell,
    Plain,
    Quoted,
    /// Behind a quote inside of quotes: the end, unless another follows.
    Closing,
    Comment,
    /// In a line of nothing but blanks, so far.
    Blank,
}

/// The lines of a table.
pub(super) struct Lines {
    from: Box<dyn Read>,
    separator: Separator,
    comment: Option<u8>,
    state: State,
    block: Vec<u8>,
    /// What can be handed on from `start`; complete lines up to `ready`.
    out: Vec<u8>,
    start: usize,
    ready: usize,
    ended: bool,
    /// A carriage return that may belong to the end of a line.
    held: bool,
    /// Where the current line begins in `out`.
    begun: usize,
    /// The line of the file now being read, from 1, and the lines handed on.
    line: u64,
    given: u64,
    pub(super) seen: Seen,
}

/// What the lines were.
#[derive(Default)]
pub(super) struct Seen {
    /// Comment lines left out.
    pub(super) comments: u64,
    /// The end came inside of quotes.
    pub(super) open_quote: bool,
    /// Bytes handed on.
    pub(super) bytes: u64,
    /// Bytes handed on since this was set to 0.
    pub(super) since_row: usize,
    /// From the line handed on as so many-th (from 1) on, lines are so much further down in the file.
    shifts: VecDeque<(u64, u64)>,
}

impl Seen {
    /// The line of the file that was handed on as this one; lines are asked for in order.
    pub(super) fn line(&mut self, given: u64) -> u64 {
        while self.shifts.len() > 1 && self.shifts[1].0 <= given {
            self.shifts.pop_front();
        }
        given + self.shifts.front().filter(|s| s.0 <= given).map_or(0, |s| s.1)
    }
}

impl Lines {
    pub(super) fn new(from: Box<dyn Read>, separator: Separator, comment: Option<u8>) -> Lines {
        Lines {
            from,
            separator,
            comment,
            state: State::Line,
            block: vec![0; BLOCK],
            out: Vec::new(),
            start: 0,
            ready: 0,
            ended: false,
            held: false,
            begun: 0,
            line: 1,
            given: 0,
            seen: Seen::default(),
        }
    }

    fn push(&mut self, byte: u8) {
        self.out.push(byte);
    }

    /// The end of a line outside of quotes.
    fn end_line(&mut self) {
        match self.state {
            State::Comment => {
                self.seen.comments += 1;
                self.out.truncate(self.begun);
            }
            State::Line | State::Blank => self.out.truncate(self.begun),
            _ => {
                if self.separator == Separator::Blanks && self.out.last() == Some(&b'\t') {
                    self.out.pop();
                }
                self.push(b'\n');
                self.hand_on();
            }
        }
        self.line += 1;
        self.state = State::Line;
        self.begun = self.out.len();
    }

    /// A line (or a part of a cell with line ends in it) is complete.
    fn hand_on(&mut self) {
        self.given += 1;
        self.ready = self.out.len();
        let shift = self.line - self.given;
        if self.seen.shifts.back().map_or(0, |s| s.1) != shift {
            self.seen.shifts.push_back((self.given, shift));
        }
    }

    fn take_all(&mut self, mut bytes: &[u8]) {
        let separator = match self.separator {
            Separator::Byte(b) => b,
            Separator::Blanks => b' ',
        };
        while let Some((&byte, rest)) = bytes.split_first() {
            self.take(byte);
            bytes = rest;
            if self.state == State::Plain && !self.held {
                // Most bytes are inside of a cell.
                let special = |b: &u8| *b == separator || matches!(*b, b'\n' | b'\r' | b'\t');
                let plain = bytes.iter().position(special).unwrap_or(bytes.len());
                self.out.extend_from_slice(&bytes[..plain]);
                bytes = &bytes[plain..];
            }
        }
    }

    fn take(&mut self, byte: u8) {
        if self.held {
            self.held = false;
            if byte != b'\n' {
                self.take_one(b'\r');
            }
        }
        if byte == b'\r' && self.state != State::Quoted {
            self.held = true;
            return;
        }
        self.take_one(byte);
    }

    fn take_one(&mut self, byte: u8) {
        let blanks = self.separator == Separator::Blanks;
        let separates = match self.separator {
            Separator::Byte(b) => byte == b,
            Separator::Blanks => matches!(byte, b' ' | b'\t'),
        };
        match self.state {
            State::Quoted => {
                self.push(byte);
                if byte == b'"' {
                    self.state = State::Closing;
                } else if byte == b'\n' {
                    self.hand_on();
                    self.line += 1;
                }
                return;
            }
            State::Closing if byte == b'"' => {
                self.push(byte);
                self.state = State::Quoted;
                return;
            }
            _ if byte == b'\n' => return self.end_line(),
            State::Comment => return,
            State::Line if Some(byte) == self.comment => {
                self.state = State::Comment;
                return;
            }
            State::Line | State::Blank if matches!(byte, b' ' | b'\t') && (blanks || !separates) => {
                self.state = State::Blank;
                if !blanks {
                    self.push(byte);
                }
                return;
            }
            _ => {}
        }
        if separates {
            // One for any number of blanks.
            if !blanks {
                self.push(byte);
            } else if self.state != State::Cell {
                self.push(b'\t');
            }
            self.state = State::Cell;
        } else {
            let begins = matches!(self.state, State::Line | State::Cell) || blanks && self.state == State::Blank;
            self.state = if byte == b'"' && begins { State::Quoted } else { State::Plain };
            self.push(byte);
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.out.drain(..self.start);
            self.ready -= self.start;
            self.begun = self.begun.saturating_sub(self.start);
            self.start = 0;
        }
        while self.ready == 0 && !self.ended {
            if self.out.len() > LONGEST_ROW {
                return Err(io::Error::from(io::ErrorKind::QuotaExceeded));
            }
            let mut block = std::mem::take(&mut self.block);
            let read = loop {
                match self.from.read(&mut block) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    other => break other,
                }
            };
            if let Ok(n) = read {
                self.take_all(&block[..n]);
            }
            self.block = block;
            if read? == 0 {
                self.ended = true;
                self.seen.open_quote = self.state == State::Quoted;
                if self.seen.open_quote {
                    self.hand_on()
                } else {
                    self.end_line()
                }
                self.ready = self.out.len();
            }
        }
        Ok(())
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.start == self.ready {
            self.fill()?;
        }
        let n = buffer.len().min(self.ready - self.start);
        buffer[..n].copy_from_slice(&self.out[self.start..self.start + n]);
        self.start += n;
        self.seen.bytes += n as u64;
        self.seen.since_row += n;
        if self.seen.since_row > LONGEST_ROW {
            return Err(io::Error::from(io::ErrorKind::QuotaExceeded));
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(text: &str, separator: Separator, comment: Option<u8>) -> (String, Lines) {
        // A byte at a time: no decision may depend on how the bytes come.
        struct Slow(VecDeque<u8>);
        impl Read for Slow {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let Some(byte) = self.0.pop_front() else { return Ok(0) };
                out[0] = byte;
                Ok(1)
            }
        }
        let mut lines = Lines::new(Box::new(Slow(text.bytes().collect())), separator, comment);
        let mut out = String::new();
        lines.read_to_string(&mut out).unwrap();
        (out, lines)
    }

    #[test]
    fn only_what_matters() {
        let comma = Separator::Byte(b',');
        let (out, mut lines) = through("# a\n\nx,y\r\n1,\"2\r\n#3\n\"\r\n  \n# b\n3,4", comma, Some(b'#'));
        assert_eq!(out, "x,y\n1,\"2\r\n#3\n\"\n3,4\n");
        assert_eq!(lines.seen.comments, 2);
        // Handed on as lines 1, 2 to 4, 5; in the file lines 3, 4 to 6, 9.
        assert_eq!([1, 2, 5].map(|l| lines.seen.line(l)), [3, 4, 9]);
        assert_eq!(through("x,\"a\"\"b\n\",z\n,,\n \n", comma, None).0, "x,\"a\"\"b\n\",z\n,,\n");
        assert_eq!(through("a 5\",b\n\n1,2\n", comma, None).0, "a 5\",b\n1,2\n");
    }

    #[test]
    fn blanks_separate() {
        let (out, _) = through("  t   y \n 0.5\t 1  \n\n#x\n\"a b\"  2\n   \n", Separator::Blanks, Some(b'#'));
        assert_eq!(out, "t\ty\n0.5\t1\n\"a b\"\t2\n");
    }
}
