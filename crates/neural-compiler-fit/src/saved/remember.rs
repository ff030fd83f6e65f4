//! What a saved model remembers of its fit. In: the text of a model, of which the record is a comment; out: how trajectories are told apart
//! and solved, so that a prediction does as the fit did, and whether a file of weights is the one it was saved with.
//!
//! What the text itself declares (values, when starts hold, the step of a map) is not looked up in the record: the text can be edited.
//! Invariants: a record that cannot be read, or says what no fit could have said, is an error; what the fit found (how sure it is, values
//! and starts of groups) is told of the text that was fitted only.

use crate::forecast::known::Known;
use crate::model::layout::Values;
use crate::options::Options;
use crate::purpose::is_of_use;
use crate::saved::save;
use neural_compiler::ode::schemes::{AUTO, chosen};
use neural_compiler::syntax::ast::ModelKind;
use neural_compiler::units::header;
use neural_compiler::{Diagnostic, Program, Shape};
use serde_json::{Map, Value};

/// The fields of a JSON object.
type Fields = Map<String, Value>;

/// How a fit read and solved its trajectories; what was not said is `None`.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Remembered {
    /// The column of times.
    pub time: Option<String>,
    /// The column that tells trajectories apart.
    pub group: Option<String>,
    /// The name of the way to solve.
    pub method: Option<&'static str>,
    /// The longest step.
    pub step: Option<f64>,
    /// The relative tolerance.
    pub tolerance: Option<f64>,
    /// The absolute tolerance.
    pub absolute_tolerance: Option<f64>,
}

fn bad(line: usize, why: impl std::fmt::Display) -> Diagnostic {
    let message = format!("line {line} of the model, the record of its fit behind `; fit: `, cannot be read: {why}");
    Diagnostic::error("bad-record", Default::default(), message)
        .help("save the model again, or delete the line and say the options of the fit")
}

/// The record of a model, and its line.
fn record(model: &str) -> Result<Option<(usize, Fields)>, Diagnostic> {
    match save::record(model) {
        None => Ok(None),
        Some((line, Err(e))) => Err(bad(line, e)),
        Some((line, Ok(Value::Object(fields)))) => Ok(Some((line, fields))),
        Some((line, Ok(_))) => Err(bad(line, "it is no JSON object")),
    }
}

/// Whether a text is a model that was fitted and saved.
pub fn is_saved_fit(model: &str) -> bool {
    save::record(model).is_some()
}

/// An option that is a text.
fn text(options: &Fields, name: &str) -> Result<Option<String>, String> {
    match options.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("the option `{name}` is a text, not {other}")),
    }
}

/// An option that is a positive number, as JSON or as it was on the command line.
fn positive(options: &Fields, name: &str) -> Result<Option<f64>, String> {
    let Some(value) = options.get(name) else { return Ok(None) };
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|x| x.is_finite() && *x > 0.0);
    number.map(Some).ok_or_else(|| format!("the option `{name}` is a positive number, not {value}"))
}

impl Remembered {
    /// What a model remembers that is of use to it; nothing where it was not saved by a fit, or has no states.
    pub fn of(program: &Program) -> Result<Remembered, Diagnostic> {
        let Some((line, fields)) = record(&program.scheme())? else { return Ok(Remembered::default()) };
        let Some(Value::Object(options)) = fields.get("options") else { return Err(bad(line, "it has no options")) };
        let found = Remembered::read(options).map_err(|why| bad(line, why))?;
        if program.kind() == ModelKind::Expression {
            return Ok(Remembered::default());
        }
        let declared = program.time().and_then(|t| t.step).is_some();
        Ok(Remembered {
            step: found.step.filter(|_| !declared),
            method: found.method.filter(|_| is_of_use("method", program)),
            tolerance: found.tolerance.filter(|_| is_of_use("rtol", program)),
            absolute_tolerance: found.absolute_tolerance.filter(|_| is_of_use("atol", program)),
            ..found
        })
    }

