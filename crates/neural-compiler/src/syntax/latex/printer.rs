//! Data to LaTeX. In: data of a program; out: a formula, or several below each other. Invariant: formulas of operations, names and numbers
//! read back to the same data, forms that bind names, set with `where`, to the same program.

use super::names::LETTERS;
use crate::syntax::reader::{Data, Datum, DatumId};

/// How strongly what is on the page holds together, from the weakest.
mod strength {
    pub(super) const FORM: u8 = 0;
    pub(super) const LOGIC: u8 = 1;
    pub(super) const COMPARE: u8 = 2;
    pub(super) const SUM: u8 = 3;
    pub(super) const PRODUCT: u8 = 4;
    pub(super) const POWER: u8 = 5;
    pub(super) const ATOM: u8 = 6;
}
use strength::{ATOM, COMPARE, FORM, LOGIC, POWER, PRODUCT, SUM};

/// A piece of LaTeX.
struct Piece {
    text: String,
    strength: u8,
}

fn piece(text: impl Into<String>, strength: u8) -> Piece {
    Piece { text: text.into(), strength }
}

/// A whole program: one formula, or lines aligned at their signs.
pub(crate) fn print(data: &Data) -> String {
    let printer = Printer { data };
    let mut items = &data.top[..];
    if let [.., before, last] = items
        && let [head, name, _] = *data.children(*before)
        && printer.is(head, "define")
        && data.symbol(name).is_some_and(|s| data.symbol(*last) == Some(s))
    {
        items = &items[..items.len() - 1];
    }
    let lines: Vec<String> = items.iter().map(|&d| printer.line(d)).collect();
    match &lines[..] {
        [one] => one.replace(" &= ", " = "),
        _ => format!("\\begin{{aligned}}\n{}\n\\end{{aligned}}", lines.join(" \\\\\n")),
    }
}

struct Printer<'a> {
    data: &'a Data,
}

/// A name as LaTeX: what stands behind the first `_` is its subscript.
fn name(text: &str) -> String {
    let word = |w: &str| w.replace('_', "\\_");
    let (base, subscript) = match text.split_once('_') {
        Some((base, subscript)) if !base.is_empty() && !subscript.is_empty() => (base, Some(subscript)),
        _ => (text, None),
    };
    let one_letter = base.len() == 1 && base.chars().all(|c| c.is_ascii_alphabetic());
    let set = if LETTERS.contains(&base) {
        format!("\\{base}")
    } else if one_letter && base != "d" && text != "e" {
        base.to_string()
    } else {
        format!("\\mathit{{{}}}", word(base))
    };
    match subscript {
        None => set,
        Some(s) if s.len() == 1 || s.bytes().all(|b| b.is_ascii_digit()) => format!("{set}_{{{s}}}"),
        Some(s) => format!("{set}_{{\\mathrm{{{}}}}}", word(s)),
    }
}

/// The name of a function where it is called.
fn function_name(operation: &str) -> String {
    let known = crate::ops::surface(operation).is_some() || operation == "recur";
    if known { format!("\\operatorname{{{operation}}}") } else { name(operation) }
}

/// A number as LaTeX.
fn number(x: f64) -> Piece {
    if x.is_nan() {
        return piece("\\mathrm{NaN}", ATOM);
    }
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let negative = |p: Piece| if sign.is_empty() { p } else { piece(p.text, SUM) };
    if x.is_infinite() {
        return negative(piece(format!("{sign}\\infty"), ATOM));
    }
    let text = crate::number_text(x);
    negative(match text.split_once('e') {
        Some((digits, power)) => piece(format!("{digits} \\times 10^{{{power}}}"), PRODUCT),
        None => piece(text, ATOM),
    })
}

fn parentheses(text: &str) -> String {
    format!("\\left({text}\\right)")
}

