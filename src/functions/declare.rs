//! From a line of the table to what it says, as data.

/// Makes lines of the table to a `&[&[Function]]`: for each line the functions that it declares as recorded.
#[macro_export]
macro_rules! functions {
    ($($kind:ident $(+ $large:ident)? $name:ident $(, $started:ident)? ($($argument:ident),*) $(of $blocking:ident)?
        $(or $other:ident($($passed:ident),*))? $(into $into:ident)?
        $(=> $($rule:ident)::+($($significant:ident),*))?
        $(around $outer:ident::$waits:ident($($told:ident),*))?
        $(then $follower:ident::$follows:ident($($seen:ident),*))?
        $(root $root:ident)? $(reduction $reduction:ident)? $(on $comm:tt)?
        $(as $pattern:ident)? $(otf2 $otf2:ident)? $(reprompi $reprompi:ident)?
        $(with $module:ident::$observer:ident($($handed:ident),*))? $(waits $class:ident)?;)*) => {
        &[$($crate::functions_of_line!($kind $name [$($started)?] [$($($rule)::+)?] [$($root)?] [$($reduction)?]
            [$($comm)?] [$($pattern)?] [$($otf2)?] [$($reprompi)?] [$($blocking)?])),*]
    };
}

/// One line: a collective has three forms, others that are recorded have one; of the other kinds nothing is recorded.
#[doc(hidden)]
#[macro_export]
macro_rules! functions_of_line {
    (collective $name:ident [$started:ident] [$rule:ident] $root:tt $reduction:tt [$comm:tt] [$pattern:ident]
        $otf2:tt $reprompi:tt []) => {
        &$crate::forms!($name, $started, $rule, $root, $reduction, $comm, $pattern, $otf2, $reprompi)
    };
    (blocking $name:ident [] [$rule:ident] $root:tt $reduction:tt [$comm:tt] [$pattern:ident] [] [] []) => {
        &[$crate::form!(Blocking, $name, $name, $rule, $root, $comm, $pattern)]
    };
    (nonblocking $name:ident [] [$rule:ident] $root:tt $reduction:tt [$comm:tt] [$pattern:ident] [] [] [$blocking:ident]) => {
        &[$crate::form!(NonBlocking, $name, $blocking, $rule, $root, $comm, $pattern)]
    };
    ($kind:ident $name:ident $($anything:tt)*) => {
        &[]
    };
}

/// The only form of a function that has no others, a `Function`.
#[macro_export]
macro_rules! form {
    ($form:ident, $name:ident, $blocking:ident, $rule:ident, [$($root:ident)?], $comm:tt, $pattern:ident) => {
        $crate::Function {
            name: concat!("MPI_", stringify!($name)),
            form: $crate::Form::$form,
            blocking: concat!("MPI_", stringify!($blocking)),
            pattern: $crate::words::pattern::$pattern,
            size: $crate::words::size::$rule,
            root: $crate::word!($($root)?),
            reduction: None,
            communicator: $crate::place!($comm),
            otf2: None,
            reprompi: None,
        }
    };
}

/// The parameter that says what a call is on.
#[doc(hidden)]
#[macro_export]
macro_rules! place {
    ($comm:ident) => {
        stringify!($comm)
    };
    (($kind:ident at $place:ident)) => {
        stringify!($place)
    };
    (($kind:ident $place:ident)) => {
        stringify!($place)
    };
}

/// The blocking, the non-blocking and the persistent form of a collective, a `[Function; 3]`.
#[macro_export]
macro_rules! forms {
    ($name:ident, $started:ident, $rule:ident, [$($root:ident)?], [$($reduction:ident)?], $comm:tt, $pattern:ident,
        [$($otf2:ident)?], [$($reprompi:ident)?]) => {{
        const BLOCKING: $crate::Function = $crate::Function {
            name: concat!("MPI_", stringify!($name)),
            form: $crate::Form::Blocking,
            blocking: concat!("MPI_", stringify!($name)),
            pattern: $crate::words::pattern::$pattern,
            size: $crate::words::size::$rule,
            root: $crate::word!($($root)?),
            reduction: $crate::word!($($reduction)?),
            communicator: $crate::place!($comm),
            otf2: $crate::word!($($otf2)?),
            reprompi: $crate::word!($($reprompi)?),
        };
        [
            BLOCKING,
            $crate::Function {
                name: concat!("MPI_", stringify!($started)),
                form: $crate::Form::NonBlocking,
                ..BLOCKING
            },
            $crate::Function {
                name: concat!("MPI_", stringify!($name), "_init"),
                form: $crate::Form::Persistent,
                ..BLOCKING
            },
        ]
    }};
}

/// A word that may be missing.
#[doc(hidden)]
#[macro_export]
macro_rules! word {
    () => {
        None
    };
    ($word:ident) => {
        Some(stringify!($word))
    };
}
