//! How Rust writes statements. In: values with names; out: lines of Rust.
//! Invariants: scalars are numbers, whole values arrays, records numbers of cells; a function gives its results, or how the run ended; what
//! a round or call has stored is given up at its end unless a result names it.

use super::functions::number;
use super::{Needs, special};
use crate::export::code::Function;
use crate::export::kernels::{binary, unary};
use crate::export::sides;
use crate::export::spell::bare;
use crate::export::structured::{Language, Named, walk_name};
use crate::graph::{GraphInput, Type};
use crate::ops::Op;
use crate::ops::real::Dtype;
use crate::ops::row::Kernel;
use crate::shape::Shape;

/// Rust with a number type.
pub(super) struct Rust {
    dtype: Dtype,
    /// Names of the functions.
    names: Vec<String>,
    /// Whether something is stored for a way back.
    taped: bool,
    /// How many marks of the tape have been made.
    marks: usize,
    /// The walks back that are open.
    backs: Vec<String>,
    pub(super) needs: Needs,
}

impl Rust {
    pub(super) fn new(dtype: Dtype, names: Vec<String>, taped: bool) -> Rust {
        Rust { dtype, names, taped, marks: 0, backs: Vec::new(), needs: Needs::default() }
    }

    /// Whether there is a text for an operation.
    pub(super) fn has(&mut self, op: Op) -> bool {
        match &op.row().kernel {
            Kernel::Unary(_) | Kernel::Binary(_) | Kernel::Ternary(_) => self.elementwise(op, &vec![String::from("x"); 3]).is_some(),
            Kernel::Select | Kernel::Composite(_) => true,
            Kernel::Tensor(_) => tensor(op).is_some(),
        }
    }

    /// An elementwise operation, if there is a text for it.
    fn elementwise(&mut self, op: Op, args: &[String]) -> Option<String> {
        let method = |name: &str| Some(format!("{}.{name}()", args[0]));
        let operator = |sign: &str| Some(format!("({} {sign} {})", args[0], args[1]));
        let (one, zero) = (number(1.0, self.dtype), number(0.0, self.dtype));
        let test = |sign: &str| Some(format!("(if {} {sign} {} {{ {one} }} else {{ {zero} }})", args[0], args[1]));
        let plain: Vec<String> = args.iter().map(|a| bare(a).to_string()).collect();
        match &op.row().kernel {
            Kernel::Unary(function) => match function.name {
                "neg" => Some(format!("(-{})", args[0])),
                "abs" => method("abs"),
                "sqrt" => method("sqrt"),
                "floor" => method("floor"),
                "ceiling" => method("ceil"),
                "round" => method("round_ties_even"),
                "truncate" => method("trunc"),
                name @ ("square" | "sign" | "relu") => Some(self.piece_call("numbers", name, &plain[..1])),
                name => special::call(name, &plain[..1], self.dtype, &mut self.needs)
                    .or_else(|| unary(function, self.dtype, &mut self.needs).map(|name| format!("nc::{name}({})", plain[0]))),
            },
            Kernel::Binary(function) => match function.name {
                "add" => operator("+"),
                "sub" => operator("-"),
                "mul" => operator("*"),
                "div" => operator("/"),
                "remainder" => operator("%"),
                "eq" => test("=="),
                "lt" => test("<"),
                "gt" => test(">"),
                "le" => test("<="),
                "ge" => test(">="),
                name @ ("min" | "max" | "modulo" | "quotient") => Some(self.piece_call("numbers", name, &plain[..2])),
                name => special::call(name, &plain[..2], self.dtype, &mut self.needs)
                    .or_else(|| binary(function, self.dtype, &mut self.needs).map(|name| format!("nc::{name}({})", plain[..2].join(", ")))),
            },
            Kernel::Select => Some(format!("(if {} != 0.0 {{ {} }} else {{ {} }})", args[0], plain[1], plain[2])),
            Kernel::Ternary(function) => special::call(function.name, &plain, self.dtype, &mut self.needs),
            Kernel::Tensor(_) | Kernel::Composite(_) => unreachable!("not elementwise"),
        }
    }

    fn piece_call(&mut self, piece: &'static str, name: &str, args: &[String]) -> String {
        self.needs.piece(piece);
        format!("nc::{name}({})", args.join(", "))
    }

