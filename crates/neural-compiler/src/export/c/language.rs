//! How C writes statements. In: values with names; out: lines of C.
//! Invariants: scalars are variables, whole values arrays, records numbers of cells; a function gives its status, its results go where its
//! last parameters say; what a round or call has stored is given up at its end unless a result names it.

use super::Needs;
use super::functions::{number, real, suffix};
use super::special;
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

/// C with a number type.
pub(super) struct C {
    dtype: Dtype,
    /// Names of the functions.
    names: Vec<String>,
    /// Whether something is stored for a way back.
    taped: bool,
    /// How many marks of the tape have been made.
    marks: usize,
    pub(super) needs: Needs,
}

impl C {
    pub(super) fn new(dtype: Dtype, names: Vec<String>, taped: bool) -> C {
        C { dtype, names, taped, marks: 0, needs: Needs::default() }
    }

    /// A line that remembers how much is stored before a loop or call; a name for it.
    fn mark(&mut self) -> (String, String) {
        self.marks += 1;
        let name = format!("mark{}", self.marks);
        (format!("const size_t {name} = run->used;"), name)
    }

    fn real(&self) -> &'static str {
        real(self.dtype)
    }

    /// Whether there is a text for an operation.
    pub(super) fn has(&mut self, op: Op) -> bool {
        match &op.row().kernel {
            Kernel::Unary(_) => self.elementwise(op, &["x".into()]).is_some(),
            Kernel::Binary(_) => self.elementwise(op, &["x".into(), "x".into()]).is_some(),
            Kernel::Ternary(_) => self.elementwise(op, &["x".into(), "x".into(), "x".into()]).is_some(),
            Kernel::Select | Kernel::Composite(_) => true,
            Kernel::Tensor(_) => tensor(op).is_some(),
        }
    }

    /// An elementwise operation, if C has it.
    fn elementwise(&mut self, op: Op, args: &[String]) -> Option<String> {
        let f = suffix(self.dtype);
        let library = |name: &str| Some(format!("{name}{f}({})", bare(&args[0])));
        let operator = |sign: &str| Some(format!("({} {sign} {})", args[0], args[1]));
        let (one, zero) = (number(1.0, self.dtype), number(0.0, self.dtype));
        let test = |sign: &str| Some(format!("({} {sign} {} ? {one} : {zero})", args[0], args[1]));
        let listed: Vec<&str> = args.iter().map(|a| bare(a)).collect();
        let listed = listed.join(", ");
        match &op.row().kernel {
            Kernel::Unary(function) => match function.name {
                "neg" => Some(format!("(-{})", args[0])),
                "abs" => library("fabs"),
                "sqrt" => library("sqrt"),
                "floor" => library("floor"),
                "ceiling" => library("ceil"),
                "round" => library("rint"),
                "truncate" => library("trunc"),
                name @ ("square" | "sign" | "relu") => Some(self.piece_call(name, &listed)),
                name => special::call(name, &listed, self.dtype, &mut self.needs)
                    .or_else(|| unary(function, self.dtype, &mut self.needs).map(|name| format!("{name}({listed})"))),
            },
            Kernel::Binary(function) => match function.name {
                "add" => operator("+"),
                "sub" => operator("-"),
                "mul" => operator("*"),
                "div" => operator("/"),
                "eq" => test("=="),
                "lt" => test("<"),
                "gt" => test(">"),
                "le" => test("<="),
                "ge" => test(">="),
                "remainder" => Some(format!("fmod{f}({listed})")),
                "inverse-part" => Some(self.piece_call("inverse_part", &listed)),
                name @ ("min" | "max" | "modulo" | "quotient") => Some(self.piece_call(name, &listed)),
                name => special::call(name, &listed, self.dtype, &mut self.needs)
                    .or_else(|| binary(function, self.dtype, &mut self.needs).map(|name| format!("{name}({listed})"))),
            },
            Kernel::Select => Some(format!("({} != 0 ? {} : {})", args[0], args[1], args[2])),
            Kernel::Ternary(function) => special::call(function.name, &listed, self.dtype, &mut self.needs),
            Kernel::Tensor(_) | Kernel::Composite(_) => unreachable!("not elementwise"),
        }
    }

    fn piece_call(&mut self, name: &'static str, args: &str) -> String {
        self.needs.piece(name);
        format!("nc_{name}({args})")
    }

    /// Copies a whole value, or a number, to a place.
    pub(super) fn copy_to(&mut self, to: &str, from: &Named) -> String {
        if from.is_scalar() {
            return format!("*({to}) = {};", bare(&from.text));
        }
        self.needs.piece("copy");
        format!("nc_copy({to}, {}, {});", from.text, from.len())
    }

    /// Hands results to the caller: every NaN is the one that the library has.
    pub(super) fn result(&mut self, place: &str, at: usize, value: &Named) -> Vec<String> {
        let t = self.real();
        self.needs.own("nc_quiet", || {
            format!("/* The one NaN of all results. */\nstatic {t} nc_quiet({t} x)\n{{\n    return x == x ? x : NC_NAN;\n}}\n")
        });
        if value.is_scalar() {
            return vec![format!("{place}[{at}] = nc_quiet({});", bare(&value.text))];
        }
        vec![format!("for (int i = 0; i < {}; i++) {place}[{at} + i] = nc_quiet({}[i]);", value.len(), value.text)]
    }

    fn parameter(&self, ty: Type, name: &str) -> String {
        match ty {
            Type::Value(Shape::Scalar) => format!("{} {name}", self.real()),
            Type::Value(_) => format!("const {} *{name}", self.real()),
            Type::Record | Type::Many => format!("size_t {name}"),
        }
    }

    /// How a function begins.
    pub(super) fn prototype(&self, index: usize, function: &Function) -> String {
        let params = function.vars[..function.params].iter().enumerate().map(|(k, &ty)| self.parameter(ty, &format!("p{k}")));
        let results = function.result_types.iter().enumerate().map(|(k, ty)| match ty {
            Type::Value(_) => format!("{} *r{k}", self.real()),
            Type::Record | Type::Many => format!("size_t *r{k}"),
        });
        let all: Vec<String> = std::iter::once("nc_run *run".to_string()).chain(params).chain(results).collect();
        format!("static int {}({})", self.names[index], all.join(", "))
    }

    /// Room on the tape, or the end of the run.
    fn room(&self, cells: usize) -> String {
        format!("if (run->cells - run->used < {cells}) return NC_LIMIT_MEMORY;")
    }

    /// Stores numbers from a cell on.
    fn store(&self, at: &str, value: &Named) -> String {
        if value.is_scalar() {
            return format!("run->tape[{at}].number = {};", bare(&value.text));
        }
        format!("for (int i = 0; i < {}; i++) run->tape[{at} + i].number = {}[i];", value.len(), value.text)
    }

    /// Makes a variable of what is stored from a cell on.
    fn load(&self, to: &Named, at: &str) -> Vec<String> {
        let t = self.real();
        if to.is_scalar() {
            return vec![format!("const {t} {} = run->tape[{at}].number;", to.text)];
        }
        vec![self.array(to), format!("for (int i = 0; i < {}; i++) {}[i] = run->tape[{at} + i].number;", to.len(), to.text)]
    }

    fn array(&self, var: &Named) -> String {
        format!("{} {}[{}];", self.real(), var.text, var.len().max(1))
    }
}

