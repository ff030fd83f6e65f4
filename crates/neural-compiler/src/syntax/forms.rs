//! The table of forms: everything about a form that is not an operation, in one row. In: a name; out: its row. Read by the expander,
//! the reader of declarations, the formatter, `neuralc ops`, the repl, the generators, the advice on foreign names and the tests of the
//! reference.
//! Invariants: a keyword has one row; a form added here is known everywhere, and only its expansion and its section of the reference
//! are written elsewhere.

use crate::source::Span;
use crate::syntax::ast::{ExprId, ModelKind};
use crate::syntax::declare::Model;
use crate::syntax::expand::{Expander, Place};
use crate::syntax::reader::DatumId;

/// Everything the language knows about a form.
pub struct Form {
    /// The keyword a list starts with, or what the form is called where it has none of its own.
    pub name: &'static str,
    /// Other keywords of the same meaning.
    pub aliases: &'static [&'static str],
    /// Other words that mean something inside it: options and `else`.
    pub words: &'static [&'static str],
    /// Where it may stand.
    pub allowed: Allowed,
    /// How the formatter breaks it.
    pub layout: Layout,
    /// Section of the tables.
    pub group: &'static str,
    /// How many arguments, in words.
    pub arguments: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// How it is written in infix; as many ways, joined by `or`, as in Scheme, or one for all.
    pub infix: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// The derivative, in words.
    pub derivative_doc: &'static str,
    /// One of the paper's 51 operations.
    pub paper: bool,
    pub(crate) expansion: Expansion,
}

/// Where a form may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowed {
    /// Wherever an expression may.
    Expression,
    /// In tail position of a loop.
    Tail,
    /// At the top and at the start of a body.
    Definition,
    /// Where a name is bound to it or it is applied at once.
    Function,
    /// At the top of any program.
    Top,
    /// At the top of a model: one with states, or one that says what is observed.
    Model,
}

/// How a list that takes several lines is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// The head and the first argument on a line, the others under the first argument.
    Call,
    /// As a call, kept broken where the author broke it.
    Branches,
    /// The head and the first argument on a line, the others indented by two.
    Body,
    /// As `Body`, with one more argument on the first line where the first is a name.
    NamedBody,
}

/// A form as it stands in a program.
#[derive(Clone, Copy)]
pub(crate) struct Written<'d> {
    pub(crate) form: &'static Form,
    pub(crate) args: &'d [DatumId],
    pub(crate) span: Span,
}

/// What becomes of a form.
pub(crate) enum Expansion {
    /// An expression of the AST.
    Expression(fn(&mut Expander<'_>, Written<'_>, Place) -> ExprId),
    /// Inputs, functions or clauses of the program.
    Declaration(fn(&mut Expander<'_>, Written<'_>, &mut Model)),
    /// Told by something else than a keyword of its own.
    Unnamed,
}

impl Form {
    /// The keywords a list of this form starts with; none for what has no keyword of its own.
    pub fn keywords(&self) -> impl Iterator<Item = &'static str> {
        let named = !matches!(self.expansion, Expansion::Unnamed);
        std::iter::once(self.name).chain(self.aliases.iter().copied()).filter(move |_| named)
    }

    /// Whether it declares something at the top of a program.
    pub fn is_declaration(&self) -> bool {
        matches!(self.expansion, Expansion::Declaration(_))
    }
}

/// The form a keyword stands for, where nothing binds it.
///
/// ```
/// assert_eq!(neural_compiler::syntax::forms::form("let*").unwrap().usage, "(let* ((name value) …) body)");
/// ```
pub fn form(keyword: &str) -> Option<&'static Form> {
    FORMS.iter().find(|f| (f.name == keyword || f.aliases.contains(&keyword)) && !matches!(f.expansion, Expansion::Unnamed))
}

/// The row of this name, keyword or not.
pub(crate) fn row(name: &str) -> &'static Form {
    FORMS.iter().find(|f| f.name == name).expect("a row of the table")
}

/// Every keyword.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    FORMS.iter().flat_map(Form::keywords)
}

const CHOICE: &str = "conditional";
const LOGIC: &str = "comparison, logic";
const CONTROL: &str = "control";
const DERIVATIVES: &str = "derivatives";
const EQUATIONS: &str = "equations";
const MODELS: &str = "model files";

/// What most expressions have in common.
const EXPRESSION: Form = Form {
    name: "",
    aliases: &[],
    words: &[],
    allowed: Allowed::Expression,
    layout: Layout::Call,
    group: CONTROL,
    arguments: "2 or more",
    usage: "",
    infix: "",
    doc: "",
    derivative_doc: "that of the body",
    paper: false,
    expansion: Expansion::Unnamed,
};

/// What declarations have in common.
const DECLARATION: Form = Form { allowed: Allowed::Top, group: MODELS, arguments: "1 or more", derivative_doc: "none", ..EXPRESSION };

