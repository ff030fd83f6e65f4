//! Values on the command line. In: `1.5`, `[1,2,3]` or `[[1 2] [3 4]]`; out: a shape and numbers. And back: values as text in the
//! language's own notation, or as JSON. Invariants: a number is printed with the fewest digits that read back to the same bits of
//! its own type; a whole number that is given is the one that is computed with, or it is refused.

use neural_compiler::ops::real::{Dtype, Real};
use neural_compiler::syntax::lexer::{Lexer, TokenKind};
use neural_compiler::{Shape, Tensor, number_text};
use serde_json::{Value, json};

/// Reads a value. `Err` is a sentence for the user.
pub(crate) fn parse(text: &str) -> Result<(Shape, Vec<f64>), String> {
    let mut words = Words { rest: text };
    let value = match words.next() {
        Some("[") => list(&mut words, false)?,
        Some(word) => (Shape::Scalar, vec![given(word)?]),
        None => return Err("a value is missing".into()),
    };
    match words.next() {
        Some(extra) => Err(format!("`{extra}` is too much after the value")),
        None => Ok(value),
    }
}

/// Brackets, commas and words.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        let special = |c: char| matches!(c, '[' | ']' | ',');
        let end = if special(first) { 1 } else { rest.find(|c: char| special(c) || c.is_whitespace()).unwrap_or(rest.len()) };
        self.rest = &rest[end..];
        Some(&rest[..end])
    }
}

/// The rest of a vector or matrix, its bracket being read; `inner`: of a row.
fn list(words: &mut Words<'_>, inner: bool) -> Result<(Shape, Vec<f64>), String> {
    let (mut numbers, mut rows, mut columns) = (Vec::new(), 0u32, 0);
    let mut after_comma = true;
    loop {
        match words.next() {
            None => return Err("a `]` is missing".into()),
            Some("]") if after_comma && !numbers.is_empty() => return Err("a number is missing after the last comma".into()),
            Some("]") => break,
            Some(",") if after_comma => return Err("a number is missing before a comma".into()),
            Some(",") => {
                after_comma = true;
                continue;
            }
            Some("[") if rows == 0 && !numbers.is_empty() => return Err("a matrix has rows only: [[1,2],[3,4]]".into()),
            Some("[") => {
                if inner {
                    return Err("values have at most two axes: [[1,2],[3,4]]".into());
                }
                let (_, row) = list(words, true)?;
                if rows > 0 && row.len() != columns {
                    return Err(format!(
                        "the rows of a matrix have the same length; row 1 has {columns}, row {} has {}",
                        rows + 1,
                        row.len()
                    ));
                }
                columns = row.len();
                rows += 1;
                numbers.extend(row);
            }
            Some(_) if rows > 0 => return Err("a matrix has rows only: [[1,2],[3,4]]".into()),
            Some(word) => numbers.push(given(word)?),
        }
        after_comma = false;
    }
    match (rows, numbers.len()) {
        (_, 0) => Err("a vector needs at least one number".into()),
        (0, n) => Ok((Shape::Vector(n as u32), numbers)),
        (r, _) => Ok((Shape::Matrix(r, columns as u32), numbers)),
    }
}

/// A number as the language writes it, or as JSON and Python do.
pub(crate) fn number(word: &str) -> Result<f64, String> {
    let bare = word.strip_prefix('"').and_then(|w| w.strip_suffix('"')).unwrap_or(word);
    match bare {
        "NaN" | "nan" => return Ok(f64::NAN),
        "Infinity" | "inf" | "+inf" => return Ok(f64::INFINITY),
        "-Infinity" | "-inf" => return Ok(f64::NEG_INFINITY),
        _ => {}
    }
    let mut lexer = Lexer::new(bare);
    match (lexer.next_token(), lexer.next_token()) {
        (Some(Ok(token)), None) if token.span.text(bare) == bare => match token.kind {
            TokenKind::Number(x) => Ok(x),
            _ => Err(not_a_number(word)),
        },
        (Some(Err(d)), None) => Err(d.message),
        _ => Err(not_a_number(word)),
    }
}

/// A number that is given as data: as above, unless it is a whole one that no float64 holds.
pub(crate) fn given(word: &str) -> Result<f64, String> {
    let x = number(word)?;
    if is_rounded(word.trim_matches('"'), x) { Err(format!("{}; with a decimal point it is rounded", rounded(word, x))) } else { Ok(x) }
}

/// Whether a number may come from a whole one that is not float64's: float64 holds all up to here, and rounds the next to it.
pub(crate) fn large(x: f64) -> bool {
    x.abs() >= (1u64 << f64::MANTISSA_DIGITS) as f64
}

/// Whether a text is a whole number, in digits alone, other than the number it was read as. Numbers with a point or an exponent are rounded
/// as always.
pub(crate) fn is_rounded(text: &str, x: f64) -> bool {
    let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
    large(x) && x.is_finite() && digits.bytes().all(|b| b.is_ascii_digit()) && format!("{:.0}", x.abs()) != digits
}