impl<'a> Printer<'a> {
    fn text(&self, d: DatumId) -> Option<&'a str> {
        self.data.symbol(d).map(|s| self.data.names.text(s))
    }

    fn is(&self, d: DatumId, name: &str) -> bool {
        self.text(d) == Some(name)
    }

    /// A line of a program.
    fn line(&self, d: DatumId) -> String {
        let children = self.data.children(d);
        let set = |i: usize| children.get(i).map_or(String::new(), |&c| self.at_least(c, FORM));
        match children.first().and_then(|&h| self.text(h)).unwrap_or("") {
            "define" if children.len() > 2 && self.data.list(d).is_some() => self.definition(children),
            "derive" if children.len() == 3 => format!("\\dot{{{}}} &= {}", set(1), set(2)),
            "next" if children.len() == 3 => format!("{} &\\leftarrow {}", set(1), set(2)),
            "state" if children.len() > 2 => {
                let options = self.options(&children[3..]);
                match self.start_time() {
                    Some(at) if options.is_empty() => format!("{}{} &= {}", set(1), parentheses(&at), set(2)),
                    Some(at) => format!("{}{} &= {} \\quad \\text{{(state{options})}}", set(1), parentheses(&at), set(2)),
                    None => format!("{} &= {} \\quad \\text{{(state{options})}}", set(1), set(2)),
                }
            }
            "observe" if children.len() > 2 => {
                format!("{} &= {} \\quad \\text{{(observed{})}}", set(1), set(2), self.options(&children[3..]))
            }
            "param" if children.len() > 2 => {
                format!("{} &= {} \\quad \\text{{(parameter{})}}", set(1), set(2), self.options(&children[3..]))
            }
            word @ ("input" | "time") if children.len() > 1 => {
                format!("{} & \\quad \\text{{({word}{})}}", set(1), self.options(&children[2..]))
            }
            "unit" if children.len() == 3 => {
                format!("{} & \\quad \\text{{(in {})}}", set(1), set_unit(self.text(children[2]).unwrap_or("1")))
            }
            "net" if children.len() > 2 => {
                let inputs: Vec<String> = self.data.children(children[2]).iter().map(|&i| self.at_least(i, FORM)).collect();
                let widths: Vec<String> = children[3..].iter().map(|&w| self.at_least(w, FORM)).collect();
                let inputs = parentheses(&inputs.join(", "));
                format!("{}{inputs} & \\quad \\text{{(net of layers {})}}", set(1), widths.join(", "))
            }
            "constants" => {
                let names: Vec<&str> = children[1..].iter().filter_map(|&n| self.text(n)).collect();
                format!("& \\text{{(constants {})}}", names.join(" ").replace('_', "\\_"))
            }
            _ => {
                // On a line of its own `=` would define.
                let piece = self.expression(d);
                let compares = piece.strength == COMPARE || piece.strength == LOGIC;
                let text = if compares { parentheses(&piece.text) } else { piece.text };
                if self.data.top.len() == 1 { text } else { format!("& {text}") }
            }
        }
    }

    /// The time at which the program says that starts hold, where it is written without a power of ten.
    fn start_time(&self) -> Option<String> {
        let time = self.data.top.iter().map(|&d| self.data.children(d)).find(|c| c.first().is_some_and(|&h| self.is(h, "time")))?;
        let key = time.iter().position(|&d| self.is(d, ":start"))?;
        let Datum::Number(at) = self.data.get(*time.get(key + 1)?) else { return None };
        Some(number(at).text).filter(|text| !text.contains('\\'))
    }

    /// The options of a declaration, in words.
    fn options(&self, options: &[DatumId]) -> String {
        let words = options.iter().enumerate().map(|(i, &o)| match self.text(o) {
            Some(unit) if i > 0 && self.is(options[i - 1], ":unit") => format!(" {}", set_unit(unit)),
            Some(word) => format!(" {}", word.trim_start_matches(':').replace('_', "\\_")),
            None => format!(" ${}$", self.at_least(o, FORM)),
        });
        let text: String = words.collect();
        if text.is_empty() { text } else { format!(",{text}") }
    }

    fn definition(&self, children: &[DatumId]) -> String {
        if let [_, name, value] = *children
            && let Some((target, body)) = self.function_value(name, value)
        {
            return format!("{target} &= {}", self.body(body));
        }
        format!("{} &= {}", self.target(children[1]), self.body(&children[2..]))
    }

    /// A name bound to a function without one: the function of that name, and its body.
    fn function_value(&self, name: DatumId, value: DatumId) -> Option<(String, &'a [DatumId])> {
        let [lambda, parameters, body @ ..] = self.data.children(value) else { return None };
        if self.text(name).is_none() || !self.is(*lambda, "lambda") || body.is_empty() {
            return None;
        }
        let parameters: Vec<String> = self.data.children(*parameters).iter().map(|&p| self.at_least(p, FORM)).collect();
        Some((format!("{}{}", self.function(name), parentheses(&parameters.join(", "))), body))
    }

    /// What is defined: a name, or a function of names.
    fn target(&self, target: DatumId) -> String {
        match self.data.children(target) {
            [] => self.at_least(target, FORM),
            [f, parameters @ ..] => {
                let parameters: Vec<String> = parameters.iter().map(|&p| self.at_least(p, FORM)).collect();
                format!("{}{}", self.function(*f), parentheses(&parameters.join(", ")))
            }
        }
    }

    /// The name of a function, as calls have it.
    fn function(&self, f: DatumId) -> String {
        self.text(f).map_or_else(|| self.at_least(f, FORM), function_name)
    }

    /// Definitions and an expression: the expression, and the definitions behind `where`.
    fn body(&self, items: &[DatumId]) -> String {
        let Some((&last, definitions)) = items.split_last() else { return String::new() };
        // A second `=` on a line would be another equation.
        let compares = |text: String| if self.is_operation(last, "=") { parentheses(&text) } else { text };
        if definitions.is_empty() {
            return compares(self.at_least(last, FORM));
        }
        let lines: Vec<String> = definitions.iter().map(|&d| self.listed(d)).collect();
        format!("{} \\;\\text{{ where }}\\; {}", compares(self.at_least(last, LOGIC)), lines.join(",\\; "))
    }

    /// The same as one of several things with commas between them.
    fn enclosed(&self, items: &[DatumId]) -> String {
        match items {
            [one] => self.at_least(*one, LOGIC),
            _ => parentheses(&self.body(items)),
        }
    }

    /// A definition as one of several behind `where`.
    fn listed(&self, d: DatumId) -> String {
        match self.data.children(d) {
            [head, name, value] if self.is(*head, "define") && self.text(*name).is_some() => self.bound(*name, *value),
            [head, target, body @ ..] if self.is(*head, "define") && !body.is_empty() => {
                format!("{} = {}", self.target(*target), self.enclosed(body))
            }
            _ => self.line(d),
        }
    }

    /// An expression, in parentheses where it holds together less than this.
    fn at_least(&self, d: DatumId, least: u8) -> String {
        let piece = crate::deep(|| self.expression(d));
        if piece.strength < least { parentheses(&piece.text) } else { piece.text }
    }

    fn expression(&self, d: DatumId) -> Piece {
        match self.data.get(d) {
            Datum::Number(x) => number(x),
            Datum::Symbol(s) => piece(name(self.data.names.text(s)), ATOM),
            Datum::Bracket(..) => self.matrix(d),
            Datum::List(..) => match self.data.children(d) {
                [] => piece("()", ATOM),
                [head, args @ ..] => match self.text(*head) {
                    Some(operation) => self.application(operation, args),
                    None => self.applied(*head, args).unwrap_or_else(|| {
                        let arguments: Vec<String> = args.iter().map(|&a| self.at_least(a, FORM)).collect();
                        piece(format!("{}{}", parentheses(&self.at_least(*head, FORM)), parentheses(&arguments.join(", "))), ATOM)
                    }),
                },
            },
        }
    }

    fn application(&self, operation: &str, args: &[DatumId]) -> Piece {
        let command = |command: &str| piece(format!("\\{command}{}", self.arguments(args)), ATOM);
        match (operation, args) {
            ("+" | "or", []) => number(0.0),
            ("*" | "and", []) => number(1.0),
            ("+" | "*" | "and" | "or", [x]) => piece(parentheses(&self.at_least(*x, FORM)), ATOM),
            ("/", [x]) => piece(format!("\\frac{{1}}{{{}}}", self.at_least(*x, LOGIC)), ATOM),
            ("+", [_, _, ..]) => self.sum("+", args),
            ("-", [_, _, ..]) => self.sum("-", args),
            ("-", [x]) => {
                let inner = self.at_least(*x, PRODUCT);
                // The sign before digits would be that of the number.
                let digits = inner.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                piece(if digits { format!("-{}", parentheses(&inner)) } else { format!("-{inner}") }, SUM)
            }
            ("*", [_, _, ..]) => self.product(args),
            ("/", [a, b]) => piece(format!("\\frac{{{}}}{{{}}}", self.at_least(*a, LOGIC), self.at_least(*b, LOGIC)), ATOM),
            ("/", [_, _, ..]) => {
                let parts: Vec<String> = args.iter().map(|&a| self.at_least(a, POWER)).collect();
                piece(parts.join(" / "), PRODUCT)
            }
            ("pow", [base, exponent]) => self.power(*base, *exponent),
            ("exp", [x]) => self.exponential(*x),
            ("sqrt", [x]) => piece(format!("\\sqrt{{{}}}", self.at_least(*x, LOGIC)), ATOM),
            ("cbrt", [x]) => piece(format!("\\sqrt[3]{{{}}}", self.at_least(*x, LOGIC)), ATOM),
            ("abs", [x]) => piece(format!("\\left\\lvert {}\\right\\rvert", self.at_least(*x, SUM)), ATOM),
            ("norm", [x]) => piece(format!("\\left\\lVert {}\\right\\rVert", self.at_least(*x, SUM)), ATOM),
            ("floor", [x]) => piece(format!("\\left\\lfloor {}\\right\\rfloor", self.at_least(*x, SUM)), ATOM),
            ("ceiling", [x]) => piece(format!("\\left\\lceil {}\\right\\rceil", self.at_least(*x, SUM)), ATOM),
            ("log", [_]) => command("ln"),
            ("log", [x, base]) if !matches!(self.data.get(*base), Datum::Number(_)) => {
                piece(format!("\\log_{{{}}}{}", self.at_least(*base, LOGIC), parentheses(&self.at_least(*x, LOGIC))), ATOM)
            }
            ("log10", [_]) => command("log_{10}"),
            ("log2", [_]) => command("log_{2}"),
            ("sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "det", [_]) => command(operation),
            ("min" | "max", [_, ..]) => command(operation),
            ("asin" | "acos" | "atan", [_]) => command(&format!("arc{}", &operation[1..])),
            ("<", [_, _, ..]) => self.chain("<", args),
            (">", [_, _, ..]) => self.chain(">", args),
            ("<=", [_, _, ..]) => self.chain("\\le", args),
            (">=", [_, _, ..]) => self.chain("\\ge", args),
            ("=", [_, _, ..]) => self.chain("=", args),
            ("not", [x]) => match self.data.children(*x) {
                [equal, a, b] if self.is(*equal, "=") => {
                    piece(format!("{} \\ne {}", self.at_least(*a, SUM), self.at_least(*b, SUM)), COMPARE)
                }
                _ => piece(format!("\\lnot {}", self.at_least(*x, ATOM)), COMPARE),
            },
            ("and", [_, _, ..]) => self.joined("\\land", args),
            ("or", [_, _, ..]) => self.joined("\\lor", args),
            ("if", [test, a, b]) => self.cases(&[(Some(*test), &[*a]), (None, &[*b])]),
            ("cond", [_, ..]) => {
                let clause = |&c: &DatumId| -> Option<(Option<DatumId>, &'a [DatumId])> {
                    let [test, body @ ..] = self.data.list(c)? else { return None };
                    Some((Some(*test).filter(|t| !self.is(*t, "else")), body))
                };
                match args.iter().map(clause).collect::<Option<Vec<_>>>() {
                    Some(clauses) => self.cases(&clauses),
                    None => self.call(operation, args),
                }
            }
            ("let" | "let*" | "letrec" | "letrec*" | "loop", [_, _, ..]) => self.binding(operation, args),
            ("root", [binding, body @ ..]) if !body.is_empty() && self.data.children(*binding).len() > 1 => {
                let parts: Vec<String> = self.data.children(*binding).iter().map(|&p| self.at_least(p, FORM)).collect();
                let (name, starts) = (&parts[0], parts[1..].join(", "));
                piece(format!("\\operatorname{{root}}_{{{name} = {starts}}}{}", parentheses(&self.body(body))), ATOM)
            }
            ("lambda", [parameters, body @ ..]) => {
                let parameters: Vec<String> = self.data.children(*parameters).iter().map(|&p| self.at_least(p, FORM)).collect();
                piece(format!("{} \\mapsto {}", parentheses(&parameters.join(", ")), self.body(body)), FORM)
            }
            _ => self.call(operation, args),
        }
    }

    fn arguments(&self, args: &[DatumId]) -> String {
        let set: Vec<String> = args.iter().map(|&a| self.at_least(a, LOGIC)).collect();
        parentheses(&set.join(", "))
    }

    fn call(&self, operation: &str, args: &[DatumId]) -> Piece {
        piece(format!("{}{}", function_name(operation), self.arguments(args)), ATOM)
    }

    fn is_operation(&self, d: DatumId, operation: &str) -> bool {
        self.data.list(d).is_some_and(|l| l.len() > 2 && self.is(l[0], operation))
    }

    fn sum(&self, sign: &str, args: &[DatumId]) -> Piece {
        let mut out = String::new();
        for (i, &a) in args.iter().enumerate() {
            if i > 0 {
                // Two signs side by side are none.
                let text = self.at_least(a, PRODUCT);
                out.push_str(&format!(" {sign} {}", if text.starts_with('-') { parentheses(&text) } else { text }));
            } else {
                // A run of one sign is one sum.
                let text = self.at_least(a, SUM);
                out.push_str(&if self.is_operation(a, sign) { parentheses(&text) } else { text });
            }
        }
        piece(out, SUM)
    }

    fn product(&self, args: &[DatumId]) -> Piece {
        let mut out = String::new();
        for (i, &a) in args.iter().enumerate() {
            let set = self.expression(a);
            let negative = i == 0 && matches!(self.data.get(a), Datum::Number(x) if x.is_sign_negative() && x.is_finite());
            let ten =
                i > 0 && matches!(self.data.get(args[i - 1]), Datum::Number(_)) && set.strength == POWER && set.text.starts_with("10^");
            let text = if ten {
                set.text.replacen("10", "\\left(10\\right)", 1)
            } else if set.strength < PRODUCT && !negative || set.strength == PRODUCT && !matches!(self.data.get(a), Datum::Number(_)) {
                parentheses(&set.text)
            } else {
                set.text
            };
            if i > 0 {
                // Words side by side would be set as one.
                let words = text.starts_with("\\mathit") || self.text(args[i - 1]).is_some_and(|t| name(t).starts_with("\\mathit"));
                let gap = if words { " \\, " } else { " " };
                out.push_str(if self.needs_sign(args[i - 1], &text) { " \\cdot " } else { gap });
            }
            out.push_str(&text);
        }
        piece(out, PRODUCT)
    }

    /// Whether a product needs its sign between a factor and this text, to be read as one.
    fn needs_sign(&self, left: DatumId, right: &str) -> bool {
        let starts = |with: &str| right.starts_with(with);
        let symbol = self.text(left);
        right.starts_with(|c: char| c.is_ascii_digit())
            || symbol.is_some() && (starts("\\left(") || starts("\\left\\lvert"))
            || symbol.is_some_and(|s| matches!(s, "Delta" | "delta"))
            || self.data.children(left).is_empty() && symbol.is_none() && starts("\\left(10\\right)")
    }

    fn power(&self, base: DatumId, exponent: DatumId) -> Piece {
        let raised = match self.text(exponent) {
            Some("T") => "\\mathit{T}".to_string(),
            _ => self.at_least(exponent, SUM),
        };
        // \sin^2 x, but not \sin^{-1} x, which is something else.
        if let [head, argument] = self.data.children(base)
            && self.text(*head).is_some_and(|h| matches!(h, "sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "log"))
            && matches!(self.data.get(exponent), Datum::Number(x) if x > 0.0)
        {
            let command = if self.is(*head, "log") { "ln" } else { self.text(*head).unwrap_or("") };
            return piece(format!("\\{command}^{{{raised}}}{}", parentheses(&self.at_least(*argument, LOGIC))), POWER);
        }
        let text = self.at_least(base, ATOM);
        // A power of a function's value needs parentheses around both.
        let call = text.ends_with("\\right)") && !text.starts_with("\\left(");
        // A name with a raised 0 is another name to many.
        let zero = matches!(self.data.get(exponent), Datum::Number(x) if x == 0.0) && self.text(base).is_some();
        let text = if call || zero { parentheses(&text) } else { text };
        piece(format!("{text}^{{{raised}}}"), POWER)
    }

    fn exponential(&self, x: DatumId) -> Piece {
        let text = self.at_least(x, SUM);
        let whole = matches!(self.data.get(x), Datum::Number(_));
        let mut work = vec![x];
        let mut imaginary = false;
        while let Some(d) = work.pop() {
            imaginary |= self.text(d).is_some_and(|t| matches!(t, "i" | "j") || t.starts_with("i_") || t.starts_with("j_"));
            work.extend(self.data.children(d));
        }
        // Words have letters i and j too.
        if whole
            || imaginary
            || text.contains("\\begin")
            || text.contains("\\mathit")
            || text.contains("\\mathrm")
            || text.contains("\\operatorname")
        {
            return piece(format!("\\exp{}", parentheses(&text)), ATOM);
        }
        piece(format!("e^{{{text}}}"), POWER)
    }

    fn chain(&self, sign: &str, args: &[DatumId]) -> Piece {
        let sides: Vec<String> = args.iter().map(|&a| self.at_least(a, SUM)).collect();
        piece(sides.join(&format!(" {sign} ")), COMPARE)
    }

    fn joined(&self, sign: &str, args: &[DatumId]) -> Piece {
        let parts: Vec<String> = args.iter().map(|&a| self.at_least(a, COMPARE)).collect();
        piece(parts.join(&format!(" {sign} ")), LOGIC)
    }

    fn cases(&self, clauses: &[(Option<DatumId>, &[DatumId])]) -> Piece {
        let line = |(test, body): &(Option<DatumId>, &[DatumId])| {
            let value = self.enclosed(body);
            match test {
                Some(test) => format!("{value} & \\text{{if }} {}", self.at_least(*test, LOGIC)),
                None => format!("{value} & \\text{{otherwise}}"),
            }
        };
        let lines: Vec<String> = clauses.iter().map(line).collect();
        piece(format!("\\begin{{cases}} {} \\end{{cases}}", lines.join(" \\\\ ")), ATOM)
    }

    /// `let` and its kin: the body, and what is bound behind `where`; a loop is a function and its first call.
    fn binding(&self, form: &str, args: &[DatumId]) -> Piece {
        let named = self.text(args[0]).filter(|_| args.len() > 2);
        let (pairs, body) = if named.is_some() { (args[1], &args[2..]) } else { (args[0], &args[1..]) };
        let pair = |&p: &DatumId| match self.data.children(p) {
            [n, v] => Some((*n, *v)),
            _ => None,
        };
        let pairs: Vec<(DatumId, DatumId)> = self.data.children(pairs).iter().filter_map(pair).collect();
        if let Some(function) = named.or((form == "loop").then_some("recur")) {
            let head = function_name(function);
            let starts: Vec<String> = pairs.iter().map(|p| self.at_least(p.1, LOGIC)).collect();
            let variables: Vec<String> = pairs.iter().map(|p| self.at_least(p.0, FORM)).collect();
            let (starts, variables) = (parentheses(&starts.join(", ")), parentheses(&variables.join(", ")));
            return piece(format!("{head}{starts} \\;\\text{{ where }}\\; {head}{variables} = {}", self.enclosed(body)), FORM);
        }
        self.bind(form, &pairs, body)
    }

    /// A function without a name and its arguments: what `let` says.
    fn applied(&self, function: DatumId, args: &[DatumId]) -> Option<Piece> {
        let [lambda, parameters, body @ ..] = self.data.children(function) else { return None };
        let parameters = self.data.children(*parameters);
        let pairs: Vec<(DatumId, DatumId)> = parameters.iter().copied().zip(args.iter().copied()).collect();
        (self.is(*lambda, "lambda") && !body.is_empty() && parameters.len() == args.len()).then(|| self.bind("let", &pairs, body))
    }

    /// Names and what they are bound to, behind the body they are bound in.
    fn bind(&self, form: &str, pairs: &[(DatumId, DatumId)], body: &[DatumId]) -> Piece {
        if pairs.is_empty() {
            return piece(self.body(body), FORM);
        }
        let inner = self.enclosed(body);
        // Behind `where` a value sees what is bound before it; where it means something else, what is bound at once or around it.
        let whole = matches!(form, "letrec" | "letrec*")
            || (0..pairs.len()).all(|i| {
                let from = if form == "let" { 0 } else { i };
                let bound = pairs[from..].iter().filter_map(|p| self.text(p.0));
                !bound.clone().any(|name| self.mentions(pairs[i].1, name))
                    && self.text(pairs[i].0).is_some_and(|n| bound.filter(|b| *b == n).count() == 1)
            });
        if whole || form == "let" {
            let word = if whole { "where" } else { "where at once" };
            let bound: Vec<String> = pairs.iter().map(|&(n, v)| self.bound(n, v)).collect();
            return piece(format!("{inner} \\;\\text{{ {word} }}\\; {}", bound.join(",\\; ")), FORM);
        }
        let mut text = inner;
        for (k, &(n, v)) in pairs.iter().enumerate().rev() {
            let word = if self.text(n).is_some_and(|name| self.mentions(v, name)) { "where at once" } else { "where" };
            let all = format!("{text} \\;\\text{{ {word} }}\\; {}", self.bound(n, v));
            text = if k == 0 { all } else { parentheses(&all) };
        }
        piece(text, FORM)
    }

    /// A name and what it is bound to, as one of several.
    fn bound(&self, name: DatumId, value: DatumId) -> String {
        match self.function_value(name, value) {
            Some((target, inner)) => format!("{target} = {}", self.enclosed(inner)),
            None => format!("{} = {}", self.at_least(name, FORM), self.at_least(value, LOGIC)),
        }
    }

    /// Whether a name is anywhere in an expression.
    fn mentions(&self, d: DatumId, name: &str) -> bool {
        let mut work = vec![d];
        while let Some(d) = work.pop() {
            if self.is(d, name) {
                return true;
            }
            work.extend(self.data.children(d));
        }
        false
    }

    fn matrix(&self, d: DatumId) -> Piece {
        let rows = self.data.children(d);
        let columns = |&r: &DatumId| matches!(self.data.get(r), Datum::Bracket(..)).then(|| self.data.children(r).len());
        let widths: Option<Vec<usize>> = rows.iter().map(columns).collect();
        // A column is a vector on the page; a matrix of one column is a vector of rows.
        let is_matrix = widths.is_some_and(|w| !w.is_empty() && w.iter().all(|&n| n == w[0] && n > 1));
        let line = |&r: &DatumId| {
            if !is_matrix {
                return self.at_least(r, LOGIC);
            }
            self.data.children(r).iter().map(|&c| self.at_least(c, LOGIC)).collect::<Vec<_>>().join(" & ")
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        piece(format!("\\begin{{pmatrix}} {} \\end{{pmatrix}}", lines.join(" \\\\ ")), ATOM)
    }
}

/// A unit, upright, inside of a text.
fn set_unit(unit: &str) -> String {
    let mut set = String::new();
    let (mut raised, mut inside) = (false, false);
    for c in unit.chars() {
        let first = set.ends_with("^{");
        let exponent = inside || c.is_ascii_digit() || c == '.' || (first && matches!(c, '-' | '('));
        inside = raised && (inside || first && c == '(') && c != ')';
        if raised && !exponent {
            set.push('}');
            raised = false;
        }
        match c {
            '^' => {
                set.push_str("^{");
                raised = true;
            }
            '*' | ' ' => set.push_str("\\,"),
            '%' | '_' | '#' | '$' | '&' => set.extend(['\\', c]),
            '\\' | '{' | '}' | '~' => {}
            _ => set.push(c),
        }
    }
    let close = if raised { "}" } else { "" };
    format!("$\\mathrm{{{set}{close}}}$")
}
