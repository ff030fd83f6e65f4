//! Names in LaTeX. In: letters, Greek, accents, words in upright type, with their subscripts; out: names. The same name is the same
//! quantity, so what is set differently gets different names: `\vec v` is `v_vec`, `\bar x` is `x_bar`.

use super::lexer::Kind;
use super::parser::{Parser, Read, Walk};
use crate::ops;
use crate::source::Span;

/// Greek letters and others that are commands, by the name of the command.
pub(super) const LETTERS: &[&str] = &[
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "varepsilon",
    "zeta",
    "eta",
    "theta",
    "vartheta",
    "iota",
    "kappa",
    "varkappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "pi",
    "varpi",
    "rho",
    "varrho",
    "sigma",
    "varsigma",
    "tau",
    "upsilon",
    "phi",
    "varphi",
    "chi",
    "psi",
    "omega",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Xi",
    "Pi",
    "Sigma",
    "Upsilon",
    "Phi",
    "Psi",
    "Omega",
    "hbar",
    "ell",
];

/// Greek letters typed as such, which look like their commands and mean the same.
const GREEK: &str = "αalpha βbeta γgamma δdelta εvarepsilon ϵepsilon ζzeta ηeta θtheta ϑvartheta ιiota κkappa λlambda μmu µmu νnu ξxi πpi \
                     ρrho ϱvarrho σsigma ςvarsigma τtau υupsilon φvarphi ϕphi χchi ψpsi ωomega ΓGamma ΔDelta ∆Delta ΘTheta ΛLambda ΞXi \
                     ΠPi ΣSigma ΥUpsilon ΦPhi ΨPsi ΩOmega ΩOmega ħhbar ℏhbar ℓell";

/// What a letter is called.
fn letter(c: char) -> String {
    let known = if c.is_ascii() { None } else { GREEK.split_whitespace().find_map(|w| w.strip_prefix(c)) };
    known.map_or_else(|| c.to_string(), str::to_string)
}

/// Accents, and what they add to a name.
const ACCENTS: &[(&str, &str)] = &[
    ("bar", "_bar"),
    ("overline", "_bar"),
    ("hat", "_hat"),
    ("widehat", "_hat"),
    ("tilde", "_tilde"),
    ("widetilde", "_tilde"),
    ("vec", "_vec"),
    ("mathbf", "_vec"),
    ("boldsymbol", "_vec"),
    ("bm", "_vec"),
    ("mathcal", "_cal"),
    ("mathfrak", "_frak"),
    ("underline", "_under"),
];

/// Words in upright type.
pub(super) const UPRIGHT: &[&str] = &["mathrm", "text", "operatorname", "textrm", "mathit", "mathsf", "textit", "rm"];

/// A name that was read.
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
    /// Set as a vector or matrix: products of such have several readings.
    pub(super) bold: bool,
    /// Said to be a name by the way it is set: `\mathit{e}`.
    pub(super) plain: bool,
}

