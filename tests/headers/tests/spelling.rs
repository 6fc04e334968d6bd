//! Types as bindgen writes them, in the spelling of C.

use std::collections::HashMap;

use syn::{PointerMutability, Type, TypePath};

/// The meaning of each name of a type.
pub type Aliases = HashMap<String, Type>;

/// `*const MPI_Datatype` is `const MPI_Datatype *`.
pub fn in_c(kind: &Type) -> String {
    match kind {
        Type::Ptr(pointer) => {
            let to = in_c(&pointer.elem);
            match (matches!(pointer.mutability, PointerMutability::Const(_)), to.ends_with('*')) {
                (false, false) => format!("{to} *"),
                (false, true) => format!("{to}*"),
                (true, false) => format!("const {to} *"),
                (true, true) => format!("{to}const *"),
            }
        }
        Type::Array(array) => format!("{}[]", in_c(&array.elem)),
        Type::Path(path) => {
            let name = last(path);
            match name.as_str() {
                "f64" => "double".to_owned(),
                plain => plain.strip_prefix("c_").unwrap_or(plain).to_owned(),
            }
        }
        _ => "?".to_owned(),
    }
}

/// True if an argument of this type is an address or an integer of a machine word at most.
pub fn is_word(kind: &Type, aliases: &Aliases) -> bool {
    match kind {
        Type::Ptr(_) => true,
        Type::Path(path) => {
            let name = last(path);
            match aliases.get(&name) {
                Some(meant) => is_word(meant, aliases),
                // A function's address is an `Option`.
                None => {
                    ["c_int", "c_uint", "c_long", "c_ulong", "c_longlong", "i32", "i64", "isize", "usize", "Option"]
                        .contains(&name.as_str())
                }
            }
        }
        _ => false,
    }
}

fn last(path: &TypePath) -> String {
    path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}
