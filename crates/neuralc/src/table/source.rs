//! Where a text table comes from. In: a path or `-`; out: its bytes, unpacked, without byte order mark, and what its first lines show.
//! Files that are no text are refused with what they are.

use super::dialect::{Comment, Separator, TableArgs};
use super::lines::LONGEST_ROW;
use super::{cannot_read, empty, open_file};
use crate::context::{Failure, reason};
use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

/// The bytes of a table.
pub(super) struct Source {
    pub(super) from: Box<dyn Read>,
    pub(super) separator: Separator,
    pub(super) comment: Option<u8>,
    /// Whether the bytes come as somebody makes them: rows are wanted as soon as they are there.
    pub(super) live: bool,
    pub(super) gzip: bool,
    pub(super) mark: bool,
    /// Bytes of the file, and those read so far.
    pub(super) size: Option<u64>,
    pub(super) read: Rc<Cell<u64>>,
}

struct Counted<R> {
    from: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(out)?;
        self.count.set(self.count.get() + n as u64);
        Ok(n)
    }
}

#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// What a file is that is no text.
fn other_kind(head: &[u8]) -> Option<(&'static str, &'static str)> {
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(("UTF-16 text", "save it as UTF-8, or: iconv -f UTF-16 -t UTF-8 FILE")),
        [b'P', b'A', b'R', b'1', ..] => Some(("a Parquet file", "give it a name that ends in .parquet")),
        [b'P', b'K', 3, 4, ..] => Some(("a zip archive or an Excel workbook", "save the sheet as CSV")),
        _ if head.iter().take(512).filter(|b| **b == 0).count() > 8 => {
            Some(("no text: there are zero bytes in it", "save it as CSV in UTF-8"))
        }
        _ => None,
    }
}

impl Source {
    pub(super) fn open(path: &str, shown: &str, spooled: Option<File>, args: &TableArgs) -> Result<Source, Failure> {
        let failed = |e: io::Error| cannot_read(shown, reason(&e));
        let file = match spooled {
            Some(file) => file,
            None if path == "-" => stdin().map_err(failed)?,
            None => open_file(path)?,
        };
        let size = file.metadata().ok().filter(|m| m.is_file()).map(|m| m.len());
        let count = Rc::new(Cell::new(0));
        let mut file = Counted { from: file, count: count.clone() };
        let mut magic = Vec::new();
        (&mut file).take(2).read_to_end(&mut magic).map_err(failed)?;
        let gzip = magic == [0x1f, 0x8b];
        let whole = Cursor::new(magic).chain(file);
        let mut from: Box<dyn Read> = if gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        let first = FirstLines::read(&mut from, args.comment).map_err(failed)?;
        let mark = first.mark;
        if let Some((what, help)) = other_kind(&first.head) {
            return Err(Failure::plain("not-text", format!("`{shown}` is {what}"), Some(help.into())));
        }
        let (header, row) = (first.lines.first(), first.lines.get(1));
        let Some(header) = header.map(|r| &first.head[r.clone()]) else { return Err(first.no_header(shown)) };
        let row = row.map(|r| &first.head[r.clone()]);
        let separator = match args.separator {
            Some(separator) => separator,
            None => separator(header, row, shown)?,
        };
        let comment = match args.comment {
            Some(Comment::From(c)) => Some(c),
            Some(Comment::None) => None,
            None => first.comments.then_some(b'#'),
        };
        let from = Box::new(Cursor::new(first.head).chain(from));
        Ok(Source { from, separator, comment, live: size.is_none(), gzip, mark, size, read: count })
    }
}

/// The beginning of a table, up to the end of its second line that is no comment.
struct FirstLines {
    head: Vec<u8>,
    /// Where its last line begins.
    last: usize,
    lines: Vec<std::ops::Range<usize>>,
    comments: bool,
    mark: bool,
}

