//! The functions that an `mpi.h` declares.

use std::collections::BTreeMap;
use std::fmt;

use syn::{FnArg, ForeignItem, ForeignItemFn, Item, Pat, ReturnType, Type};

use crate::spelling::{self, Aliases};

/// All functions of one header whose names begin with `MPI_`.
pub struct Header {
    /// The library that it is of.
    pub library: &'static str,
    pub functions: BTreeMap<String, Declaration>,
}

/// One function as a header declares it.
pub struct Declaration {
    name: String,
    /// In the spelling of C.
    pub result: String,
    pub parameters: Vec<Parameter>,
    pub variadic: bool,
}

pub struct Parameter {
    pub name: String,
    /// The type in the spelling of C, an array as a pointer.
    pub kind: String,
    /// True if it is handed over as an integer of a machine word at most, or as an address.
    pub is_word: bool,
}

impl Header {
    /// Has bindgen read the header that clang finds with these options.
    ///
    /// # Errors
    /// If clang cannot read it, or it is not what bindgen says that it is.
    pub fn read(library: &'static str, options: &[String]) -> Result<Self, String> {
        let bindings = bindgen::builder()
            .header_contents("all_of_mpi.h", "#include <mpi.h>\n")
            .clang_args(options)
            .allowlist_function("MPI_.*")
            .formatter(bindgen::Formatter::None)
            .generate_comments(false)
            .layout_tests(false)
            .generate()
            .map_err(|error| error.to_string())?;
        let file = syn::parse_file(&bindings.to_string()).map_err(|error| error.to_string())?;
        let aliases: Aliases = file
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Type(alias) => Some((alias.ident.to_string(), (*alias.ty).clone())),
                _ => None,
            })
            .collect();
        let functions = file.items.iter().filter_map(|item| match item {
            Item::ForeignMod(block) => Some(&block.items),
            _ => None,
        });
        let functions = functions.flatten().filter_map(|item| match item {
            ForeignItem::Fn(function) => Some(Declaration::new(function, &aliases)),
            _ => None,
        });
        Ok(Self { library, functions: functions.map(|function| (function.name.clone(), function)).collect() })
    }
}

impl Declaration {
    fn new(function: &ForeignItemFn, aliases: &Aliases) -> Self {
        let signature = &function.sig;
        let parameters = signature.inputs.iter().filter_map(|parameter| match parameter {
            FnArg::Typed(parameter) => Some(Parameter::new(&parameter.pat, &parameter.ty, aliases)),
            FnArg::Receiver(_) => None,
        });
        Self {
            name: signature.ident.to_string(),
            result: match &signature.output {
                ReturnType::Default => "void".to_owned(),
                ReturnType::Type(_, kind) => spelling::in_c(kind),
            },
            parameters: parameters.collect(),
            variadic: signature.variadic.is_some(),
        }
    }
}

impl Parameter {
    fn new(name: &Pat, kind: &Type, aliases: &Aliases) -> Self {
        let name = match name {
            Pat::Ident(name) => name.ident.to_string(),
            _ => String::new(),
        };
        Self { name, kind: spelling::in_c(kind), is_word: spelling::is_word(kind, aliases) }
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut parameters: Vec<String> = self.parameters.iter().map(ToString::to_string).collect();
        if self.variadic {
            parameters.push("...".to_owned());
        }
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        write!(formatter, "{} {}({parameters})", self.result, self.name)
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let space = if self.kind.ends_with('*') { "" } else { " " };
        write!(formatter, "{}{space}{}", self.kind, self.name)
    }
}
