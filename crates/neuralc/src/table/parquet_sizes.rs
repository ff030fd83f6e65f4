//! Whether the sizes a Parquet file speaks of can be true. In: a file; out: nothing, or which size is absurd.
//!
//! The reader allocates what the file says before it looks at what is there, and an allocation that fails ends the process. So the footer
//! and the headers of all pages are walked through first (they are Thrift structures in the compact protocol; the format:
//! github.com/apache/parquet-format): no list or text may be longer than the bytes behind it, no page larger than its compressed bytes
//! allow.

use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of the largest page.
const MOST_PAGE: u64 = 1 << 28;
/// Bytes in which the header of a page ends, unless it holds long statistics.
const HEADER: u64 = 1 << 13;
const MOST_HEADER: u64 = 1 << 24;
const MOST_DEPTH: usize = 64;

/// The file is not what it says, or cannot be read.
pub(super) enum Wrong {
    Absurd(String),
    Io(io::Error),
}

impl From<io::Error> for Wrong {
    fn from(e: io::Error) -> Wrong {
        Wrong::Io(e)
    }
}

fn absurd<T>(what: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Absurd(what.into()))
}

/// Bytes read as Thrift. `None`: they end too early, or are none.
struct Thrift<'a> {
    bytes: &'a [u8],
}

impl<'a> Thrift<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn drop_bytes(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    /// The next field of a structure: its number and type; type 0 is the end.
    fn field(&mut self, last: &mut i64) -> Option<u8> {
        let head = self.byte()?;
        if head & 0x0f != 0 {
            *last = if head >> 4 == 0 { self.integer()? } else { last.checked_add(i64::from(head >> 4))? };
        }
        Some(head & 0x0f)
    }

    /// Goes past a value; `inside`: of a list, where truth values have a byte of their own.
    fn skip(&mut self, ty: u8, depth: usize, inside: bool) -> Option<()> {
        if depth > MOST_DEPTH {
            return None;
        }
        match ty {
            1 | 2 if !inside => Some(()),
            1..=3 => self.byte().map(|_| ()),
            4..=6 => self.varint().map(|_| ()),
            7 => self.drop_bytes(8),
            8 => {
                let length = self.varint()?;
                self.drop_bytes(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                if size > self.bytes.len() as u64 {
                    return None;
                }
                (0..size).try_for_each(|_| self.skip(head & 0x0f, depth + 1, true))
            }
            11 => {
                let size = self.varint()?;
                if size > self.bytes.len() as u64 {
                    return None;
                }
                let types = if size > 0 { self.byte()? } else { 0 };
                (0..size).try_for_each(|_| {
                    self.skip(types >> 4, depth + 1, true)?;
                    self.skip(types & 0x0f, depth + 1, true)
                })
            }
            12 => {
                let mut last = 0;
                loop {
                    match self.field(&mut last)? {
                        0 => return Some(()),
                        ty => self.skip(ty, depth + 1, false)?,
                    }
                }
            }
            _ => None,
        }
    }
}

/// What the header of a page says.
#[derive(Default, Debug, PartialEq)]
struct Page {
    plain: i64,
    packed: i64,
    /// Entries of a dictionary.
    entries: i64,
}

/// Reads the header of a page; gives how long it is, too. `None`: it ends too early, or is none.
fn page(bytes: &[u8]) -> Option<(Page, usize)> {
    let mut thrift = Thrift { bytes };
    let (mut page, mut last) = (Page::default(), 0);
    loop {
        match (thrift.field(&mut last)?, last) {
            (0, _) => return Some((page, bytes.len() - thrift.bytes.len())),
            (4..=6, 2) => page.plain = thrift.integer()?,
            (4..=6, 3) => page.packed = thrift.integer()?,
            (12, 7) => {
                let mut inner = 0;
                loop {
                    match (thrift.field(&mut inner)?, inner) {
                        (0, _) => break,
                        (4..=6, 1) => page.entries = thrift.integer()?,
                        (ty, _) => thrift.skip(ty, 0, false)?,
                    }
                }
            }
            (ty, _) => thrift.skip(ty, 0, false)?,
        }
    }
}