/// The first number of a value.
fn first(value: &Named) -> String {
    if value.is_scalar() { value.text.clone() } else { format!("{}[0]", value.text) }
}

/// An operation on whole values: its result, and its arguments.
type Tensor = fn(&mut C, &Named, u32, &[Named]) -> Vec<String>;

/// What C makes of an operation that is not elementwise.
fn tensor(op: Op) -> Option<Tensor> {
    Some(match op {
        Op::Dot => |c, to, _, x| c.scalar(to, "dot", format!("nc_dot({}, {}, {})", x[0].len(), x[0].text, x[1].text)),
        Op::Total => |c, to, _, x| match x[0].is_scalar() {
            true => c.define(to, &first(&x[0])),
            false => c.scalar(to, "sum", format!("nc_sum({}, {}, 1)", x[0].len(), x[0].text)),
        },
        Op::Norm => |c, to, _, x| {
            c.needs.piece(if c.dtype == Dtype::F32 { "bitsf" } else { "bits" });
            c.scalar(to, "norm", format!("nc_norm({}, {})", x[0].len(), x[0].text))
        },
        Op::Trace => |c, to, _, x| {
            let (_, columns) = sides(x[0].shape());
            c.scalar(to, "sum", format!("nc_sum({}, {}, {})", x[0].len().div_ceil(columns + 1), x[0].text, columns + 1))
        },
        Op::Cross => |c, to, _, x| c.whole(to, "cross", format!("nc_cross({}, {}, {})", x[0].text, x[1].text, to.text)),
        Op::Transpose => |c, to, _, x| {
            let (rows, columns) = sides(x[0].shape());
            c.whole(to, "transpose", format!("nc_transpose({rows}, {columns}, {}, {})", x[0].text, to.text))
        },
        Op::Outer => |c, to, _, x| {
            c.whole(to, "outer", format!("nc_outer({}, {}, {}, {}, {})", x[0].len(), x[1].len(), x[0].text, x[1].text, to.text))
        },
        Op::Product => |c, to, _, x| {
            let ((rows, inner), (_, columns)) = (sides(x[0].shape()), sides(x[1].shape()));
            c.whole(to, "product", format!("nc_product({rows}, {inner}, {columns}, {}, {}, {})", x[0].text, x[1].text, to.text))
        },
        Op::Identity => |c, to, _, _| {
            let (rows, columns) = sides(to.shape());
            c.whole(to, "eye", format!("nc_eye({rows}, {columns}, {})", to.text))
        },
        Op::Det => |c, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = vec![format!("{} {};", c.real(), to.text)];
            lines.extend(c.with_room("det", n, 1, format!("{} = nc_det({n}, {}, work, rows);", to.text, x[0].text)));
            lines
        },
        Op::Inv => |c, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = vec![c.array(to)];
            lines.extend(c.with_room("solve", n, 1, format!("nc_solve({n}, {n}, {}, 0, {}, work, rows);", x[0].text, to.text)));
            lines
        },
        Op::Solve => |c, to, _, x| {
            let ((n, _), (_, columns)) = (sides(x[0].shape()), sides(x[1].shape()));
            let mut lines = vec![c.array(to)];
            lines.extend(c.with_room(
                "solve",
                n,
                1,
                format!("nc_solve({n}, {columns}, {}, {}, {}, work, rows);", x[0].text, x[1].text, to.text),
            ));
            lines
        },
        Op::Cofactor => |c, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = vec![c.array(to)];
            lines.extend(c.with_room("cofactor", n, 2, format!("nc_cofactor({n}, {}, {}, work, rows);", x[0].text, to.text)));
            lines
        },
        Op::CofactorAlong => |c, to, _, x| {
            let (n, _) = sides(x[0].shape());
            let mut lines = vec![c.array(to)];
            lines.extend(c.with_room(
                "cofactor_along",
                n,
                4,
                format!("nc_cofactor_along({n}, {}, {}, {}, work, rows);", x[0].text, x[1].text, to.text),
            ));
            lines
        },
        Op::Join => |c, to, _, x| {
            if to.is_scalar() {
                return c.define(to, &first(&x[0]));
            }
            let mut lines = vec![c.array(to)];
            let mut at = 0;
            for part in x {
                lines.push(c.part(to, at, part));
                at += part.len();
            }
            lines
        },
        Op::Cut => |c, to, start, x| {
            if to.is_scalar() && !x[0].is_scalar() {
                return c.define(to, &format!("{}[{start}]", x[0].text));
            }
            if to.is_scalar() {
                return c.define(to, &x[0].text);
            }
            let from = match x[0].is_scalar() {
                true => x[0].clone(),
                false => Named { text: format!("{} + {start}", x[0].text), ty: to.ty },
            };
            vec![c.array(to), c.part(to, 0, &from)]
        },
        Op::Place => |c, to, start, x| {
            if to.is_scalar() {
                return c.define(to, &first(&x[0]));
            }
            c.needs.piece("fill");
            vec![c.array(to), format!("nc_fill({}, 0, {});", to.text, to.len()), c.part(to, start as usize, &x[0])]
        },
        Op::Spread => |c, to, _, x| {
            if to.is_scalar() {
                return c.define(to, &first(&x[0]));
            }
            c.needs.piece("fill");
            vec![c.array(to), format!("nc_fill({}, {}, {});", to.text, bare(&first(&x[0])), to.len())]
        },
        Op::CutAt => |c, to, _, x| {
            let (length, _) = sides(x[0].shape());
            let mut lines = c.index(to, &x[1], length);
            let from = Named { text: format!("{} + at_{} * {}", x[0].text, to.text, to.len()), ty: to.ty };
            lines.extend(match to.is_scalar() {
                true => c.define(to, &format!("{}[at_{}]", x[0].text, to.text)),
                false => vec![c.array(to), c.part(to, 0, &from)],
            });
            lines
        },
        Op::PlaceAt => |c, to, _, x| {
            let (length, _) = sides(to.shape());
            let mut lines = c.index(to, &x[1], length);
            c.needs.piece("fill");
            lines.extend([c.array(to), format!("nc_fill({}, 0, {});", to.text, to.len())]);
            lines.push(match x[0].is_scalar() {
                true => format!("{0}[at_{0}] = {1};", to.text, bare(&x[0].text)),
                false => {
                    c.needs.piece("copy");
                    format!("nc_copy({0} + at_{0} * {1}, {2}, {1});", to.text, x[0].len(), x[0].text)
                }
            });
            lines
        },
        _ => return None,
    })
}

