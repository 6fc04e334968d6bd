//! The exported functions, made from the table.

use std::ffi::c_int;

use mpitrace_format::layout::activity;
use mpitrace_functions::{Function, for_each_function, form, forms};

use crate::base::mode;
use crate::base::symbol::Symbol;
use crate::base::width::{Int, Large};
use crate::counters::message_counters;
use crate::exports::{communicators, error_handlers, files, windows};
use crate::identity::datatype;
use crate::identity::message_size::Message;
use crate::job::{lifecycle, sessions};
use crate::mpi::{abi, large_count};
use crate::record::{call_site, thread};
use crate::recorder::activity::Activity;
use crate::recorder::requests::{completion, outstanding};
use crate::recorder::{self, p2p};

/// Exports one function: `$body` runs with `$forward` calling the next definition of the same name. With `$into`,
/// `$forward` takes what is passed in place of that argument.
///
/// Every argument is a machine word, which is passed on as it came: in its register or on the stack. C++ exceptions
/// that an error handler throws pass through (`C-unwind`).
macro_rules! export {
    ($symbol:expr, ($($argument:ident),*), $real:ident => $absent:expr, $forward:ident($($into:ident)?) => $body:expr) => {
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
                let $forward = move |$($into: usize)?| unsafe {
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
    ($plain:expr, ($($argument:ident),*), ($forward:ident($($into:ident)?), $arrays:ident) => $body:expr) => {{
        static PLAIN: Symbol = Symbol::new(concat!($plain, "\0"));
        let Some(plain) = PLAIN.get() else { return missing($plain) };
        let names = [$(stringify!($argument)),*];
        let given = [$($argument),*];
        let mut arguments = given;
        let mut $arrays = large_count::Narrowed::default();
        if !$arrays.narrow($plain, &names, &mut arguments) {
            return large_count::refuse(&names, &given);
        }
        // SAFETY: the plain function takes as many words and returns an int; the arguments are the program's own but
        // for the narrowed arrays, which live until the call has returned, or its request is complete.
        #[allow(unused_variables, reason = "one of them may be replaced")]
        let $forward = move |$($into: usize)?| unsafe {
            let replaced = ($($into)?);
            let [$($argument),*] = arguments;
            $(let $into: usize = replaced;)?
            let plain: unsafe extern "C-unwind" fn($($argument: usize),*) -> c_int = std::mem::transmute(plain);
            plain($($argument),*)
        };
        $body
    }};
}

macro_rules! declare {
    () => {};

    (collective $name:ident, $started:ident($($argument:ident),*) => $rule:ident($($significant:ident),*)
        $(root $root:ident)? $(reduction $reduction:ident)? on $comm:ident
        as $pattern:ident $(otf2 $otf2:ident)? $(reprompi $reprompi:ident)?; $($rest:tt)*) => {
        const _: () = {
            const FORMS: [Function; 3] = forms!($name, $started, $rule, [$($root)?], [$($reduction)?], $comm, $pattern,
                [$($otf2)?], [$($reprompi)?]);
            collective!(blocking 0, $name, "", ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
            collective!(starting 1, $started, "", ($($argument,)* request),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
            collective!(preparing 2, $name, "_init", ($($argument,)* info, request),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
        };
        declare! { $($rest)* }
    };
    (collective+c $name:ident, $started:ident($($argument:ident),*) => $rule:ident($($significant:ident),*)
        $(root $root:ident)? $(reduction $reduction:ident)? on $comm:ident
        as $pattern:ident $(otf2 $otf2:ident)? $(reprompi $reprompi:ident)?; $($rest:tt)*) => {
        const _: () = {
            const FORMS: [Function; 3] = forms!($name, $started, $rule, [$($root)?], [$($reduction)?], $comm, $pattern,
                [$($otf2)?], [$($reprompi)?]);
            collective!(blocking+c 0, $name, "", ($($argument),*),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
            collective!(starting+c 1, $started, "", ($($argument,)* request),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
            collective!(preparing+c 2, $name, "_init", ($($argument,)* info, request),
                $rule($($significant),*), ($(root $root)? $(reduction $reduction)?), $comm);
        };
        declare! { $($rest)* }
    };

    (blocking $name:ident($($argument:ident),*) => $rule:ident($($significant:ident),*)
        $(root $root:ident)? on $place:tt as $pattern:ident $(with $module:ident::$observer:ident($($handed:ident),*))?;
        $($rest:tt)*) => {
        const _: () = {
            static FUNCTION: Function = form!(Blocking, $name, $name, $rule, [$($root)?], $place, $pattern);
            single!(blocking, concat!("MPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*),
                ($(root $root)?), $place, ($($module::$observer($($handed),*))?));
            single!(blocking, concat!("PMPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*),
                ($(root $root)?), $place, ($($module::$observer($($handed),*))?));
        };
        declare! { $($rest)* }
    };
    (blocking+c $name:ident($($argument:ident),*) => $rule:ident($($significant:ident),*)
        on $place:tt as $pattern:ident $(with $module:ident::$observer:ident($($handed:ident),*))?; $($rest:tt)*) => {
        const _: () = {
            static FUNCTION: Function = form!(Blocking, $name, $name, $rule, [], $place, $pattern);
            single!(blocking, concat!("MPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*),
                (), $place, ($($module::$observer($($handed),*))?));
            single!(blocking, concat!("PMPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*),
                (), $place, ($($module::$observer($($handed),*))?));
            single!(blocking, concat!("MPI_", stringify!($name), "_c"), Large, ($($argument),*),
                $rule($($significant),*), (), $place, ($($module::$observer($($handed),*))?),
                concat!("MPI_", stringify!($name)));
            single!(blocking, concat!("PMPI_", stringify!($name), "_c"), Large, ($($argument),*),
                $rule($($significant),*), (), $place, ($($module::$observer($($handed),*))?),
                concat!("PMPI_", stringify!($name)));
        };
        declare! { $($rest)* }
    };
    (nonblocking $name:ident($($argument:ident),*) of $blocking:ident $(or $other:ident($($passed:ident),*))?
        => $rule:ident($($significant:ident),*) on $place:tt as $pattern:ident
        with $module:ident::$observer:ident($($handed:ident),*); $($rest:tt)*) => {
        const _: () = {
            static FUNCTION: Function = form!(NonBlocking, $name, $blocking, $rule, [], $place, $pattern);
            managed!(concat!("MPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*), (), $place,
                $module::$observer($($handed),*) $(, concat!("MPI_", stringify!($other)), ($($passed),*))?);
            managed!(concat!("PMPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*), (), $place,
                $module::$observer($($handed),*) $(, concat!("PMPI_", stringify!($other)), ($($passed),*))?);
        };
        declare! { $($rest)* }
    };
    (nonblocking+c $name:ident($($argument:ident),*) of $blocking:ident
        => $rule:ident($($significant:ident),*) on $place:tt as $pattern:ident; $($rest:tt)*) => {
        const _: () = {
            static FUNCTION: Function = form!(NonBlocking, $name, $blocking, $rule, [], $place, $pattern);
            single!(starting, concat!("MPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*),
                (), $place, ());
            single!(starting, concat!("PMPI_", stringify!($name)), Int, ($($argument),*), $rule($($significant),*),
                (), $place, ());
            single!(starting, concat!("MPI_", stringify!($name), "_c"), Large, ($($argument),*),
                $rule($($significant),*), (), $place, (), concat!("MPI_", stringify!($name)));
            single!(starting, concat!("PMPI_", stringify!($name), "_c"), Large, ($($argument),*),
                $rule($($significant),*), (), $place, (), concat!("PMPI_", stringify!($name)));
        };
        declare! { $($rest)* }
    };

    (guarded $name:ident($($argument:ident),*); $($rest:tt)*) => {
        guarded!($name, concat!("MPI_", stringify!($name)), ($($argument),*));
        guarded!($name, concat!("PMPI_", stringify!($name)), ($($argument),*));
        declare! { $($rest)* }
    };
    (guarded+c $name:ident($($argument:ident),*); $($rest:tt)*) => {
        guarded!($name, concat!("MPI_", stringify!($name)), ($($argument),*));
        guarded!($name, concat!("PMPI_", stringify!($name)), ($($argument),*));
        guarded!($name, concat!("MPI_", stringify!($name), "_c"), ($($argument),*), concat!("MPI_", stringify!($name)));
        guarded!($name, concat!("PMPI_", stringify!($name), "_c"), ($($argument),*), concat!("PMPI_", stringify!($name)));
        declare! { $($rest)* }
    };

    (observed $name:ident($($argument:ident),*) => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        observed!($name, concat!("MPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        observed!($name, concat!("PMPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        declare! { $($rest)* }
    };

    (completing $name:ident($($argument:ident),*) $(into $into:ident)?
        => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        of_requests!($name, concat!("MPI_", stringify!($name)), ($($argument),*), ($($into)?),
            completion::any_outstanding, $module::$function($($handed),*));
        of_requests!($name, concat!("PMPI_", stringify!($name)), ($($argument),*), ($($into)?),
            completion::any_outstanding, $module::$function($($handed),*));
        declare! { $($rest)* }
    };
    (freeing $name:ident($($argument:ident),*) => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        of_requests!($name, concat!("MPI_", stringify!($name)), ($($argument),*), (),
            outstanding::any_known, $module::$function($($handed),*));
        of_requests!($name, concat!("PMPI_", stringify!($name)), ($($argument),*), (),
            outstanding::any_known, $module::$function($($handed),*));
        declare! { $($rest)* }
    };
    (starting $name:ident($($argument:ident),*) => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        of_requests!($name, concat!("MPI_", stringify!($name)), ($($argument),*), (),
            outstanding::any_prepared, $module::$function($($handed),*));
        of_requests!($name, concat!("PMPI_", stringify!($name)), ($($argument),*), (),
            outstanding::any_prepared, $module::$function($($handed),*));
        declare! { $($rest)* }
    };

    (counted $name:ident($($argument:ident),*) $(into $into:ident)?
        => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        counted!($name, concat!("MPI_", stringify!($name)), Int, ($($argument),*), ($($into)?), $module::$function($($handed),*));
        counted!($name, concat!("PMPI_", stringify!($name)), Int, ($($argument),*), ($($into)?), $module::$function($($handed),*));
        declare! { $($rest)* }
    };
    (counted+c $name:ident($($argument:ident),*) $(into $into:ident)?
        => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        counted!($name, concat!("MPI_", stringify!($name)), Int, ($($argument),*), ($($into)?), $module::$function($($handed),*));
        counted!($name, concat!("PMPI_", stringify!($name)), Int, ($($argument),*), ($($into)?), $module::$function($($handed),*));
        counted!($name, concat!("MPI_", stringify!($name), "_c"), Large, ($($argument),*), ($($into)?),
            $module::$function($($handed),*), concat!("MPI_", stringify!($name)));
        counted!($name, concat!("PMPI_", stringify!($name), "_c"), Large, ($($argument),*), ($($into)?),
            $module::$function($($handed),*), concat!("PMPI_", stringify!($name)));
        declare! { $($rest)* }
    };

    (forwarded $name:ident($($argument:ident),*); $($rest:tt)*) => {
        forwarded!($name, concat!("MPI_", stringify!($name)), ($($argument),*));
        forwarded!($name, concat!("PMPI_", stringify!($name)), ($($argument),*));
        declare! { $($rest)* }
    };

    (handling $name:ident($($argument:ident),*) into $into:ident => $module:ident::$function:ident($($handed:ident),*);
        $($rest:tt)*) => {
        handling!(concat!("MPI_", stringify!($name)), ($($argument),*), $into, $module::$function($($handed),*));
        handling!(concat!("PMPI_", stringify!($name)), ($($argument),*), $into, $module::$function($($handed),*));
        declare! { $($rest)* }
    };

    (lifecycle $name:ident($($argument:ident),*) => $module:ident::$function:ident($($handed:ident),*); $($rest:tt)*) => {
        lifecycle!(concat!("MPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        lifecycle!(concat!("PMPI_", stringify!($name)), ($($argument),*), $module::$function($($handed),*));
        declare! { $($rest)* }
    };
}

/// One form of a collective, the one at `$place` in `FORMS`: both of its names, in both widths with `+c`. The form's
/// name is the given one with `$ending`.
macro_rules! collective {
    ($form:ident $place:literal, $name:ident, $ending:literal, $arguments:tt, $rule:ident $significant:tt, $roles:tt, $comm:ident) => {
        const _: () = {
            static FUNCTION: Function = FORMS[$place];
    recorded!($form, concat!("MPI_", stringify!($name), $ending), Int, $arguments, $rule $significant, $roles,
                $comm);
    recorded!($form, concat!("PMPI_", stringify!($name), $ending), Int, $arguments, $rule $significant, $roles,
                $comm);
        };
    };
    ($form:ident+c $place:literal, $name:ident, $ending:literal, $arguments:tt, $rule:ident $significant:tt, $roles:tt, $comm:ident) => {
        const _: () = {
            static FUNCTION: Function = FORMS[$place];
    recorded!($form, concat!("MPI_", stringify!($name), $ending), Int, $arguments, $rule $significant, $roles,
                $comm);
    recorded!($form, concat!("PMPI_", stringify!($name), $ending), Int, $arguments, $rule $significant, $roles,
                $comm);
    recorded!($form, concat!("MPI_", stringify!($name), $ending, "_c"), Large, $arguments, $rule $significant,
                $roles, $comm, concat!("MPI_", stringify!($name), $ending));
    recorded!($form, concat!("PMPI_", stringify!($name), $ending, "_c"), Large, $arguments, $rule $significant,
                $roles, $comm, concat!("PMPI_", stringify!($name), $ending));
        };
    };
}

/// One exported name of a collective.
macro_rules! recorded {
    ($form:ident, $symbol:expr, $width:ident, ($($argument:ident),*), $rule:ident($($significant:ident),*),
        ($(root $root:ident)? $(reduction $reduction:ident)?), $comm:tt $(, $plain:expr)?) => {
        export!($symbol, ($($argument),*), real => absent!(($($argument),*), (forward(), arrays) => {
            let (_, site) = site!();
            let message = move |thread| on!($width, thread, $comm).at(site)
                $(.root($root))? $(.reduction($reduction))? .$rule($($significant),*);
            // Beside the arrays' narrowing the plain way would save nothing.
            record!($form, false, message, forward, arrays, $comm, ($($argument),*))
        }, $symbol $(, $plain)?), forward() => {
            let (plain, site) = site!();
            let message = move |thread| on!($width, thread, $comm).at(site)
                $(.root($root))? $(.reduction($reduction))? .$rule($($significant),*);
            record!($form, plain, message, forward, no_arrays!($form), $comm, ($($argument),*))
        });
    };
}

/// What a call is on.
macro_rules! on {
    ($width:ident, $thread:ident, (new $made:ident)) => {
        Message::<$width>::on_new(&FUNCTION, $thread)
    };
    ($width:ident, $thread:ident, (window $window:ident)) => {
        Message::<$width>::on_window(&FUNCTION, $thread, $window)
    };
    ($width:ident, $thread:ident, (file $file:ident)) => {
        Message::<$width>::on_file(&FUNCTION, $thread, $file)
    };
    ($width:ident, $thread:ident, (at $place:ident)) => {
        Message::<$width>::on(&FUNCTION, $thread, abi::get().read($place)).freeing()
    };
    ($width:ident, $thread:ident, (window at $place:ident)) => {
        Message::<$width>::on_window(&FUNCTION, $thread, abi::get().read($place)).freeing()
    };
    ($width:ident, $thread:ident, (file at $place:ident)) => {
        Message::<$width>::on_file(&FUNCTION, $thread, files::at($place)).freeing()
    };
    ($width:ident, $thread:ident, $comm:ident) => {
        Message::<$width>::on(&FUNCTION, $thread, $comm)
    };
}

/// One exported name of a function that is recorded and has one form, with the function of ours that has to see the
/// call, if there is one.
macro_rules! single {
    ($form:ident, $symbol:expr, $width:ident, $arguments:tt, $rule:ident $significant:tt, $roles:tt, $place:tt, ()
        $(, $plain:expr)?) => {
        recorded!($form, $symbol, $width, $arguments, $rule $significant, $roles, $place $(, $plain)?);
    };
    ($form:ident, $symbol:expr, $width:ident, ($($argument:ident),*), $rule:ident($($significant:ident),*),
        ($(root $root:ident)?), $place:tt, ($module:ident::$observer:ident($($handed:ident),*)) $(, $plain:expr)?) => {
        export!($symbol, ($($argument),*), real => absent!(($($argument),*), (forward(), arrays) => {
            // The arrays live until the call has returned.
            let _arrays = arrays;
            observe!($width, forward, $rule($($significant),*), ($(root $root)?), $place,
                $module::$observer($($handed),*))
        }, $symbol $(, $plain)?), forward() => {
            observe!($width, forward, $rule($($significant),*), ($(root $root)?), $place,
                $module::$observer($($handed),*))
        });
    };
}

/// The same, with another function that is called over a library that lacks this one.
macro_rules! managed {
    ($symbol:expr, $width:ident, ($($argument:ident),*), $rule:ident($($significant:ident),*), ($(root $root:ident)?),
        $place:tt, $module:ident::$observer:ident($($handed:ident),*) $(, $other:expr, ($($passed:ident),*))?) => {
        export!($symbol, ($($argument),*), real => other!($symbol, forward => {
            observe!($width, forward, $rule($($significant),*), ($(root $root)?), $place,
                $module::$observer($($handed),*))
        } $(, $other, ($($passed),*))?), forward() => {
            observe!($width, forward, $rule($($significant),*), ($(root $root)?), $place,
                $module::$observer($($handed),*))
        });
    };
}

/// Hands a call to a function of ours, with what describes it and with what forwards it.
macro_rules! observe {
    ($width:ident, $forward:ident, $rule:ident($($significant:ident),*), ($(root $root:ident)?), $place:tt,
        $module:ident::$observer:ident($($handed:ident),*)) => {{
        if !mode::is_on() {
            return $forward();
        }
        let (_, site) = site!();
        let message =
            move |thread| on!($width, thread, $place).at(site)$(.root($root))?.$rule($($significant),*);
        unhidden!($forward() => $module::$observer(message, $forward, $($handed),*))
    }};
}

/// Runs `$body` with a `$forward` that returns an error code where the call has failed, also where the library returns
/// MPI_SUCCESS then. The program gets what the library returned.
macro_rules! unhidden {
    ($forward:ident($($into:ident)?) => $body:expr) => {{
        let hidden = error_handlers::Hidden::default();
        let $forward = |$($into: usize)?| hidden.outcome(move || $forward($($into)?));
        let outcome = $body;
        hidden.result(outcome)
    }};
}

/// Whether calls are recorded in the plain way; and from where in the program this wrapper was called, where that is
/// asked for: then they are not.
macro_rules! site {
    () => {{
        static DISTANCE: call_site::Distance = call_site::Distance::unknown();
        let plain = mode::is_plain();
        let here = thread::frame();
        let asked = !plain && call_site::asked() && !thread::is_nested(here);
        (plain, if asked { call_site::number(here, &DISTANCE) } else { 0 })
    }};
}

/// How a form is recorded.
macro_rules! record {
    (blocking, $plain:expr, $message:expr, $forward:expr, $arrays:expr, $comm:tt, $arguments:tt) => {{
        // The arrays live until the call has returned.
        let _arrays = $arrays;
        recorder::collective($plain, $message, $forward)
    }};
    (starting, $plain:expr, $message:expr, $forward:expr, $arrays:expr, $comm:tt, ($($argument:ident),*)) => {{
        let _ = $plain;
        outstanding::start(&$message, &$forward, $arrays, last!($($argument),*))
    }};
    (preparing, $plain:expr, $message:expr, $forward:expr, $arrays:expr, $comm:ident, ($($argument:ident),*)) => {{
        let _ = $plain;
        let forward = $forward;
        unhidden!(forward() => outstanding::prepare(&$message, &forward, $arrays, $comm, last!($($argument),*)))
    }};
}

/// What stands for narrowed arrays where none are needed: nothing that a blocking call would have to carry about.
macro_rules! no_arrays {
    (blocking) => {
        ()
    };
    ($form:ident) => {
        large_count::Narrowed::default()
    };
}

macro_rules! last {
    ($last:ident) => { $last };
    ($first:ident, $($rest:ident),+) => { last!($($rest),+) };
}

macro_rules! guarded {
    ($name:ident, $symbol:expr, ($($argument:ident),*) $(, $plain:expr)?) => {
        export!($symbol, ($($argument),*),
            real => absent!(($($argument),*), (forward(), arrays) => {
                // Only counts are narrowed here: input and output and windows take no arrays of them.
                drop(arrays);
                seen!(OTHER_MPI, $name, thread::guarded(forward))
            }, $symbol $(, $plain)?),
            forward() => seen!(OTHER_MPI, $name, thread::guarded(forward)));
    };
}

macro_rules! observed {
    ($name:ident, $symbol:expr, ($($argument:ident),*), $module:ident::$function:ident($($handed:ident),*)) => {
        export!($symbol, ($($argument),*), real => missing($symbol), forward() => {
            if mode::is_on() {
                unhidden!(forward() => seen!(OTHER_MPI, $name, $module::$function(forward, $($handed),*)))
            } else {
                forward()
            }
        });
    };
}

/// What stands for a function that the library at hand lacks: another one, where the table names one.
macro_rules! other {
    ($symbol:expr, $forward:ident => $body:expr) => { missing($symbol) };
    ($symbol:expr, $forward:ident => $body:expr, $other:expr, ($($passed:ident),*)) => {{
        static OTHER: Symbol = Symbol::new(concat!($other, "\0"));
        let Some(other) = OTHER.get() else { return missing($symbol) };
        // SAFETY: the function that stands in takes these words and returns an int; they are the program's own
        // arguments.
        let $forward = move || unsafe {
            let other: unsafe extern "C-unwind" fn($($passed: usize),*) -> c_int = std::mem::transmute(other);
            other($($passed),*)
        };
        $body
    }};
}

macro_rules! of_requests {
    ($name:ident, $symbol:expr, ($($argument:ident),*), ($($into:ident)?), $any:ident::$outstanding:ident,
        $module:ident::$function:ident($($handed:ident),*)) => {
        export!($symbol, ($($argument),*), real => missing($symbol), forward($($into)?) => {
            seen!(POINT_TO_POINT, $name, if $any::$outstanding() && !thread::is_nested(thread::frame()) {
                unhidden!(forward($($into)?) => $module::$function(forward, $($handed),*))
            } else {
                // MPICH's collective file access goes on in here, by collectives of its own.
                thread::guarded(move || forward($($into)?))
            })
        });
    };
}

macro_rules! counted {
    ($name:ident, $symbol:expr, $width:ident, ($($argument:ident),*), ($($into:ident)?),
        $module:ident::$function:ident($($handed:ident),*) $(, $plain:expr)?) => {
        export!($symbol, ($($argument),*), real => absent!(($($argument),*), (forward($($into)?), arrays) => {
            // There are none.
            drop(arrays);
            if_counting!($name, $width, forward($($into)?), $module::$function($($handed),*))
        }, $symbol $(, $plain)?), forward($($into)?) => {
            if_counting!($name, $width, forward($($into)?), $module::$function($($handed),*))
        });
    };
}

macro_rules! if_counting {
    ($name:ident, $width:ident, $forward:ident($($into:ident)?), $module:ident::$function:ident($($handed:ident),*)) => {
        around!(activity_of!($function), $name, $forward($($into)?), here =>
            if message_counters::counting() && !thread::is_nested(here) {
                unhidden!($forward($($into)?) => $module::$function::<$width>($forward, $($handed),*))
            } else {
                thread::during(move || $forward($($into)?))
            }
        )
    };
}

/// Forwards while the thread is seen to be in the function `MPI_$name`; by `$otherwise`, in a wrapper that stands at
/// `$here`, where there is more to do.
macro_rules! around {
    ($what:expr, $name:ident, $forward:ident($($into:ident)?), $here:ident => $otherwise:expr) => {{
        static ACTIVITY: Activity = Activity::new($what, concat!("MPI_", stringify!($name)));
        let $here = thread::frame();
        ACTIVITY.around($here, move || $forward($($into)?), move || ACTIVITY.during($here, move || $otherwise))
    }};
}

/// Runs `$call` while the thread is seen to be in the function `MPI_$name`.
macro_rules! seen {
    ($what:ident, $name:ident, $call:expr) => {{
        static ACTIVITY: Activity = Activity::new(activity::$what, concat!("MPI_", stringify!($name)));
        ACTIVITY.during(thread::frame(), move || $call)
    }};
}

/// What a thread does in a function that is counted in this way.
macro_rules! activity_of {
    (put) => {
        activity::OTHER_MPI
    };
    (got) => {
        activity::OTHER_MPI
    };
    (fetched) => {
        activity::OTHER_MPI
    };
    (fetched_one) => {
        activity::OTHER_MPI
    };
    (swapped) => {
        activity::OTHER_MPI
    };
    ($function:ident) => {
        activity::POINT_TO_POINT
    };
}

macro_rules! forwarded {
    ($name:ident, $symbol:expr, ($($argument:ident),*)) => {
        export!($symbol, ($($argument),*), real => missing($symbol), forward() => {
            around!(activity::POINT_TO_POINT, $name, forward(), here => {
                let _ = here;
                thread::during(forward)
            })
        });
    };
}

macro_rules! handling {
    ($symbol:expr, ($($argument:ident),*), $into:ident, $module:ident::$function:ident($($handed:ident),*)) => {
        export!($symbol, ($($argument),*), real => missing($symbol), forward($into) => {
            $module::$function(forward, $($handed),*)
        });
    };
}

macro_rules! lifecycle {
    ($symbol:expr, ($($argument:ident),*), $module:ident::$function:ident($($handed:ident),*)) => {
        export!($symbol, ($($argument),*), real => missing($symbol), forward() => $module::$function(forward, $($handed),*));
    };
}

/// What stands for a function that the library at hand lacks: its plain form where it has one.
macro_rules! absent {
    ($arguments:tt, $given:tt => $body:expr, $symbol:expr) => { missing($symbol) };
    ($arguments:tt, $given:tt => $body:expr, $symbol:expr, $plain:expr) => {
        with_plain!($plain, $arguments, $given => $body)
    };
}

/// The result of a function that the MPI library at hand does not have. Any result but 0 is an error; this one is what
/// mpi4py stands for "the library lacks it" with, and turns into the exception that it raises without the tracer.
const LACKING: c_int = 0xaaaa_aaaa_u32 as c_int;

/// Stands for a function that the MPI library at hand does not have: the program asked for it, and hears so.
#[cold]
fn missing(symbol: &str) -> c_int {
    crate::base::log::detail(&format!("the MPI library of this program has no {symbol}; the call returns an error"));
    LACKING
}

for_each_function!(declare);

/// One line of the table is enough for the tracer: an invented collective.
#[cfg(test)]
mod invented {
    use super::*;

    include!("../../../tests/table/invented.rs");

    for_each_invented!(declare);

    unsafe extern "C-unwind" {
        fn MPI_Inform(buffer: usize, count: usize, datatype: usize, op: usize, root: usize, comm: usize) -> c_int;
        fn PMPI_Whisper_c(
            buffer: usize,
            count: usize,
            datatype: usize,
            op: usize,
            root: usize,
            comm: usize,
            request: usize,
        ) -> c_int;
    }

    #[test]
    fn one_line_of_the_table_makes_all_wrappers() {
        // SAFETY: defined above; no library has such a function, so nothing looks at the arguments.
        let results = unsafe { [MPI_Inform(0, 0, 0, 0, 0, 0), PMPI_Whisper_c(0, 0, 0, 0, 0, 0, 0)] };
        assert_eq!(results, [LACKING; 2]);
    }
}
