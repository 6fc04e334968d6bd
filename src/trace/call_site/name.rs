//! Names of functions as their programmers wrote them.

use std::borrow::Cow;

use addr2line::gimli::{self, DwLang};

/// The name without what the compiler made of it: C++ and Rust are demangled, a Fortran procedure loses its underscore
/// (`solve_`), one of a module is named after that (`__halo_MOD_exchange` is `halo::exchange`).
pub(super) fn readable(raw: &str, language: Option<DwLang>) -> String {
    if let Some((module, procedure)) = raw.strip_prefix("__").and_then(|rest| rest.split_once("_MOD_")) {
        return format!("{module}::{procedure}");
    }
    if language.is_some_and(is_fortran) {
        // The main program is MAIN__, whatever it was called.
        return raw.strip_suffix('_').filter(|name| !name.ends_with('_')).unwrap_or(raw).to_owned();
    }
    // Mangled names are told by how they begin, and C code may have them too. Without that beginning the letters of a
    // type are a name: `i` would become `int`.
    if !["_Z", "_R"].iter().any(|start| raw.starts_with(start)) {
        return raw.to_owned();
    }
    addr2line::demangle_auto(Cow::Borrowed(raw), None).into_owned()
}

fn is_fortran(language: DwLang) -> bool {
    [
        gimli::DW_LANG_Fortran77,
        gimli::DW_LANG_Fortran90,
        gimli::DW_LANG_Fortran95,
        gimli::DW_LANG_Fortran03,
        gimli::DW_LANG_Fortran08,
        gimli::DW_LANG_Fortran18,
    ]
    .contains(&language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_gives_its_own_names_back() {
        let fortran = Some(gimli::DW_LANG_Fortran08);
        let cases = [
            ("exchange", Some(gimli::DW_LANG_C11), "exchange"),
            // A trailing underscore is Fortran's alone.
            ("exchange_", Some(gimli::DW_LANG_C11), "exchange_"),
            ("exchange_", fortran, "exchange"),
            ("MAIN__", fortran, "MAIN__"),
            ("__halo_MOD_exchange", fortran, "halo::exchange"),
            ("__halo_MOD_exchange", None, "halo::exchange"),
            ("_ZN4halo8exchangeEiPd", None, "halo::exchange(int, double*)"),
            ("_ZN4halo8exchangeEiPd", Some(gimli::DW_LANG_C11), "halo::exchange(int, double*)"),
            ("_ZN4halo8exchangeEiPd", Some(gimli::DW_LANG_C_plus_plus_14), "halo::exchange(int, double*)"),
            ("_RNvCs1234_4halo8exchange", None, "halo::exchange"),
            ("_ZN4halo8exchange17h0123456789abcdefE", Some(gimli::DW_LANG_Rust), "halo::exchange"),
        ];
        for (raw, language, expected) in cases {
            assert_eq!(readable(raw, language), expected);
        }
    }

    #[test]
    fn names_that_are_letters_of_a_type_stay() {
        let letters = || ('a'..='z').chain('A'..='Z').chain(['_']);
        let one = letters().map(String::from);
        let two = letters().flat_map(|first| letters().chain('0'..='9').map(move |second| format!("{first}{second}")));
        for name in one.chain(two) {
            for language in [None, Some(gimli::DW_LANG_C11), Some(gimli::DW_LANG_C_plus_plus_14)] {
                assert_eq!(readable(&name, language), name);
            }
        }
    }
}