    pub(super) fn ty(&self, ty: Type) -> String {
        match ty {
            Type::Value(Shape::Scalar) => "Real".into(),
            Type::Value(shape) => format!("[Real; {}]", shape.len()),
            Type::Record | Type::Many => "usize".into(),
        }
    }

    /// How a function begins.
    pub(super) fn prototype(&self, index: usize, function: &Function) -> String {
        let params = function.vars[..function.params].iter().enumerate().map(|(k, &ty)| format!("p{k}: {}", self.ty(ty)));
        let all: Vec<String> = std::iter::once("run: &mut Run".to_string()).chain(params).collect();
        let results: Vec<String> = function.result_types.iter().map(|&ty| self.ty(ty) + ",").collect();
        format!("fn {}({}) -> Result<({}), Status> {{", self.names[index], all.join(", "), results.join(" "))
    }

    /// Hands results to the caller: every NaN is the one that the library has.
    pub(super) fn result(&mut self, place: &str, at: usize, value: &Named) -> Vec<String> {
        if value.is_scalar() {
            return vec![format!("{place}[{at}] = quiet({});", bare(&value.text))];
        }
        vec![format!("for i in 0..{} {{", value.len()), format!("    {place}[{at} + i] = quiet({}[i]);", value.text), "}".into()]
    }

    /// A line that remembers how much is stored before a loop or call; a name for it.
    fn mark(&mut self) -> (String, String) {
        self.marks += 1;
        let name = format!("mark{}", self.marks);
        (format!("let {name} = run.used;"), name)
    }

    /// Stores numbers from a cell on.
    fn store(&self, at: &str, value: &Named) -> Vec<String> {
        if value.is_scalar() {
            return vec![format!("run.put({at}, {});", bare(&value.text))];
        }
        vec![format!("for i in 0..{} {{", value.len()), format!("    run.put({at} + i, {}[i]);", value.text), "}".into()]
    }

    /// Makes a variable of what is stored from a cell on.
    fn load(&self, to: &Named, at: &str) -> String {
        if to.is_scalar() {
            return format!("let {}: Real = run.get({at});", to.text);
        }
        format!("let {}: {} = std::array::from_fn(|i| run.get({at} + i));", to.text, self.ty(to.ty))
    }

    fn array(&self, to: &Named) -> String {
        let zero = number(0.0, self.dtype);
        format!("let mut {}: {} = [{zero}; {}];", to.text, self.ty(to.ty), to.len())
    }

    fn whole(&mut self, to: &Named, piece: &'static str, call: &str) -> Vec<String> {
        self.needs.piece(piece);
        vec![self.array(to), format!("nc::{call};")]
    }

    fn scalar(&mut self, to: &Named, piece: &'static str, call: &str) -> Vec<String> {
        self.needs.piece(piece);
        self.define(to, &format!("nc::{call}"))
    }

    /// A whole value by a rule for its place.
    fn each(&self, to: &Named, value: &str) -> Vec<String> {
        vec![format!("let {}: {} = std::array::from_fn(|i| {});", to.text, self.ty(to.ty), bare(value))]
    }

    /// A line that needs room for some matrices.
    fn with_room(&mut self, piece: &'static str, n: usize, matrices: usize, line: &str) -> Vec<String> {
        self.needs.piece(piece);
        let (zero, numbers, rows) = (number(0.0, self.dtype), (matrices * n * n).max(1), (3 * n).max(1));
        vec![
            "{".into(),
            format!("    let (mut work, mut rows) = ([{zero}; {numbers}], [0usize; {rows}]);"),
            format!("    {line}"),
            "}".into(),
        ]
    }

    /// Puts a value into an array.
    fn part(&self, to: &Named, at: &str, from: &Named) -> String {
        if from.is_scalar() {
            return format!("{}[{at}] = {};", to.text, bare(&from.text));
        }
        format!("{}[{at}..{at} + {1}].copy_from_slice(&{2});", to.text, from.len(), from.text)
    }

    /// A computed index, or the end of the run.
    fn index(&mut self, to: &Named, index: &Named, length: usize) -> String {
        self.needs.piece("values");
        format!("let at_{} = nc::index({}, {length})?;", to.text, bare(&index.text))
    }
}

/// The first number of a value.
fn first(value: &Named) -> String {
    if value.is_scalar() { value.text.clone() } else { format!("{}[0]", value.text) }
}

