//! The exported functions, made from the table.

use std::ffi::c_int;

use crate::message::{Int, Large, Message};
use crate::symbol::Symbol;
use crate::table::{Function, for_each_function};
use crate::{abi, communicator, datatype, large_count, lifecycle, recorder, thread};

/// Exports one function: `$body` runs with `$forward!()` standing for the call of the next definition of the same name.
///
/// Every argument is a machine word, which is passed on as it came: in its register or on the stack. C++ exceptions that an
/// error handler throws pass through (`C-unwind`).
macro_rules! export {
    ($symbol:expr, ($($argument:ident),*), $real:ident => $absent:expr, $forward:ident => $body:expr) => {
        const _: () = {
            /// See the MPI standard.
            ///
            /// # Safety
            /// The arguments are those of the MPI function of this name.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C-unwind" fn wrapper($($argument: usize),*) -> c_int {
                static REAL: Symbol = Symbol::new(concat!($symbol, "\0"));
                let Some($real) = REAL.get() else { return $absent };
                // SAFETY: the next definition of an MPI function takes the same words and returns an int; the arguments
                // are the program's own.
                let $forward = || unsafe {
                    let real: unsafe extern "C-unwind" fn($($argument: usize),*) -> c_int =
                        std::mem::transmute($real);
                    real($($argument),*)
                };
                $body
            }
        };
    };
}

/// The plain function in place of one with large counts that the library lacks.
///
/// In place of `$forward`, runs `$body` with the arguments narrowed and forwards to the symbol `$plain`.
macro_rules! with_plain {
    ($plain:expr, ($($argument:ident),*), $forward:ident => $body:expr) => {{
        static PLAIN: Symbol = Symbol::new(concat!($plain, "\0"));
        let Some(plain) = PLAIN.get() else { return missing($plain) };
        let names = [$(stringify!($argument)),*];
        let given = [$($argument),*];
        let mut arguments = given;
        let mut narrowed = large_count::Narrowed::default();
        // SAFETY: the arguments are those of a call of this function.
        if !unsafe { narrowed.narrow(&names, &mut arguments) } {
            // SAFETY: as above.
            return unsafe { large_count::refuse(&names, &given) };
        }
        // SAFETY: as in `export`; the narrowed arrays live until the call has returned.
        let $forward = || unsafe {
            let [$($argument),*] = arguments;
            let plain: unsafe extern "C-unwind" fn($($argument: usize),*) -> c_int = std::mem::transmute(plain);
            plain($($argument),*)
        };
        $body
    }};
}

macro_rules! declare {
    () => {};

    (collective $name:ident($($argument:ident),*) => $rule:ident($($significant:ident),*)
        $(root $root:ident)? $(reduction $reduction:ident)? on $comm:ident; $($rest:tt)*) => {
        const _: () = {
            static FUNCTION: Function = Function { name: concat!("MPI_", stringify!($name)) };
            collective!(concat!("MPI_", stringify!($name)), Int, ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
            collective!(concat!("PMPI_", stringify!($name)), Int, ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
        };
        declare! { $($rest)* }
    };
    (collective+c $name:ident($($argument:ident),*) => $rule:ident($($significant:ident),*)
        $(root $root:ident)? $(reduction $reduction:ident)? on $comm:ident; $($rest:tt)*) => {
        const _: () = {
            static FUNCTION: Function = Function { name: concat!("MPI_", stringify!($name)) };
            collective!(concat!("MPI_", stringify!($name)), Int, ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
            collective!(concat!("PMPI_", stringify!($name)), Int, ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
            collective!(concat!("MPI_", stringify!($name), "_c"), Large, ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm,
                concat!("MPI_", stringify!($name)));
            collective!(concat!("PMPI_", stringify!($name), "_c"), Large, ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm,
                concat!("PMPI_", stringify!($name)));
        };
        declare! { $($rest)* }
    };

    (guarded $name:ident($($argument:ident),*); $($rest:tt)*) => {
        guarded!(concat!("MPI_", stringify!($name)), ($($argument),*));
        guarded!(concat!("PMPI_", stringify!($name)), ($($argument),*));
        declare! { $($rest)* }
    };
    (guarded+c $name:ident($($argument:ident),*); $($rest:tt)*) => {
        guarded!(concat!("MPI_", stringify!($name)), ($($argument),*));
        guarded!(concat!("PMPI_", stringify!($name)), ($($argument),*));
        guarded!(concat!("MPI_", stringify!($name), "_c"), ($($argument),*), concat!("MPI_", stringify!($name)));
        guarded!(concat!("PMPI_", stringify!($name), "_c"), ($($argument),*), concat!("PMPI_", stringify!($name)));
        declare! { $($rest)* }
    };

    (observed $name:ident($($argument:ident),*) => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        observed!(concat!("MPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        observed!(concat!("PMPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        declare! { $($rest)* }
    };

    (lifecycle $name:ident($($argument:ident),*) => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        lifecycle!(concat!("MPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        lifecycle!(concat!("PMPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        declare! { $($rest)* }
    };
}

macro_rules! collective {
    ($symbol:expr, $width:ident, ($($argument:ident),*), $rule:ident($($significant:ident),*),
        ($(root $root:ident)? $(reduction $reduction:ident)?), $comm:ident $(, $plain:expr)?) => {
        export!($symbol, ($($argument),*), real => absent!(($($argument),*), forward => {
            let message = |thread| Message::<$width>::on(&FUNCTION, thread, $comm)
                $(.root($root))? $(.reduction($reduction))? .$rule($($significant),*);
            recorder::collective(message, forward)
        }, $symbol $(, $plain)?), forward => {
            let message = |thread| Message::<$width>::on(&FUNCTION, thread, $comm)
                $(.root($root))? $(.reduction($reduction))? .$rule($($significant),*);
            recorder::collective(message, forward)
        });
    };
}

macro_rules! guarded {
    ($symbol:expr, ($($argument:ident),*) $(, $plain:expr)?) => {
        export!($symbol, ($($argument),*),
            real => absent!(($($argument),*), forward => thread::guarded(forward), $symbol $(, $plain)?),
            forward => thread::guarded(forward));
    };
}

macro_rules! observed {
    ($symbol:expr, ($($argument:ident),*), $module:ident::$function:ident($($handed:ident),*)) => {
        export!($symbol, ($($argument),*), real => missing($symbol), forward => {
            if recorder::is_passing(thread::frame()) { forward() } else { $module::$function(forward, $($handed),*) }
        });
    };
}

macro_rules! lifecycle {
    ($symbol:expr, ($($argument:ident),*), $module:ident::$function:ident($($handed:ident),*)) => {
        export!($symbol, ($($argument),*), real => missing($symbol), forward => $module::$function(forward, $($handed),*));
    };
}

/// What stands for a function that the library at hand lacks: its plain form where it has one.
macro_rules! absent {
    (($($argument:ident),*), $forward:ident => $body:expr, $symbol:expr) => { missing($symbol) };
    (($($argument:ident),*), $forward:ident => $body:expr, $symbol:expr, $plain:expr) => {
        with_plain!($plain, ($($argument),*), $forward => $body)
    };
}

/// The result of a function that the MPI library at hand does not have: the program asked for it, and hears so.
#[cold]
fn missing(symbol: &str) -> c_int {
    crate::say::warn(&format!("the MPI library of this program has no {symbol}; the call returns MPI_ERR_OTHER"));
    abi::get().err_other
}

for_each_function!(declare);