impl C {
    fn scalar(&mut self, to: &Named, piece: &'static str, value: String) -> Vec<String> {
        self.needs.piece(piece);
        self.define(to, &value)
    }

    fn whole(&mut self, to: &Named, piece: &'static str, call: String) -> Vec<String> {
        self.needs.piece(piece);
        vec![self.array(to), format!("{call};")]
    }

    /// A line that needs room for some matrices.
    fn with_room(&mut self, piece: &'static str, n: usize, matrices: usize, line: String) -> Vec<String> {
        self.needs.piece(piece);
        let (t, numbers, rows) = (self.real(), (matrices * n * n).max(1), (3 * n).max(1));
        vec!["{".into(), format!("    {t} work[{numbers}];"), format!("    int rows[{rows}];"), format!("    {line}"), "}".into()]
    }

    /// Puts a value into an array.
    fn part(&mut self, to: &Named, at: usize, from: &Named) -> String {
        if from.is_scalar() {
            return format!("{}[{at}] = {};", to.text, bare(&from.text));
        }
        self.needs.piece("copy");
        let place = if at == 0 { to.text.clone() } else { format!("{} + {at}", to.text) };
        format!("nc_copy({place}, {}, {});", from.text, from.len())
    }

    /// A computed index, or the end of the run.
    fn index(&mut self, to: &Named, index: &Named, length: usize) -> Vec<String> {
        self.needs.piece("index");
        let at = format!("at_{}", to.text);
        vec![format!("const int {at} = nc_index({}, {length});", bare(&index.text)), format!("if ({at} < 0) return NC_INDEX_OUT_OF_RANGE;")]
    }
}