/// An operation on whole values: its result, and its arguments.
type Tensor = fn(&mut Rust, &Named, u32, &[Named]) -> Vec<String>;

/// What Rust makes of an operation that is not elementwise.
fn tensor(op: Op) -> Option<Tensor> {
    Some(match op {
        Op::Dot => |r, to, _, x| r.scalar(to, "values", &format!("dot(&{}, &{})", x[0].text, x[1].text)),
        Op::Total => |r, to, _, x| match x[0].is_scalar() {
            true => r.define(to, &first(&x[0])),
            false => r.scalar(to, "values", &format!("sum({}, &{}, 1)", x[0].len(), x[0].text)),
        },
        Op::Norm => |r, to, _, x| r.scalar(to, "values", &format!("norm(&{})", x[0].text)),
        Op::Trace => |r, to, _, x| {
            let (_, columns) = sides(x[0].shape());
            r.scalar(to, "values", &format!("sum({}, &{}, {})", x[0].len().div_ceil(columns + 1), x[0].text, columns + 1))
        },
        Op::Cross => |r, to, _, x| {
            let (a, b) = (&x[0].text, &x[1].text);
            r.each(to, &format!("{a}[(i + 1) % 3] * {b}[(i + 2) % 3] - {a}[(i + 2) % 3] * {b}[(i + 1) % 3]"))
        },
        Op::Transpose => |r, to, _, x| {
            let (rows, columns) = sides(x[0].shape());
            r.each(to, &format!("{}[i % {rows} * {columns} + i / {rows}]", x[0].text))
        },
        Op::Outer => |r, to, _, x| r.each(to, &format!("{}[i / {2}] * {1}[i % {2}]", x[0].text, x[1].text, x[1].len())),
        Op::Product => |r, to, _, x| {
            let ((rows, inner), (_, columns)) = (sides(x[0].shape()), sides(x[1].shape()));
            let call = format!("product({rows}, {inner}, {columns}, &{}, &{}, &mut {})", x[0].text, x[1].text, to.text);
            r.whole(to, "values", &call)
        },
        Op::Identity => |r, to, _, _| {
            let (one, zero) = (number(1.0, r.dtype), number(0.0, r.dtype));
            let (_, columns) = sides(to.shape());
            r.each(to, &format!("if i % {} == 0 {{ {one} }} else {{ {zero} }}", columns + 1))
        },
        Op::Det => |r, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = r.declare(to);
            lines.extend(r.with_room("factors", n, 1, &format!("{} = nc::det({n}, &{}, &mut work, &mut rows);", to.text, x[0].text)));
            lines
        },
        Op::Inv => |r, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = vec![r.array(to)];
            let call = format!("nc::solve({n}, {n}, &{}, None, &mut {}, &mut work, &mut rows);", x[0].text, to.text);
            lines.extend(r.with_room("factors", n, 1, &call));
            lines
        },
        Op::Solve => |r, to, _, x| {
            let ((n, _), (_, columns)) = (sides(x[0].shape()), sides(x[1].shape()));
            let mut lines = vec![r.array(to)];
            let given = format!("{n}, {columns}, &{}, Some(&{})", x[0].text, x[1].text);
            lines.extend(r.with_room("factors", n, 1, &format!("nc::solve({given}, &mut {}, &mut work, &mut rows);", to.text)));
            lines
        },
        Op::Cofactor => |r, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = vec![r.array(to)];
            let call = format!("nc::cofactor({n}, &{}, &mut {}, &mut work, &mut rows);", x[0].text, to.text);
            lines.extend(r.with_room("cofactors", n, 2, &call));
            lines
        },
        Op::CofactorAlong => |r, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = vec![r.array(to)];
            let call = format!("nc::cofactor_along({n}, &{}, &{}, &mut {}, &mut work, &mut rows);", x[0].text, x[1].text, to.text);
            lines.extend(r.with_room("cofactors", n, 4, &call));
            lines
        },
        Op::Join => |r, to, _, x| {
            if to.is_scalar() {
                return r.define(to, &first(&x[0]));
            }
            let mut lines = vec![r.array(to)];
            let mut at = 0;
            for part in x {
                lines.push(r.part(to, &at.to_string(), part));
                at += part.len();
            }
            lines
        },
        Op::Cut => |r, to, start, x| match (to.is_scalar(), x[0].is_scalar()) {
            (true, true) => r.define(to, &x[0].text),
            (true, false) => r.define(to, &format!("{}[{start}]", x[0].text)),
            (false, true) => r.each(to, &x[0].text),
            (false, false) => r.each(to, &format!("{}[{start} + i]", x[0].text)),
        },
        Op::Place => |r, to, start, x| {
            if to.is_scalar() {
                return r.define(to, &first(&x[0]));
            }
            vec![r.array(to), r.part(to, &start.to_string(), &x[0])]
        },
        Op::Spread => |r, to, _, x| {
            if to.is_scalar() {
                return r.define(to, &first(&x[0]));
            }
            vec![format!("let {}: {} = [{}; {}];", to.text, r.ty(to.ty), bare(&first(&x[0])), to.len())]
        },
        Op::CutAt => |r, to, _, x| {
            let (length, _) = sides(x[0].shape());
            let mut lines = vec![r.index(to, &x[1], length)];
            lines.extend(match to.is_scalar() {
                true => r.define(to, &format!("{}[at_{}]", x[0].text, to.text)),
                false => r.each(to, &format!("{}[at_{} * {} + i]", x[0].text, to.text, to.len())),
            });
            lines
        },
        Op::PlaceAt => |r, to, _, x| {
            let (length, _) = sides(to.shape());
            let mut lines = vec![r.index(to, &x[1], length), r.array(to)];
            let at = if x[0].is_scalar() { format!("at_{}", to.text) } else { format!("at_{} * {}", to.text, x[0].len()) };
            lines.push(r.part(to, &at, &x[0]));
            lines
        },
        _ => return None,
    })
}