impl Parser<'_> {
    /// Whether a name starts here.
    pub(super) fn name_starts(&self) -> bool {
        match self.peek().kind {
            Kind::Letter(_) => true,
            Kind::Command => {
                let command = self.command();
                LETTERS.contains(&command) || UPRIGHT.contains(&command) || ACCENTS.iter().any(|a| a.0 == command)
            }
            _ => false,
        }
    }

    /// A name with its subscripts.
    pub(super) fn name(&mut self) -> Read<Name> {
        let start = self.peek().span;
        let mut name = self.bare_name()?;
        if self.peek().kind == Kind::Lower {
            self.next();
            let subscript = self.subscript()?;
            name.text = format!("{}_{subscript}", name.text);
        }
        name.span = start.join(self.before().span);
        Ok(name)
    }

    fn bare_name(&mut self) -> Read<Name> {
        let token = self.next();
        let made = |text: String, bold: bool, plain: bool| Ok(Name { text, span: token.span, bold, plain });
        match token.kind {
            Kind::Letter(c) => made(letter(c), false, false),
            Kind::Command => {
                let command = self.command_of(token);
                if let Some((_, ending)) = ACCENTS.iter().find(|a| a.0 == command) {
                    let inner = self.braced(|p| p.bare_name())?;
                    return made(format!("{}{ending}", inner.text), *ending == "_vec", true);
                }
                if UPRIGHT.contains(&command.as_str()) {
                    let plain = command == "mathit";
                    return made(self.word()?, false, plain);
                }
                made(command, false, false)
            }
            _ => Err(self.unexpected(token, "a name")),
        }
    }

    /// The letters and digits in braces, as one word.
    pub(super) fn word(&mut self) -> Read<String> {
        let open = self.peek();
        if open.kind != Kind::Open {
            let token = self.next();
            return match token.kind {
                Kind::Letter(c) => Ok(c.to_string()),
                _ => Err(self.unexpected(token, "a word in braces")),
            };
        }
        self.next();
        let mut word = String::new();
        loop {
            let token = self.next();
            match token.kind {
                Kind::Close => break,
                Kind::Letter(c) => {
                    if !word.is_empty() && !token.glued && !word.ends_with('_') {
                        word.push('_');
                    }
                    word.push(c);
                }
                Kind::Number(_) => word.push_str(token.span.text(self.source)),
                Kind::Lower | Kind::Sign('_') => word.push('_'),
                Kind::Sign('-') => word.push('-'),
                Kind::Sign('.') => word.push('.'),
                Kind::Command if LETTERS.contains(&self.command_of(token).as_str()) => word.push_str(&self.command_of(token)),
                _ => return Err(self.unexpected(token, "letters of a word")),
            }
        }
        if word.is_empty() { Err(self.unexpected(open, "a word")) } else { Ok(word) }
    }

    /// A subscript: letters, digits, Greek and words, put together. An index of a sum in it is its number.
    pub(super) fn subscript(&mut self) -> Read<String> {
        let open = self.peek();
        if open.kind != Kind::Open {
            return self.subscript_part(false);
        }
        self.next();
        let mut parts = String::new();
        while self.peek().kind != Kind::Close {
            let token = self.peek();
            match token.kind {
                Kind::Sign(',') => {
                    self.next();
                    parts.push('_');
                }
                Kind::Open | Kind::Lower => {
                    return Err(self.unknown(
                        token.span,
                        "a subscript within a subscript",
                        "write the name of the quantity in letters and digits",
                    ));
                }
                Kind::Sign('+' | '-' | '*' | '/') => {
                    let help = "compute with quantities that have names, or write the sum out";
                    return Err(self.unknown(token.span, "arithmetic in a subscript", help));
                }
                Kind::End => return Err(self.unexpected(token, "`}`")),
                _ => parts.push_str(&self.subscript_part(true)?),
            }
        }
        self.next();
        if parts.is_empty() { Err(self.unexpected(open, "a subscript")) } else { Ok(parts) }
    }

    fn subscript_part(&mut self, braces: bool) -> Read<String> {
        let token = self.next();
        match token.kind {
            Kind::Letter(c) => Ok(self.index(&letter(c), token.span)?.unwrap_or_else(|| letter(c))),
            Kind::Number(_) => {
                let text = token.span.text(self.source).to_string();
                if braces || text.len() == 1 { Ok(text) } else { Err(self.two_digits(token)) }
            }
            Kind::Command => {
                let command = self.command_of(token);
                if UPRIGHT.contains(&command.as_str()) {
                    return self.word();
                }
                if command == "infty" {
                    return Ok("inf".into());
                }
                // v_{\max}: upright words that have commands.
                if matches!(command.as_str(), "max" | "min" | "lim" | "sup" | "exp") {
                    return Ok(command);
                }
                if LETTERS.contains(&command.as_str()) {
                    return Ok(self.index(&command, token.span)?.unwrap_or(command));
                }
                Err(self.unexpected(token, "a subscript of letters and digits"))
            }
            Kind::Sign('*') => Ok("star".into()),
            _ => Err(self.unexpected(token, "a subscript of letters and digits")),
        }
    }

    /// Runs of letters that other texts write for a function: in LaTeX they would be a product of letters.
    pub(super) fn misspelt_function(&self) -> Option<String> {
        let mut word = String::new();
        let mut n = 0;
        while let Kind::Letter(c) = self.ahead(n).kind {
            if n > 0 && !self.ahead(n).glued {
                break;
            }
            word.push(c);
            n += 1;
        }
        let known = ops::surface(&word).is_some()
            || ["ln", "arcsin", "arccos", "arctan", "mod", "det", "sgn", "const", "otherwise", "where", "if"].contains(&word.as_str());
        (word.len() > 1 && known).then_some(word)
    }
}