impl Language for C {
    fn number(&mut self, x: f64) -> String {
        number(x, self.dtype)
    }

    fn apply(&mut self, op: Op, args: &[String]) -> String {
        self.elementwise(op, args).expect("operations without a text are refused before")
    }

    fn declare(&mut self, var: &Named) -> Vec<String> {
        vec![match var.ty {
            Type::Value(Shape::Scalar) => format!("{} {};", self.real(), var.text),
            Type::Value(_) => self.array(var),
            Type::Record | Type::Many => format!("size_t {};", var.text),
        }]
    }

    fn define(&mut self, var: &Named, value: &str) -> Vec<String> {
        vec![format!("const {} {} = {};", self.real(), var.text, bare(value))]
    }

    fn set(&mut self, var: &Named, value: &str) -> Vec<String> {
        vec![match var.ty {
            Type::Value(Shape::Scalar) | Type::Record | Type::Many => format!("{} = {};", var.text, bare(value)),
            Type::Value(_) => self.copy_to(&var.text, &Named { text: value.into(), ty: var.ty }),
        }]
    }

    fn operation(&mut self, to: &Named, op: Op, attribute: u32, args: &[Named]) -> Vec<String> {
        if let Some(write) = tensor(op) {
            return write(self, to, attribute, args);
        }
        let each: Vec<String> = args.iter().map(Named::each).collect();
        let value = self.apply(op, &each);
        vec![self.array(to), format!("for (int i = 0; i < {}; i++) {}[i] = {};", to.len(), to.text, bare(&value))]
    }