impl Language for Rust {
    fn number(&mut self, x: f64) -> String {
        number(x, self.dtype)
    }

    fn apply(&mut self, op: Op, args: &[String]) -> String {
        self.elementwise(op, args).expect("operations without a text are refused before")
    }

    fn declare(&mut self, var: &Named) -> Vec<String> {
        vec![match var.ty {
            Type::Value(Shape::Scalar) => format!("let mut {}: Real = {};", var.text, number(0.0, self.dtype)),
            Type::Value(_) => self.array(var),
            Type::Record | Type::Many => format!("let mut {}: usize = 0;", var.text),
        }]
    }

    fn define(&mut self, var: &Named, value: &str) -> Vec<String> {
        vec![format!("let {}: Real = {};", var.text, bare(value))]
    }

    fn set(&mut self, var: &Named, value: &str) -> Vec<String> {
        vec![format!("{} = {};", var.text, bare(value))]
    }

    fn operation(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> Vec<String> {
        if let Some(write) = tensor(op) {
            return write(self, to, attribute, args);
        }
        let each: Vec<String> = args.iter().map(Named::each).collect();
        let value = self.apply(op, &each);
        self.each(to, &value)
    }

    fn unless_zero(&mut self, test: &str) -> String {
        format!("if {test} != 0.0 {{")
    }

    fn rounds(&mut self, stored: Option<(&Named, bool)>, keeps_records: bool) -> (Vec<String>, String) {
        let mut before: Vec<String> = stored.map(|(record, _)| format!("{} = 0;", record.text)).into_iter().collect();
        if self.taped && !keeps_records {
            before.push(self.mark().0);
        }
        (before, "loop {".into())
    }

    fn round(&mut self, stored: Option<(&Named, &[Named])>, keeps_records: bool) -> Vec<String> {
        let mut lines = vec!["run.step()?;".to_string()];
        if self.taped && !keeps_records {
            lines.push(format!("run.used = mark{};", self.marks));
        }
        if let Some((record, values)) = stored {
            // A round: the number of the one before (from 1, 0 for none), its own record, its values.
            let r = &record.text;
            let cells = 2 + values.iter().map(Named::len).sum::<usize>();
            lines.push(format!("let here = run.room({cells})?;"));
            lines.push(format!("run.tape[here] = {r} as u64;"));
            lines.push(format!("{r} = here + 1;"));
            let mut at = 1;
            for value in values {
                lines.extend(self.store(&format!("{r} + {at}"), value));
                at += value.len();
            }
        }
        lines
    }

    fn keep(&mut self, record: &Named, own: Option<&Named>) -> Vec<String> {
        own.map(|own| format!("run.tape[{}] = {} as u64;", record.text, own.text)).into_iter().collect()
    }

    fn if_zero(&mut self, proceed: &str) -> String {
        format!("if {proceed} == 0.0 {{")
    }

    fn back(&mut self, record: &Named, values: &[(Named, bool)], own: Option<&Named>) -> (Vec<String>, String, Vec<String>) {
        let at = walk_name("back", record, values, own);
        let (before, mark) = self.mark();
        let mut lines = vec!["run.step()?;".to_string(), format!("run.used = {mark};")];
        let mut next = 1;
        for (value, read) in values {
            if *read {
                lines.push(self.load(value, &format!("{at} + {next}")));
            }
            next += value.len();
        }
        lines.extend(own.map(|own| format!("let {} = run.tape[{at}] as usize;", own.text)));
        self.backs.push(at.clone());
        (vec![before, format!("let mut {at} = {};", record.text)], format!("while {at} != 0 {{"), lines)
    }

    fn back_end(&mut self, _: &Named) -> Vec<String> {
        let at = self.backs.pop().expect("it was opened");
        vec![format!("{at} = run.tape[{at} - 1] as usize;")]
    }

    fn call(&mut self, function: usize, args: &[Named], results: &[Named], counted: bool) -> Vec<String> {
        let given = args.iter().map(|a| bare(&a.text).to_string());
        let all: Vec<String> = std::iter::once("run".to_string()).chain(given).collect();
        let places: Vec<String> = results.iter().map(|r| r.text.clone() + ",").collect();
        let forgets = self.taped && results.iter().all(|r| r.ty != Type::Record);
        let mut lines = Vec::new();
        lines.extend(counted.then(|| "run.call()?;".to_string()));
        let mark = forgets.then(|| self.mark());
        lines.extend(mark.as_ref().map(|m| m.0.clone()));
        lines.push(format!("({}) = {}({})?;", places.join(" "), self.names[function], all.join(", ")));
        lines.extend(mark.map(|m| format!("run.used = {};", m.1)));
        lines.extend(counted.then(|| "run.depth -= 1;".to_string()));
        lines
    }

    fn pack(&mut self, to: &Named, args: &[Named]) -> Vec<String> {
        // A cell for each value; of a whole one it says where its numbers are.
        let whole: usize = args.iter().filter(|a| !a.is_scalar() && a.ty != Type::Record).map(Named::len).sum();
        let r = &to.text;
        let mut lines = vec![format!("let {r} = run.room({})?;", args.len() + whole)];
        let mut at = args.len();
        for (k, value) in args.iter().enumerate() {
            match value.ty {
                Type::Record => lines.push(format!("run.tape[{r} + {k}] = {} as u64;", value.text)),
                _ if value.is_scalar() => lines.extend(self.store(&format!("{r} + {k}"), value)),
                _ => {
                    lines.push(format!("run.tape[{r} + {k}] = ({r} + {at}) as u64;"));
                    lines.extend(self.store(&format!("{r} + {at}"), value));
                    at += value.len();
                }
            }
        }
        lines
    }

    fn unpack(&mut self, to: &Named, from: &Named, index: u32) -> Vec<String> {
        let cell = format!("{} + {index}", from.text);
        vec![match to.ty {
            Type::Record => format!("let {} = run.tape[{cell}] as usize;", to.text),
            _ if to.is_scalar() => self.load(to, &cell),
            _ => self.load(to, &format!("run.tape[{cell}] as usize")),
        }]
    }
}

/// Words a variable cannot be called, and names the text uses itself.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn", "for", "gen",
    "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self", "static", "struct",
    "super", "trait", "true", "type", "unsafe", "use", "where", "while", "abstract", "become", "box", "do", "final", "macro",
    "override", "priv", "try", "typeof", "unsized", "virtual", "yield", "inputs", "outputs", "gradient", "run", "i", "work", "rows",
    "nc", "std", "quiet", "Real", "Run", "Status", "here", "Ok", "Err", "Some", "None", "INPUTS", "OUTPUTS", "TAPE", "value",
    "f32", "f64", "usize", "u64",
];

/// Names for the inputs: their own where Rust allows it.
pub(super) fn input_names(inputs: &[GraphInput]) -> Vec<String> {
    crate::export::names(inputs, TAKEN, &["at_", "back_", "mark", "MAX_", "run_"])
}