    fn read(options: &Fields) -> Result<Remembered, String> {
        let method = match text(options, "method")? {
            None => None,
            Some(name) => {
                let known = chosen(&name).map_err(|_| format!("the option `method` is none there is: `{name}`"))?;
                Some(known.map_or(AUTO, |scheme| scheme.row().name))
            }
        };
        Ok(Remembered {
            time: text(options, "time")?,
            group: text(options, "group")?,
            method,
            step: positive(options, "step")?,
            tolerance: positive(options, "rtol")?,
            absolute_tolerance: positive(options, "atol")?,
        })
    }

    /// What is of use for a table with these columns, `group` being the column the user names, empty for one trajectory. Without the
    /// column of times the table is read as one of a model that remembers none; without that of groups it cannot be.
    pub fn within<'a>(self, mut columns: impl Iterator<Item = &'a str> + Clone, group: Option<&str>) -> Result<Remembered, Diagnostic> {
        // Its name may have a unit behind it.
        let is = |column: &str, name: &str| column == name || header::split(column).is_some_and(|h| h.name == name);
        let time = self.time.filter(|name| columns.clone().any(|c| is(c, name)));
        let group = match (group, self.group) {
            (Some(""), _) => None,
            (Some(given), _) => Some(given.to_string()),
            (None, Some(known)) if !columns.any(|c| c == known) => {
                let message = format!("the table has no column `{known}`, by which the fit told trajectories apart");
                let help = "name the column that does with --group; an empty name says that the table is one trajectory";
                return Err(Diagnostic::error("missing-column", Default::default(), message).help(help));
            }
            (None, known) => known,
        };
        Ok(Remembered { time, group, ..self })
    }

    /// Takes the place of what options leave out; the group is the one `within` found.
    pub fn fill(self, options: Options<'_>) -> Options<'_> {
        let scheme = self.method.and_then(|name| chosen(name).ok().flatten());
        Options {
            time: options.time.or(self.time),
            group: self.group,
            scheme: options.scheme.or(scheme),
            step: options.step.or(self.step),
            tolerance: options.tolerance.or(self.tolerance),
            absolute_tolerance: options.absolute_tolerance.or(self.absolute_tolerance),
            ..options
        }
    }
}

/// The values that constants have for each group, by name, as the fit that saved a model found them.
pub(crate) fn of_groups(program: &Program) -> Result<Values, Diagnostic> {
    let Some((_, fields)) = record(&program.scheme())? else { return Ok(Values::new()) };
    let part = |name: &str| fields.get("fit").and_then(|fit| fit.get(name)).and_then(Value::as_object).into_iter().flatten();
    let value = |(name, of): (&String, &Value)| Some((name.clone(), Shape::Scalar, vec![of.get("value").unwrap_or(of).as_f64()?]));
    Ok(part("params").chain(part("effects")).filter(|(name, _)| name.ends_with(']')).filter_map(value).collect())
}

/// What the record of a model says of how sure its parameters are; `None` where there is none.
pub(crate) fn known(program: &Program) -> Result<Option<Known>, Diagnostic> {
    let Some((line, fields)) = record(&program.scheme())? else { return Ok(None) };
    if let Some(why) = fields.get("fit").and_then(Known::impossible) {
        return Err(bad(line, why));
    }
    let known = fields.get("fit").and_then(Known::of_json);
    if known.is_some() {
        check_text(program, "how sure its parameters are")?;
    }
    Ok(known)
}

/// The column that gave a fit the standard deviations of its data; none where it was a number, or there was none.
pub fn sigma_column(program: &Program) -> Result<Option<String>, Diagnostic> {
    let Some((_, fields)) = record(&program.scheme())? else { return Ok(None) };
    let given = |name: &str| fields.get("options").and_then(|o| o.get(name)).and_then(Value::as_str);
    // The command has one option for both; in Python the name of a column is one of its own.
    let column = given("sigma").filter(|text| text.parse::<f64>().is_err());
    Ok(column.or_else(|| given("sigma_column")).map(str::to_string))
}