    fn unused(&self, var: &Named) -> Option<String> {
        Some(format!("(void){};", var.text))
    }

    fn unless_zero(&mut self, test: &str) -> String {
        format!("if ({test} != 0) {{")
    }

    fn rounds(&mut self, stored: Option<(&Named, bool)>, keeps_records: bool) -> (Vec<String>, String) {
        let mut before: Vec<String> = stored.map(|(record, _)| format!("{} = 0;", record.text)).into_iter().collect();
        if self.taped && !keeps_records {
            before.push(self.mark().0);
        }
        (before, "for (;;) {".into())
    }

    fn round(&mut self, stored: Option<(&Named, &[Named])>, keeps_records: bool) -> Vec<String> {
        let mut lines = vec!["if (++run->steps > NC_MAX_STEPS) return NC_LIMIT_STEPS;".to_string()];
        if self.taped && !keeps_records {
            lines.push(format!("run->used = mark{};", self.marks));
        }
        if let Some((record, values)) = stored {
            // A round: the number of the one before (from 1, 0 for none), its own record, its values.
            let r = &record.text;
            let cells = 2 + values.iter().map(Named::len).sum::<usize>();
            lines.push(self.room(cells));
            lines.push(format!("run->tape[run->used].at = {r};"));
            lines.push(format!("{r} = run->used + 1;"));
            lines.push(format!("run->used += {cells};"));
            let mut at = 1;
            for value in values {
                lines.push(self.store(&format!("{r} + {at}"), value));
                at += value.len();
            }
        }
        lines
    }

    fn keep(&mut self, record: &Named, own: Option<&Named>) -> Vec<String> {
        own.map(|own| format!("run->tape[{}].at = {};", record.text, own.text)).into_iter().collect()
    }

    fn if_zero(&mut self, proceed: &str) -> String {
        format!("if ({proceed} == 0) {{")
    }

    fn back(&mut self, record: &Named, values: &[(Named, bool)], own: Option<&Named>) -> (Vec<String>, String, Vec<String>) {
        let at = walk_name("back", record, values, own);
        let open = format!("for (size_t {at} = {0}; {at} != 0; {at} = (size_t)run->tape[{at} - 1].at) {{", record.text);
        let (before, mark) = self.mark();
        let mut lines = vec!["if (++run->steps > NC_MAX_STEPS) return NC_LIMIT_STEPS;".to_string(), format!("run->used = {mark};")];
        let mut next = 1;
        for (value, read) in values {
            if *read {
                lines.extend(self.load(value, &format!("{at} + {next}")));
            }
            next += value.len();
        }
        lines.extend(own.map(|own| format!("const size_t {} = (size_t)run->tape[{at}].at;", own.text)));
        (vec![before], open, lines)
    }

