//! The table as a list: its lines, and the functions that each of them makes.

use mpitrace_functions::{Form, TABLE};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, Result, Token, parenthesized};

/// The kind of the lines that declare a collective in all its forms.
const COLLECTIVE: &str = "collective";
/// The kinds of the lines that declare a function that is recorded and has one form.
const SINGLE: [&str; 2] = ["blocking", "nonblocking"];

/// One line of the table. What it says of the function's meaning is not looked at: lines of any kind can be read.
#[derive(Debug)]
pub struct Line {
    /// The first word: `collective`, `observed` and so on.
    pub kind: String,
    /// The name without `MPI_`.
    pub name: String,
    /// The name of the non-blocking form, without `MPI_`.
    pub started: Option<String>,
    /// The parameters under the names that the table gives them, which say what each one is.
    pub parameters: Vec<String>,
    /// True if there is a variant with large counts, `_c`.
    pub large: bool,
}

/// One function that a line makes.
#[derive(Debug)]
pub struct Function {
    /// The whole name, `MPI_Ibcast_c`.
    pub name: String,
    /// The name without `MPI_`, its form and its width: what the line calls it.
    pub line: String,
    /// The form that it is of a collective; [`Form::Blocking`] for all that has one form.
    pub form: Form,
    /// True if it takes large counts.
    pub large: bool,
    /// Its parameters, with those that the form adds.
    pub parameters: Vec<String>,
}

/// All lines of the table, in its order.
///
/// # Panics
/// If a line begins otherwise than with its kind, name and parameters.
#[must_use]
pub fn lines() -> Vec<Line> {
    parse(TABLE)
}

/// The lines in a text.
///
/// # Panics
/// As [`lines`].
#[must_use]
pub fn parse(text: &str) -> Vec<Line> {
    syn::parse_str::<Table>(text).expect("lines of the table").0
}

impl Line {
    /// True if it is a collective, so that the forms follow from the line.
    #[must_use]
    pub fn is_collective(&self) -> bool {
        self.kind == COLLECTIVE
    }

    /// True if it is recorded and has one form.
    #[must_use]
    pub fn is_single(&self) -> bool {
        SINGLE.contains(&self.kind.as_str())
    }

    /// Every function that the line makes.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        let mut forms = vec![(Form::Blocking, self.name.clone(), &[][..])];
        if let Some(started) = &self.started {
            forms.push((Form::NonBlocking, started.clone(), &["request"]));
        }
        if self.is_collective() {
            forms.push((Form::Persistent, format!("{}_init", self.name), &["info", "request"]));
        }
        let widths = if self.large { &["", "_c"][..] } else { &[""] };
        let mut functions = Vec::new();
        for (form, name, added) in forms {
            let parameters: Vec<String> =
                self.parameters.iter().cloned().chain(added.iter().map(|&name| name.to_owned())).collect();
            functions.extend(widths.iter().map(|ending| Function {
                name: format!("MPI_{name}{ending}"),
                line: self.name.clone(),
                form,
                large: !ending.is_empty(),
                parameters: parameters.clone(),
            }));
        }
        functions
    }
}

struct Table(Vec<Line>);

impl Parse for Table {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut lines = Vec::new();
        while !input.is_empty() {
            lines.extend(alike(input)?);
        }
        Ok(Self(lines))
    }
}

/// A line for each of the names that the next one has.
fn alike(input: ParseStream) -> Result<Vec<Line>> {
    let word = |input: ParseStream| input.call(Ident::parse_any).map(|word| word.to_string());
    let kind = word(input)?;
    let large = input.parse::<Option<Token![+]>>()?.is_some();
    if large && word(input)? != "c" {
        return Err(input.error("only `c` comes after a `+`"));
    }
    let mut names = vec![word(input)?];
    while input.parse::<Option<Token![/]>>()?.is_some() {
        names.push(word(input)?);
    }
    let started = if input.parse::<Option<Token![,]>>()?.is_some() { Some(word(input)?) } else { None };
    let parameters;
    parenthesized!(parameters in input);
    let parameters = Punctuated::<Ident, Token![,]>::parse_terminated_with(&parameters, Ident::parse_any)?;
    let parameters: Vec<String> = parameters.iter().map(Ident::to_string).collect();
    skip_meaning(input)?;
    let line =
        |name| Line { kind: kind.clone(), name, started: started.clone(), parameters: parameters.clone(), large };
    Ok(names.into_iter().map(line).collect())
}

/// Goes beyond the semicolon that ends a line.
fn skip_meaning(input: ParseStream) -> Result<()> {
    input.step(|cursor| {
        let mut rest = *cursor;
        while let Some((token, next)) = rest.token_tree() {
            rest = next;
            if token.to_string() == ";" {
                return Ok(((), rest));
            }
        }
        Err(cursor.error("a line ends with a semicolon"))
    })
}