/// The sentence about such a number.
pub(crate) fn rounded(text: &str, x: f64) -> String {
    format!("no float64 holds the whole number {}: it would be {x:.0}", text.chars().take(40).collect::<String>())
}

fn not_a_number(word: &str) -> String {
    format!("`{}` is not a number", word.chars().take(40).collect::<String>())
}

/// The f64 that is written with the digits of this number's own type.
fn as_written<T: Real>(x: T) -> f64 {
    match T::DTYPE {
        Dtype::F64 => x.to_f64(),
        Dtype::F32 => format!("{:e}", x.to_f64() as f32).parse().unwrap_or(x.to_f64()),
    }
}

/// A value in the language's notation.
pub(crate) fn to_text<T: Real>(t: &Tensor<T>) -> String {
    let numbers: Vec<String> = t.data().iter().map(|&x| number_text(as_written(x))).collect();
    match t.shape() {
        Shape::Scalar => numbers[0].clone(),
        Shape::Vector(_) => format!("[{}]", numbers.join(" ")),
        Shape::Matrix(_, columns) => {
            let rows: Vec<String> = numbers.chunks(columns.max(1) as usize).map(|r| format!("[{}]", r.join(" "))).collect();
            format!("[{}]", rows.join(" "))
        }
    }
}

/// A number as JSON; those JSON cannot hold are strings.
fn number_json<T: Real>(x: T) -> Value {
    let x = as_written(x);
    if x.is_nan() {
        json!("NaN")
    } else if x.is_infinite() {
        json!(if x > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(x)
    }
}

/// A value as JSON: a number, a list, or a list of rows.
pub(crate) fn to_json<T: Real>(t: &Tensor<T>) -> Value {
    let numbers: Vec<Value> = t.data().iter().map(|&x| number_json(x)).collect();
    match t.shape() {
        Shape::Scalar => numbers[0].clone(),
        Shape::Vector(_) => json!(numbers),
        Shape::Matrix(_, columns) => json!(numbers.chunks(columns.max(1) as usize).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        assert_eq!(parse(" 1.5 "), Ok((Shape::Scalar, vec![1.5])));
        assert_eq!(parse("1/4"), Ok((Shape::Scalar, vec![0.25])));
        assert_eq!(parse("[1,2, 3]"), Ok((Shape::Vector(3), vec![1.0, 2.0, 3.0])));
        assert_eq!(parse("[1 2]"), Ok((Shape::Vector(2), vec![1.0, 2.0])));
        assert_eq!(parse("[[1,2],[3,4]]"), Ok((Shape::Matrix(2, 2), vec![1.0, 2.0, 3.0, 4.0])));
        assert_eq!(parse("[[1 2 -inf]]"), Ok((Shape::Matrix(1, 3), vec![1.0, 2.0, f64::NEG_INFINITY])));
        assert!(parse("\"NaN\"").unwrap().1[0].is_nan());
    }

    /// 2^53 + 1 lies between two numbers of float64; 2^53 + 2 and 10^22 = 2^22 * 5^22 are such.
    #[test]
    fn whole_numbers_are_not_rounded() {
        for text in ["9007199254740993", "-9007199254740993", "[1,9007199254740993]", "[[1 +009007199254740993]]", "\"9007199254740993\""] {
            assert!(parse(text).is_err_and(|e| e.contains("it would be") && e.contains("9007199254740992")), "{text}: {:?}", parse(text));
        }
        assert_eq!(parse("9007199254740994"), Ok((Shape::Scalar, vec![9007199254740994.0])));
        assert_eq!(parse("10000000000000000000000"), Ok((Shape::Scalar, vec![1e22])));
        // With a point or an exponent they are rounded as always.
        assert_eq!(parse("9007199254740993.0"), Ok((Shape::Scalar, vec![9007199254740992.0])));
        assert_eq!(parse("9007199254740993e0"), Ok((Shape::Scalar, vec![9007199254740992.0])));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "abc",
            "[",
            "]",
            "[]",
            "[1,,2]",
            "[1,2,]",
            "[[1],[2,3]]",
            "[[[1]]]",
            "[1,[2]]",
            "[[1],2]",
            "1 2",
            "(+ 1 2)",
            "1e999",
            "[1]]",
            "é",
            "0x10",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn numbers_have_the_digits_of_their_type() {
        let single: Tensor<f32> = Tensor::scalar(0.1f32);
        assert_eq!(to_text(&single), "0.1");
        assert_eq!(to_json(&single).to_string(), "0.1");
        assert_eq!(to_json(&Tensor::scalar(0.1f32 as f64)).to_string(), "0.10000000149011612");
        assert_eq!(to_json(&Tensor::vector(vec![f64::NAN, f64::NEG_INFINITY])).to_string(), r#"["NaN","-Infinity"]"#);
    }
}