/// Bytes that so many compressed ones can become; generous.
fn unpacked(codec: Compression, packed: u64) -> u64 {
    let ratio = match codec {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 64,
        Compression::LZ4 | Compression::LZ4_RAW => 260,
        Compression::GZIP(_) => 1100,
        _ => 1 << 16,
    };
    packed.saturating_mul(ratio).saturating_add(if ratio == 1 { 0 } else { 64 })
}

/// Looks through the footer.
pub(super) fn footer(file: &mut File) -> Result<(), Wrong> {
    let size = file.seek(SeekFrom::End(0))?;
    if size < 12 {
        return absurd("it is too short");
    }
    let mut tail = [0; 8];
    file.seek(SeekFrom::Start(size - 8))?;
    file.read_exact(&mut tail)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if &tail[4..] != b"PAR1" {
        return absurd("it does not end like a Parquet file");
    }
    if length > size - 12 {
        return absurd("its footer is longer than the file");
    }
    let mut bytes = vec![0; length as usize];
    file.seek(SeekFrom::Start(size - 8 - length))?;
    file.read_exact(&mut bytes)?;
    file.rewind()?;
    match (Thrift { bytes: &bytes }).skip(12, 0, false) {
        Some(()) => Ok(()),
        None => absurd("its footer is damaged"),
    }
}

/// Looks through the headers of all pages.
pub(super) fn pages(file: &mut File, metadata: &ParquetMetaData) -> Result<(), Wrong> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut header = Vec::new();
    for column in metadata.row_groups().iter().flat_map(|g| g.columns()) {
        // A column without values may have a dictionary, or nothing at all, where others have pages: no page begins where the file does.
        let places = [column.dictionary_page_offset(), Some(column.data_page_offset())].into_iter().flatten();
        let Some(begin) = places.filter(|&at| at != 0).min() else {
            if column.num_values() == 0 {
                continue;
            }
            return absurd("a column with values has no place in the file");
        };
        let (Ok(mut at), Ok(length)) = (u64::try_from(begin), u64::try_from(column.compressed_size())) else {
            return absurd("a column has a negative size or place");
        };
        let Some(end) = at.checked_add(length).filter(|&e| e <= size) else { return absurd("a column lies behind the end of the file") };
        if column.num_values() < 0 {
            return absurd("a column has a negative number of values");
        }
        while at < end {
            let mut wanted = HEADER;
            let (page, length) = loop {
                header.resize(wanted.min(end - at) as usize, 0);
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(&mut header)?;
                match self::page(&header) {
                    Some(found) => break found,
                    None if wanted < MOST_HEADER.min(end - at) => wanted *= 8,
                    None => return absurd("the header of a page is damaged"),
                }
            };
            at += length as u64;
            let (Ok(plain), Ok(packed), Ok(entries)) = (u64::try_from(page.plain), u64::try_from(page.packed), u64::try_from(page.entries))
            else {
                return absurd("a page has a negative size");
            };
            if packed > end - at {
                return absurd("a page is longer than its column");
            }
            if plain > MOST_PAGE || plain > unpacked(column.compression(), packed) {
                return absurd(format!("a page of {packed} bytes says it holds {plain}"));
            }
            if entries > plain.saturating_mul(8) {
                return absurd(format!("a dictionary of {plain} bytes says it has {entries} entries"));
            }
            at += packed;
        }
    }
    file.rewind()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_pages() {
        // Field 1 (i32) 2, field 2 (i32) 100, field 3 (i32) 50, field 7 (struct): field 1 (i32) 3; numbers are zigzag.
        let bytes = [0x15, 0x04, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x4c, 0x15, 0x06, 0x00, 0x00, 0xff];
        assert_eq!(page(&bytes), Some((Page { plain: 100, packed: 50, entries: 3 }, 12)));
        (0..12).for_each(|n| assert_eq!(page(&bytes[..n]), None));
        // A list of 2^31 elements in a few bytes.
        assert_eq!(Thrift { bytes: &[0x19, 0xf8, 0x80, 0x80, 0x80, 0x80, 0x08, 0x00] }.skip(12, 0, false), None);
        // Structures within structures without end.
        assert_eq!(Thrift { bytes: &[0x1c; 1000] }.skip(12, 0, false), None);
    }
}