/// The forms, in the order of the tables.
pub const FORMS: &[Form] = &[
    Form {
        name: "if",
        layout: Layout::Branches,
        group: CHOICE,
        arguments: "3",
        usage: "(if test consequent alternative)",
        infix: "if test then consequent else alternative",
        doc: "the consequent when the test is not 0, else the alternative",
        derivative_doc: "that of the branch taken",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.if_form(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "cond",
        words: &["else"],
        layout: Layout::Branches,
        group: CHOICE,
        arguments: "1 or more",
        usage: "(cond (test value) … (else value))",
        infix: "cases { test: value; …; else: value }",
        doc: "the value of the first clause whose test is not 0",
        derivative_doc: "that of the clause taken",
        expansion: Expansion::Expression(|x, written, place| x.cond(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "and",
        group: LOGIC,
        arguments: "0 or more",
        usage: "(and x …)",
        infix: "x and y …",
        doc: "the first argument that is 0, else the last; later ones are not computed",
        derivative_doc: "that of the deciding argument",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.and_or(written, place, true)),
        ..EXPRESSION
    },
    Form {
        name: "or",
        group: LOGIC,
        arguments: "0 or more",
        usage: "(or x …)",
        infix: "x or y …",
        doc: "the first argument that is not 0, else the last; later ones are not computed",
        derivative_doc: "that of the deciding argument",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.and_or(written, place, false)),
        ..EXPRESSION
    },
    Form {
        name: "let",
        layout: Layout::NamedBody,
        usage: "(let ((name value) …) body)",
        infix: "let name = value in body or let name, name = value, value in body",
        doc: "names for values, none visible in the others",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.let_form(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "let*",
        layout: Layout::Body,
        usage: "(let* ((name value) …) body)",
        infix: "let name = value, … in body",
        doc: "names for values, each visible in those after it",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.sequential_let(written, place)),
        ..EXPRESSION
    },
    // `let` reads it.
    Form {
        name: "let (named)",
        arguments: "3 or more",
        usage: "(let name ((variable start) …) body)",
        infix: "loop name(variable = start, …) in body",
        doc: "a local recursive function and its first call",
        ..EXPRESSION
    },
    Form {
        name: "letrec",
        aliases: &["letrec*"],
        layout: Layout::Body,
        usage: "(letrec ((name (lambda …)) …) body)",
        infix: "letrec name(parameter, …) = value, … in body",
        doc: "functions that may call each other",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.letrec(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "define",
        allowed: Allowed::Definition,
        layout: Layout::Body,
        usage: "(define name value) or (define (name parameter …) body)",
        infix: "name = value or name(parameter, …) = body",
        doc: "a definition at the top or at the start of a body",
        derivative_doc: "that of the value",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.misplaced_define(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "lambda",
        allowed: Allowed::Function,
        layout: Layout::Body,
        usage: "(lambda (parameter …) body)",
        infix: "function(parameter, …) body",
        doc: "a function, bound to a name or applied at once",
        expansion: Expansion::Expression(|x, written, place| x.lambda_as_value(written, place)),
        ..EXPRESSION
    },
    // Told by the name's being a function.
    Form {
        name: "call",
        arguments: "any",
        usage: "(name argument …)",
        infix: "name(argument, …)",
        doc: "a call of a defined function; tail calls run in constant space",
        paper: true,
        ..EXPRESSION
    },
    Form {
        name: "loop",
        layout: Layout::Body,
        usage: "(loop ((variable start) …) body)",
        infix: "loop variable = start, … in body",
        doc: "a loop, repeated by recur",
        derivative_doc: "through every round",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.nameless_loop(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "recur",
        allowed: Allowed::Tail,
        arguments: "as its loop",
        usage: "(recur value …)",
        infix: "recur(value, …)",
        doc: "the next round of the innermost loop, in tail position only",
        derivative_doc: "through every round",
        paper: true,
        expansion: Expansion::Expression(|x, written, place| x.recur(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "d",
        group: DERIVATIVES,
        arguments: "2",
        usage: "(d expression name)",
        infix: "d(expression, name)",
        doc: "the exact derivative of the expression by what the name stands for, through definitions",
        derivative_doc: "the second derivative",
        expansion: Expansion::Expression(|x, written, place| x.derivative(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "root",
        layout: Layout::Body,
        group: EQUATIONS,
        arguments: "2 or more",
        usage: "(root (name start) expression) or (root (name from to) expression)",
        infix: "root name = start in expression or root name = from, to in expression",
        doc: "the name's value at which the expression is 0",
        derivative_doc: "by the implicit function theorem",
        expansion: Expansion::Expression(|x, written, place| x.root(written, place)),
        ..EXPRESSION
    },
    Form {
        name: "param",
        words: &[":min", ":max", ":fixed", ":prior", ":per", ":effect", ":unit"],
        usage: "(param name value :min a :max b :fixed :prior p :per column :effect e)",
        infix: "param name = value (min a, max b, fixed, prior p, per column, effect e)",
        doc: "a trainable constant with its initial value",
        expansion: Expansion::Declaration(|x, written, _| x.param(written)),
        ..DECLARATION
    },
    Form {
        name: "input",
        words: &[":size", ":interpolate", ":unit"],
        usage: "(input name :size n) or (input name :size [rows columns])",
        infix: "input name (size n) or input name (size [rows, columns])",
        doc: "an input whose size the program does not show",
        expansion: Expansion::Declaration(|x, written, _| x.input(written)),
        ..DECLARATION
    },
    Form {
        name: "state",
        words: &[":size", ":unit"],
        allowed: Allowed::Model,
        usage: "(state name start)",
        infix: "state name = start",
        doc: "a state and where it starts: a number, a vector, a name, an expression or (steady)",
        expansion: Expansion::Declaration(|x, written, model| x.state(written, model)),
        ..DECLARATION
    },
    Form {
        name: "derive",
        allowed: Allowed::Model,
        layout: Layout::Body,
        usage: "(derive state expression)",
        infix: "dstate/dt = expression",
        doc: "the time derivative of a state",
        expansion: Expansion::Declaration(|x, written, model| x.step(ModelKind::Derivatives, written, model)),
        ..DECLARATION
    },
    Form {
        name: "next",
        allowed: Allowed::Model,
        layout: Layout::Body,
        usage: "(next state expression)",
        infix: "next state = expression",
        doc: "the next value of a state in a discrete-time map",
        expansion: Expansion::Declaration(|x, written, model| x.step(ModelKind::Map, written, model)),
        ..DECLARATION
    },
    Form {
        name: "observe",
        words: &[":noise", ":unit"],
        allowed: Allowed::Model,
        layout: Layout::Body,
        usage: "(observe name expression :noise (distribution argument …))",
        infix: "observe name = expression (noise distribution(argument, …))",
        doc: "what the column of this name observes, and its noise",
        expansion: Expansion::Declaration(|x, written, model| x.observe(written, model)),
        ..DECLARATION
    },
    Form {
        name: "loglik",
        allowed: Allowed::Model,
        layout: Layout::Body,
        usage: "(loglik expression)",
        infix: "loglik(expression)",
        doc: "what a row adds to the log-likelihood",
        expansion: Expansion::Declaration(|x, written, model| x.loglik(written, model)),
        ..DECLARATION
    },
    Form {
        name: "event",
        words: &["at", "when", "set", "add", "every", ":from", ":until"],
        allowed: Allowed::Model,
        layout: Layout::Body,
        arguments: "2 or more",
        usage: "(event (at time …) action …) or (event (when condition) action …)",
        infix: "event at time, … { action; … } or event when condition { action; … }",
        doc: "jumps of states at times, or on conditions",
        expansion: Expansion::Declaration(|x, written, model| x.event_form(written, model)),
        ..DECLARATION
    },
    Form {
        name: "time",
        words: &[":start", ":step", ":unit"],
        allowed: Allowed::Model,
        usage: "(time name :start t :step h)",
        infix: "time name (start t, step h)",
        doc: "the time, when starts hold, and how far a map's rows are apart",
        expansion: Expansion::Declaration(|x, written, model| x.time(written, model)),
        ..DECLARATION
    },
    Form {
        name: "unit",
        arguments: "2",
        usage: "(unit name unit)",
        infix: "unit name = unit",
        doc: "the unit of an input, a parameter, a state, an observable or a definition",
        expansion: Expansion::Declaration(|x, written, _| x.unit_declaration(written)),
        ..DECLARATION
    },
    Form {
        name: "net",
        usage: "(net name (input …) width … outputs)",
        infix: "net name(input, …) (layers width, …, outputs)",
        doc: "a learned function: a multilayer perceptron",
        expansion: Expansion::Declaration(|x, written, _| x.net(written)),
        ..DECLARATION
    },
    Form {
        name: "constants",
        usage: "(constants si) or (constants si name …)",
        infix: "constants si or constants si (name, …)",
        doc: "physical constants by name, all of a set or these",
        expansion: Expansion::Declaration(|x, written, _| x.constants(written)),
        ..DECLARATION
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_has_one_row_and_is_no_operation() {
        let all: Vec<&str> = keywords().collect();
        for (k, name) in all.iter().enumerate() {
            assert!(!all[..k].contains(name), "`{name}` is there twice");
            assert!(crate::ops::surface(name).is_none(), "`{name}` is an operation too");
        }
    }

    #[test]
    fn every_form_is_written_in_infix_too() {
        for f in FORMS {
            assert!(!f.infix.is_empty(), "{} has no spelling in infix", f.name);
        }
    }

    #[test]
    fn usages_start_with_the_keyword() {
        for f in FORMS.iter().filter(|f| f.keywords().next().is_some()) {
            assert!(f.usage.starts_with(&format!("({} ", f.name)), "{}", f.usage);
        }
    }
}