/// The column that gave a fit the relative weights of its data.
pub fn weights_column(program: &Program) -> Result<Option<String>, Diagnostic> {
    let Some((_, fields)) = record(&program.scheme())? else { return Ok(None) };
    Ok(fields.get("options").and_then(|o| o.get("weights")).and_then(Value::as_str).map(str::to_string))
}

/// Whether a text is not the one that the fit of its record saved; nothing is said of one without a record, or without a hash in it.
pub fn is_changed(text: &str) -> bool {
    let saved = save::record(text).and_then(|(_, fields)| Some(fields.ok()?["text"]["sha256"].as_str()?.to_string()));
    saved.is_some_and(|hash| hash != save::sha256_of_text(text))
}

/// Complains about the use of something a fit found (`what`) for a text that is not the one it saved.
pub(crate) fn check_text(program: &Program, what: &str) -> Result<(), Diagnostic> {
    let text = program.scheme();
    let Some((_, fields)) = record(&text)? else { return Ok(()) };
    let why = match fields.get("text").and_then(|t| t.get("sha256")).and_then(Value::as_str) {
        Some(hash) if hash == save::sha256_of_text(&text) => return Ok(()),
        Some(_) => "the text was changed since",
        None => "the record does not say which text that was",
    };
    let message = format!("the record of the model says {what} as its fit found it, and {why}");
    let help = "take the change back, or fit the model again and save it";
    Err(Diagnostic::error("other-text", Default::default(), message).help(help))
}

/// When the starts of groups hold, by the names of the groups, as the fit that saved a model read them; nothing where it is one time for
/// all.
pub(crate) fn group_starts(program: &Program) -> Result<Vec<(String, f64)>, Diagnostic> {
    let Some((line, fields)) = record(&program.scheme())? else { return Ok(vec![]) };
    let Some(groups) = fields.get("fit").and_then(|fit| fit.get("start")).and_then(|start| start.get("groups")) else { return Ok(vec![]) };
    let one = |(name, time): (&String, &Value)| Some((name.clone(), time.as_f64()?));
    let read = groups.as_object().and_then(|all| all.iter().map(one).collect::<Option<Vec<_>>>());
    read.ok_or_else(|| bad(line, "the times at which groups start are no numbers"))
}

/// Complains about a prediction without doses by a model whose fit was given some.
pub(crate) fn check_doses(program: &Program, options: &Options<'_>) -> Result<(), Diagnostic> {
    let Some((_, fields)) = record(&program.scheme())? else { return Ok(()) };
    if !options.doses.is_empty() || fields.get("options").and_then(|o| o.get("events")).is_none() {
        return Ok(());
    }
    let help = "give them again (`--events`, Python's `events=`), or take `events` out of the record behind `; fit: ` to go without";
    Err(Diagnostic::error("missing-events", Default::default(), "the fit of this model was given doses, and here are none").help(help))
}