impl FirstLines {
    fn read(from: &mut dyn Read, comment: Option<Comment>) -> io::Result<FirstLines> {
        let mut found = FirstLines { head: Vec::new(), last: 0, lines: Vec::new(), comments: false, mark: false };
        let mut block = vec![0; 1 << 16];
        let (mut at, mut begin, mut quoted, mut cell) = (0, 0, false, true);
        let mark = match comment {
            Some(Comment::From(c)) => Some(c),
            Some(Comment::None) => None,
            None => Some(b'#'),
        };
        loop {
            let n = from.read(&mut block)?;
            found.head.extend_from_slice(&block[..n]);
            if found.head.len() < 3 && n > 0 {
                continue;
            }
            if found.head.starts_with(b"\xef\xbb\xbf") && at == 0 {
                found.head.drain(..3);
                found.mark = true;
            }
            if n == 0 && at <= found.head.len() && !found.head.is_empty() && found.head.last() != Some(&b'\n') {
                found.line(begin..found.head.len(), mark);
            }
            while at < found.head.len() && found.lines.len() < 2 {
                let byte = found.head[at];
                match byte {
                    b'"' if quoted || cell => (quoted, cell) = (!quoted, false),
                    b'\n' if !quoted || found.head.get(begin) == mark.as_ref() => {
                        found.line(begin..at, mark);
                        (begin, cell, quoted) = (at + 1, true, false);
                    }
                    b',' | b';' | b'\t' | b'|' | b' ' => cell = true,
                    _ => cell = false,
                }
                at += 1;
            }
            if n == 0 || found.lines.len() >= 2 || found.head.len() > LONGEST_ROW {
                found.last = begin;
                return Ok(found);
            }
        }
    }

    /// Why a table has no header.
    fn no_header(&self, shown: &str) -> Failure {
        let most = LONGEST_ROW >> 20;
        let (message, help) = match self.head.len() {
            n if n <= LONGEST_ROW => return empty(shown),
            n if n - self.last <= LONGEST_ROW => {
                (format!("`{shown}` has no header in its first {most} MiB"), "a table begins with the names of its columns")
            }
            _ => (format!("the header of `{shown}` is longer than {most} MiB"), "is there a quote that is never closed?"),
        };
        Failure::plain("limit-row-size", message, Some(help.into()))
    }

    fn line(&mut self, range: std::ops::Range<usize>, mark: Option<u8>) {
        let line = &self.head[range.clone()];
        if line.first().is_some_and(|b| Some(*b) == mark) {
            // Only where the table begins so: later lines may be rows.
            self.comments |= self.lines.is_empty();
        } else if !line.trim_ascii().is_empty() {
            self.lines.push(range);
        }
    }
}

/// Cells of a line, if this separated them.
fn cells(line: &[u8], separator: u8) -> usize {
    let (mut count, mut quoted, mut begins) = (1, false, true);
    for &byte in line {
        match byte {
            b'"' if quoted || begins => (quoted, begins) = (!quoted, false),
            _ if byte == separator && !quoted => (count, begins) = (count + 1, true),
            _ => begins = false,
        }
    }
    count
}

/// Words of a line.
fn words(line: &[u8]) -> usize {
    line.split(|b| matches!(b, b' ' | b'\t' | b'\r')).filter(|w| !w.is_empty()).count()
}

/// What separates the cells: the one sign the header has; where it has several, the one that makes as many cells of the first row.
fn separator(header: &[u8], row: Option<&[u8]>, shown: &str) -> Result<Separator, Failure> {
    let there: Vec<u8> = [b',', b';', b'\t', b'|'].into_iter().filter(|&s| cells(header, s) > 1).collect();
    let agree: Vec<u8> = there.iter().copied().filter(|&s| row.is_none_or(|row| cells(row, s) == cells(header, s))).collect();
    match (&there[..], &agree[..]) {
        ([], _) => {
            let blanks = words(header) > 1 && row.is_some_and(|row| words(row) == words(header));
            Ok(if blanks { Separator::Blanks } else { Separator::Byte(b',') })
        }
        ([one], _) | (_, [one]) => Ok(Separator::Byte(*one)),
        (many, _) => {
            let signs: Vec<&str> = many.iter().map(|&s| Separator::Byte(s).name()).collect();
            let message =
                format!("`{shown}`: the first line has `{}`, and it is not clear which separates the cells", signs.join("` and `"));
            Err(Failure::plain(
                "ambiguous-separator",
                message,
                Some(format!("say which: --separator '{}'", signs.join("' or --separator '"))),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_that_separates() {
        let of = |header: &str, row: &str| separator(header.as_bytes(), Some(row.as_bytes()), "t").map(|s| s.name()).unwrap_or("?");
        assert_eq!(of("a;b", "0,1;0,2"), ";");
        assert_eq!(of("time, s;y", "0,1;2"), "?");
        assert_eq!(of("time, s;y", "1;2"), ";");
        assert_eq!(of("\"time; s\",y", "1,2"), ",");
        assert_eq!(of("time, s\ty", "1\t2"), "tab");
        assert_eq!(of("a|b", "1|2"), "|");
        assert_eq!(of("t   y", "1 2"), "space");
        assert_eq!(of("x (m)", "1"), ",");
        assert_eq!(of("a,b;c", "1,2;3"), "?");
    }
}