    fn back_end(&mut self, _: &Named) -> Vec<String> {
        Vec::new()
    }

    fn call(&mut self, function: usize, args: &[Named], results: &[Named], counted: bool) -> Vec<String> {
        let given = args.iter().map(|a| bare(&a.text).to_string());
        let places = results.iter().map(|r| if r.is_scalar() || r.ty == Type::Record { format!("&{}", r.text) } else { r.text.clone() });
        let all: Vec<String> = std::iter::once("run".to_string()).chain(given).chain(places).collect();
        let (name, all) = (&self.names[function], all.join(", "));
        let mut lines = Vec::new();
        if counted {
            lines.push("if (++run->steps > NC_MAX_STEPS) return NC_LIMIT_STEPS;".into());
            lines.push("if (++run->depth > NC_MAX_DEPTH) return NC_LIMIT_DEPTH;".into());
        }
        let forgets = self.taped && results.iter().all(|r| r.ty != Type::Record);
        lines.push("{".into());
        lines.extend(forgets.then(|| "    const size_t mark = run->used;".to_string()));
        lines.push(format!("    const int status = {name}({all});"));
        lines.push("    if (status != NC_OK) return status;".into());
        lines.extend(forgets.then(|| "    run->used = mark;".to_string()));
        lines.push("}".into());
        if counted {
            lines.push("run->depth--;".into());
        }
        lines
    }

    fn pack(&mut self, to: &Named, args: &[Named]) -> Vec<String> {
        // A cell for each value; of a whole one it says where its numbers are.
        let whole: usize = args.iter().filter(|a| !a.is_scalar() && a.ty != Type::Record).map(Named::len).sum();
        let cells = args.len() + whole;
        let r = &to.text;
        let mut lines = vec![self.room(cells), format!("const size_t {r} = run->used;"), format!("run->used += {cells};")];
        let mut at = args.len();
        for (k, value) in args.iter().enumerate() {
            match value.ty {
                Type::Record => lines.push(format!("run->tape[{r} + {k}].at = {};", value.text)),
                _ if value.is_scalar() => lines.push(self.store(&format!("{r} + {k}"), value)),
                _ => {
                    lines.push(format!("run->tape[{r} + {k}].at = {r} + {at};"));
                    lines.push(self.store(&format!("{r} + {at}"), value));
                    at += value.len();
                }
            }
        }
        lines
    }

    fn unpack(&mut self, to: &Named, from: &Named, index: u32) -> Vec<String> {
        let cell = format!("{} + {index}", from.text);
        match to.ty {
            Type::Record => vec![format!("const size_t {} = (size_t)run->tape[{cell}].at;", to.text)],
            _ if to.is_scalar() => self.load(to, &cell),
            _ => self.load(to, &format!("run->tape[{cell}].at")),
        }
    }
}

/// Words a variable cannot be called, and names the text uses itself.
#[rustfmt::skip]
const TAKEN: &[&str] = &[
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for",
    "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
    "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "inputs", "outputs", "gradient", "run", "i", "work",
    "rows", "status", "fabs", "sqrt", "floor", "ceil", "rint", "trunc", "fma", "fmod", "signbit", "asm", "typeof", "near", "far",
    "NAN", "INFINITY", "unix", "linux", "true", "false", "bool", "size_t", "EOF", "NULL", "mark",
    "fabsf", "sqrtf", "floorf", "ceilf", "rintf", "truncf", "fmodf", "HUGE_VAL",
];

/// Names for the inputs: their own where C allows it.
pub(super) fn input_names(inputs: &[GraphInput]) -> Vec<String> {
    crate::export::names(inputs, TAKEN, &["nc_", "NC_", "at_", "back_", "mark", "M_", "FP_", "DBL_", "FLT_", "LDBL_", "INT", "UINT"])
}