/// Complains about a file of weights that is not the one a model was saved with.
pub fn check_weights(model: &str, file: &[u8]) -> Result<(), Diagnostic> {
    let Some((line, fields)) = record(model)? else { return Ok(()) };
    let Some(weights) = fields.get("weights") else { return Ok(()) };
    let Some(known) = weights.get("sha256").and_then(Value::as_str) else { return Err(bad(line, "the hash of the weights is no text")) };
    let found = save::sha256(file).map_err(|e| bad(line, e))?;
    if found == known {
        return Ok(());
    }
    let message = "these are not the weights that were saved with the model: their SHA-256 is not the one in its record";
    let help =
        "the two files of one `--save` belong together; save the model again, or delete the line behind `; fit: ` to use these weights";
    Err(Diagnostic::error("other-weights", Default::default(), message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MAP: &str = "(state x 1) (next x (* 2 x))";

    fn of(model: &str, options: Value) -> Result<Remembered, Diagnostic> {
        let from = save::Provenance { data: "d.csv".into(), rows: 2, sha256: ("0".into(), "file"), options, weights: None };
        let text = save::with_record(model, &json!({}), &from);
        Remembered::of(&neural_compiler::compile(&text, &Default::default()).unwrap())
    }

    #[test]
    fn options_of_the_command_line_and_of_python() {
        let equation = MAP.replace("next", "derive");
        let known =
            Remembered { group: Some("g".into()), step: Some(0.5), method: Some("rk4"), tolerance: Some(1e-6), ..Default::default() };
        assert_eq!(of(&equation, json!({"group": "g", "step": "0.5", "method": "rk4", "rtol": "1e-6", "seed": "3"})), Ok(known.clone()));
        assert_eq!(of(&equation, json!({"group": "g", "step": 0.5, "method": "rk4", "rtol": 1e-6, "profile": false})), Ok(known.clone()));
        // What a map has no use for, what the text declares, and what a formula has not.
        let stepped = Remembered { method: None, tolerance: None, ..known };
        let given = json!({"group": "g", "step": "0.5", "method": "rk4", "rtol": "1e-6"});
        assert_eq!(of(MAP, given.clone()), Ok(stepped.clone()));
        assert_eq!(of(&format!("(time t :step 2) {MAP}"), given), Ok(Remembered { step: None, ..stepped }));
        assert_eq!(of("(* 2 x)", json!({"group": "g"})), Ok(Remembered::default()));
    }

    #[test]
    fn what_no_fit_said_is_an_error() {
        for options in
            [json!({"step": "-1"}), json!({"step": [1]}), json!({"method": "rk5"}), json!({"group": 3}), json!({"rtol": "x"}), json!([])]
        {
            let error = of(MAP, options.clone()).unwrap_err();
            assert_eq!(error.code, "bad-record", "{options}");
            assert!(error.message.starts_with("line 3 of the model"), "{}", error.message);
        }
        let cut = format!("{MAP}\n; fit: {{\"options\":{{\"gro");
        let read = |text: &str| Remembered::of(&neural_compiler::compile(text, &Default::default()).unwrap());
        assert_eq!(read(&cut).unwrap_err().code, "bad-record");
        assert_eq!(read(&format!("{MAP}\n; fit: by eye")), Ok(Remembered::default()));
    }

    #[test]
    fn what_no_fit_found_is_an_error() {
        let found = |covariance: Value, value: f64, freedom: i64| {
            json!({"order": ["a", "b"], "covariance": covariance, "observations": 9, "freedom": freedom, "params": {
                "a": {"value": value, "stderr": 2.0, "ci95": [-3.0, 5.0]}, "b": {"value": 1.0, "stderr": 1.0, "ci95": [-1.0, 3.0]}}})
        };
        assert_eq!(Known::impossible(&found(json!([[4.0, -1.9], [-1.9, 1.0]]), 1.0, 7)), None);
        // Of what the data do not determine nothing is written.
        assert_eq!(Known::impossible(&found(json!([[4.0, null], [null, null]]), 1.0, 7)), None);
        for (covariance, value, freedom) in [
            (json!([[-4.0, 0.0], [0.0, 1.0]]), 1.0, 7),
            (json!([[4.0, 2.1], [2.1, 1.0]]), 1.0, 7),
            (json!([[4.0, 1.0], [0.5, 1.0]]), 1.0, 7),
            (json!([[4.0, 1.0], [1.0, 1.0]]), 5.1, 7),
            (json!([[4.0, 1.0], [1.0, 1.0]]), 1.0, -1),
        ] {
            let found = found(covariance, value, freedom);
            assert!(Known::impossible(&found).is_some(), "{found}");
        }
    }

    #[test]
    fn groups_must_be_there_or_be_denied() {
        let known = Remembered { time: Some("s".into()), group: Some("g".into()), ..Default::default() };
        let within = |columns: &[&str], group: Option<&str>| {
            known.clone().within(columns.iter().copied(), group).map(|k| (k.time, k.group)).map_err(|e| e.code)
        };
        assert_eq!(within(&["s", "g"], None), Ok((Some("s".into()), Some("g".into()))));
        assert_eq!(within(&["t", "g", "h"], Some("h")), Ok((None, Some("h".into()))));
        assert_eq!(within(&["t"], Some("")), Ok((None, None)));
        assert_eq!(within(&["t"], None), Err("missing-column"));
    }
}
