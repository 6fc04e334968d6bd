//! The exported functions of a line of the table, as the text of Rust functions.
//!
//! Every argument is a machine word, which is passed on as it came: in its register or on the stack. C++ exceptions
//! that an error handler throws pass through (`C-unwind`).

use crate::functions;
use crate::line::{Call, Line};

/// Counts a call without a record that returned an error.
const FAILED: &str = "recorder::failed_without_record(thread::frame())";

/// The body of a wrapper: of a width (`Int` or `Large`), where the arguments of `forward` are narrowed or not.
type Body<'l> = Box<dyn Fn(&str, bool) -> String + 'l>;

/// One form of a function: with its name, its parameters and what is done at a call of it.
struct Form<'l> {
    line: &'l Line,
    /// Without `MPI_`.
    name: String,
    arguments: Vec<String>,
    body: Body<'l>,
}

pub fn of_line(line: &Line) -> String {
    let name = &line.name;
    let own = |body: Body<'_>| wrappers(&Form { line, name: name.clone(), arguments: line.parameters.clone(), body });
    let by_function = || call(&line.rule, "", "&forward");
    match line.kind.as_str() {
        "collective" | "blocking" | "nonblocking" => forms(line),
        "guarded" if line.waits.is_empty() => {
            own(Box::new(|_, _| in_activity(line, "OTHER_MPI", "thread::guarded(forward)")))
        }
        "guarded" => own(Box::new(|_, _| in_quick_activity(line, "OTHER_MPI", "thread::guarded(forward)"))),
        "observed" => own(Box::new(move |_, _| {
            let seen = in_activity(line, "OTHER_MPI", &format!("{} {}", stamped(line, "OTHER_MPI"), by_function()));
            format!("if !mode::is_on() {{ return forward(); }}\n{}", unhidden(line, &seen))
        })),
        "completing" if line.waits.is_empty() => own(Box::new(move |_, _| polling_requests(line))),
        "completing" => own(Box::new(move |_, _| of_requests(line, "outstanding::any_outstanding()"))),
        "freeing" => own(Box::new(move |_, _| {
            of_requests(line, "(outstanding::any_outstanding() || outstanding::any_prepared())")
        })),
        "starting" => own(Box::new(move |_, _| of_requests(line, "outstanding::any_prepared()"))),
        "counted" => own(Box::new(move |width, _| counted(line, width))),
        "forwarded" if is_polling(line) => own(Box::new(move |_, _| probing(line))),
        "forwarded" => {
            own(Box::new(move |_, _| in_quick_activity(line, "POINT_TO_POINT", &format!("forward({})", line.into))))
        }
        "local" => own(Box::new(move |_, _| {
            format!("{} ACTIVITY.alone(thread::frame(), &forward)", activity(line, "OTHER_MPI"))
        })),
        "handling" | "lifecycle" => own(Box::new(move |_, _| by_function())),
        kind => panic!("a line of the kind {kind}"),
    }
}

/// The forms of a function that is recorded.
fn forms(line: &Line) -> String {
    let forms = match line.kind.as_str() {
        "collective" => vec![
            ("blocking", line.name.clone(), &[][..]),
            ("starting", line.started.clone(), &["request"][..]),
            ("preparing", format!("{}_init", line.name), &["info", "request"][..]),
        ],
        "blocking" => vec![("blocking", line.name.clone(), &[][..])],
        _ => vec![("starting", line.name.clone(), &[][..])],
    };
    let constant = format!("{}_FORMS", line.name.to_uppercase());
    let mut code = format!("static {constant}: [Function; {}] = {};\n", forms.len(), functions::of_line(line));
    for (place, (form, name, more)) in forms.into_iter().enumerate() {
        let arguments = line.parameters.iter().cloned().chain(more.iter().map(|&word| word.to_owned())).collect();
        let function = format!("{constant}[{place}]");
        let body = Box::new(move |width: &str, narrowed: bool| match line.observer.path.is_empty() {
            true => recorded(line, &function, form, width, narrowed),
            false => observed(line, &function, width, narrowed),
        });
        code += &wrappers(&Form { line, name, arguments, body });
    }
    code
}

/// Both names of a form, in both widths with `+c`.
fn wrappers(form: &Form<'_>) -> String {
    let mut code = if form.line.large { narrowed(form) } else { String::new() };
    for prefix in ["MPI_", "PMPI_"] {
        let plain = format!("{prefix}{}", form.name);
        let lacking = if form.line.other.path.is_empty() {
            format!("return missing(\"{plain}\");")
        } else {
            another(form, prefix)
        };
        code += &wrapper(form, &plain, "Int", &lacking);
        if form.line.large {
            code += &wrapper(form, &format!("{plain}_c"), "Large", &narrowing(form, &plain));
        }
    }
    code
}

/// One exported function; `lacking`: what is done where the library has no function of this name.
fn wrapper(form: &Form<'_>, symbol: &str, width: &str, lacking: &str) -> String {
    let parameters: Vec<String> = form.arguments.iter().map(|name| format!("{name}: usize")).collect();
    format!(
        "/// `{symbol}`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern \"C-unwind\" fn {symbol}({}) -> c_int {{
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {{
        Some(real) => real,
        None => match REAL.find(c\"{symbol}\") {{
            Some(real) => real,
            None => {{ {lacking} }}
        }},
    }};
    {}
    {}
}}

",
        parameters.join(", "),
        forward(form, "real", &form.arguments, ""),
        followed(form, width, false),
    )
}

/// The body of a wrapper, and what comes behind a call that has returned well.
fn followed(form: &Form<'_>, width: &str, narrowed: bool) -> String {
    let Line { kind, around, then, .. } = form.line;
    let body = (form.body)(width, narrowed);
    let makes = !["completing", "freeing", "starting", "local"].contains(&kind.as_str()) && around.path.is_empty();
    // What records a call, or starts recorded ones, counts those that fail.
    let is_prepared = kind == "collective" && form.name.ends_with("_init");
    let is_counted = is_prepared || !form.line.is_recorded() && !["lifecycle", "starting"].contains(&kind.as_str());
    let failed = if is_counted { FAILED } else { "" };
    let next = if kind == "completing" && is_polling(form.line) {
        String::new()
    } else if !then.path.is_empty() {
        let has = |name: &str| then.arguments.iter().any(|argument| argument == name);
        let counts = has("count") && has("datatype") || has("sendcount");
        let generic = if counts { format!("::<{width}>") } else { String::new() };
        let name = then.path.starts_with("messages::").then(|| format!("&\"MPI_{}\"", form.name));
        let arguments: Vec<String> = name.into_iter().chain(then.arguments.iter().cloned()).collect();
        format!("{}{generic}({})", then.path, arguments.join(", "))
    } else if makes && form.arguments.iter().any(|argument| argument == "request") {
        "messages::no_message(request)".to_owned()
    } else {
        String::new()
    };
    let behind = [("== 0", &*next), ("!= 0", failed)].into_iter().filter(|(_, what)| !what.is_empty());
    let behind: String = behind.map(|(of, what)| format!("\n    if result {of} {{ {what} }}")).collect();
    if behind.is_empty() { body } else { format!("let result = {{ {body} }};{behind}\n    result") }
}

/// The closure that calls the function behind `pointer` with these arguments; with `into` it takes what is passed in
/// place of that argument. `first` comes before the call.
fn forward(form: &Form<'_>, pointer: &str, arguments: &[String], first: &str) -> String {
    let taken = taken(form.line);
    let words = vec!["usize"; arguments.len()].join(", ");
    let around = match form.line.around.path.is_empty() || is_polling(form.line) {
        true => String::new(),
        false => format!(
            "let here = thread::frame(); let forward = move |{taken}| {};",
            call(&form.line.around, "", "here, &forward")
        ),
    };
    format!(
        "///~ SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    ///~ or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move |{taken}| unsafe {{
        {first}
        let {pointer}: unsafe extern \"C-unwind\" fn({words}) -> c_int = std::mem::transmute({pointer});
        {pointer}({})
    }};
    {around}",
        arguments.join(", ")
    )
}

/// The parameter of what forwards a call.
fn taken(line: &Line) -> String {
    if line.into.is_empty() { String::new() } else { format!("{}: usize", line.into) }
}

/// The plain function in place of one with large counts, called with narrowed arguments: a function of its own behind
/// both names, and the call of it.
fn narrowed(form: &Form<'_>) -> String {
    let (names, into) = (form.arguments.join(", "), &form.line.into);
    let first = match into.is_empty() {
        true => format!("let [{names}] = arguments;"),
        false => format!("let replaced = {into}; let [{names}] = arguments; let _ = {into}; let {into} = replaced;"),
    };
    let quoted: Vec<String> = form.arguments.iter().map(|name| format!("\"{name}\"")).collect();
    let site = form.line.is_recorded().then(|| "site: Number".to_owned());
    let words = site.into_iter().chain(form.arguments.iter().map(|name| format!("{name}: usize")));
    format!(
        "#[cold]
#[inline(never)]
fn {}_narrowed(plain: *mut c_void, {}) -> c_int {{
    let (names, given) = ([{}], [{names}]);
    let (mut arguments, mut arrays) = (given, large_count::Narrowed::default());
    if !arrays.narrow(\"MPI_{}\", &names, &mut arguments) {{ return large_count::refuse(&names, &given) }}
    {}
    {}
}}

",
        form.name,
        words.collect::<Vec<String>>().join(", "),
        quoted.join(", "),
        form.name,
        forward(form, "plain", &form.arguments, &first),
        followed(form, "Large", true),
    )
}

fn narrowing(form: &Form<'_>, plain: &str) -> String {
    let (located, site) = if form.line.is_recorded() { (located("_", false), "site, ") } else { (String::new(), "") };
    format!(
        "static PLAIN: Symbol = Symbol::new();
        let Some(plain) = PLAIN.get(c\"{plain}\") else {{ return missing(\"{plain}\") }};
        {located}
        return {}_narrowed(plain, {site}{});",
        form.name,
        form.arguments.join(", "),
    )
}

fn another(form: &Form<'_>, prefix: &str) -> String {
    let Call { path, arguments } = &form.line.other;
    format!(
        "static OTHER: Symbol = Symbol::new();
        let Some(other) = OTHER.get(c\"{prefix}{path}\") else {{ return missing(\"{prefix}{}\") }};
        {}
        {}
        return {{ {} }};",
        form.name,
        located("_", false),
        forward(form, "other", arguments, ""),
        followed(form, "Int", true),
    )
}

/// The description of a call, by what it is on and by the rule of its message size.
fn message(line: &Line, function: &str, width: &str) -> String {
    let on: Vec<&str> = line.on.iter().map(String::as_str).collect();
    let place = match on[..] {
        [comm] => format!("on_communicator(&{function}, thread, {comm})"),
        ["new", _] => format!("on_new(&{function}, thread)"),
        ["window", window] => format!("on_window(&{function}, thread, {window})"),
        ["file", file] => format!("on_file(&{function}, thread, {file})"),
        ["at", address] => format!("on_communicator(&{function}, thread, abi::get().read({address})).freeing()"),
        ["window", "at", address] => format!("on_window(&{function}, thread, abi::get().read({address})).freeing()"),
        ["file", "at", address] => format!("on_file(&{function}, thread, files::read({address})).freeing()"),
        _ => panic!("a call on {on:?}"),
    };
    let root = if line.root.is_empty() { String::new() } else { format!(".root({})", line.root) };
    let reduction = if line.reduction.is_empty() { String::new() } else { format!(".reduction({})", line.reduction) };
    let size = format!("{}({})", line.rule.path, line.rule.arguments.join(", "));
    format!("let message = move |thread| Message::<{width}>::{place}.called_at(site){root}{reduction}.{size};")
}

/// Records a call; `narrowed`: with narrowed arrays, beside whose making the plain way would save nothing.
fn recorded(line: &Line, function: &str, form: &str, width: &str, narrowed: bool) -> String {
    let arrays = if narrowed { "arrays" } else { "large_count::Narrowed::default()" };
    let record = match (form, narrowed) {
        ("blocking", false) => "recorder::collective(plain, message, forward)".to_owned(),
        // The arrays live until the call has returned.
        ("blocking", true) => {
            "let _arrays = arrays;\n    recorder::collective_aside(thread::frame(), message, forward)".to_owned()
        }
        ("starting", _) => format!("outstanding::start(&message, &forward, {arrays}, request)"),
        _ => {
            let prepare = format!("outstanding::prepare(&message, &forward, {arrays}, {}, request)", line.on[0]);
            unhidden(line, &prepare)
        }
    };
    let plain = if form == "blocking" && !narrowed { "plain" } else { "_" };
    format!("{}\n    {}\n    {record}", located(plain, narrowed), message(line, function, width))
}

/// Finds if the call is `plain`, and its `site`; a narrowed call has been given that.
fn located(plain: &str, narrowed: bool) -> String {
    match narrowed {
        true => String::new(),
        false => format!("static DISTANCE: Distance = Distance::unknown(); let ({plain}, site) = site(&DISTANCE);"),
    }
}

/// Hands a call to a function of ours, with what describes it and with what forwards it.
fn observed(line: &Line, function: &str, width: &str, narrowed: bool) -> String {
    format!(
        "if !mode::is_on() {{ return forward(); }}
    {}
    {}
    {}",
        located("_", narrowed),
        message(line, function, width),
        unhidden(line, &call(&line.observer, "", "&message, &forward"))
    )
}

fn call(Call { path, arguments }: &Call, generic: &str, first: &str) -> String {
    let arguments: Vec<&str> = std::iter::once(first).chain(arguments.iter().map(String::as_str)).collect();
    format!("{path}{generic}({})", arguments.join(", "))
}

/// Runs `body` with a `forward` that returns an error code where the call has failed, also where the library returns
/// MPI_SUCCESS then. The program gets what the library returned.
fn unhidden(line: &Line, body: &str) -> String {
    let (into, taken) = (&line.into, taken(line));
    format!(
        "let hidden = Hidden::default();
    let forward = |{taken}| hidden.outcome(&|| forward({into}));
    let outcome = {body};
    hidden.result(outcome)"
    )
}

fn in_activity(line: &Line, what: &str, body: &str) -> String {
    format!(
        "{{ {} let (here, activity) = (thread::frame(), &ACTIVITY); activity.run(here, || {{ {body} }}) }}",
        activity(line, what)
    )
}

fn activity(line: &Line, what: &str) -> String {
    let class = match line.waits.as_str() {
        "" => "None".to_owned(),
        class => format!("Some(wait_class::{})", class.to_uppercase()),
    };
    format!("static ACTIVITY: Activity = Activity::new(activity::{what}, \"MPI_{}\", {class});", line.name)
}

fn in_quick_activity(line: &Line, what: &str, otherwise: &str) -> String {
    format!(
        "{}
    let (here, activity) = (thread::frame(), &ACTIVITY);
    activity.run_or(here, {}, move || forward({}), move || {{ {} {otherwise} }})",
        activity(line, what),
        !line.waits.is_empty(),
        line.into,
        stamped(line, what),
    )
}

/// Gives what calls the function time stamps, where its calls can wait or may be recorded.
fn stamped(line: &Line, what: &str) -> String {
    let (into, taken) = (&line.into, taken(line));
    let by = match (line.waits.as_str(), what) {
        ("", "POINT_TO_POINT") => "kept",
        ("", _) => return String::new(),
        _ => "stamped",
    };
    format!("let forward = move |{taken}| activity.{by}(here, || forward({into}));")
}

/// A call for requests: handed to a function of ours while any are known.
fn of_requests(line: &Line, any: &str) -> String {
    let ours = unhidden(line, &call(&line.rule, "", "&forward"));
    let followed = format!("{any} && !thread::is_nested(thread::frame())");
    // MPICH's collective file access goes on in here, by collectives of its own.
    let guarded = format!("thread::guarded(move || forward({}))", line.into);
    let other = match line.kind.as_str() {
        "starting" => format!("let result = {guarded}; if result != 0 {{ {FAILED} }} result"),
        _ => guarded,
    };
    if line.waits.is_empty() {
        let kept = format!("activity.kept(here, || if {followed} {{ {ours} }} else {{ {other} }})");
        return in_activity(line, "POINT_TO_POINT", &kept);
    }
    let ours = in_activity(line, "POINT_TO_POINT", &format!("activity.kept(here, || {{ {ours} }})"));
    format!("if {followed} {{ {ours} }} else {{ {} }}", in_quick_activity(line, "POINT_TO_POINT", &other))
}

/// True if calls of the function may find nothing, and return at once.
fn is_polling(line: &Line) -> bool {
    let is_probe = line.kind == "forwarded" && line.parameters.iter().any(|name| name == "flag");
    is_probe || line.kind == "completing" && line.waits.is_empty()
}

/// A test of requests. Both ways of it see the requests in an array: one that is passed by value lies in a parameter.
fn polling_requests(line: &Line) -> String {
    let array = line.rule.arguments.join(", ");
    let is_by_value = line.name == "Request_get_status";
    let by_value = if is_by_value { "let request = (&raw const request).expose_provenance();" } else { "" };
    let [mut around, mut then] = [&line.around.path, &line.then.path].map(String::clone);
    if !around.is_empty() {
        around.insert_str(0, "let forward = |statuses: usize| ");
        around.push_str("(here, |statuses| forward(statuses), Array { statuses, ..array });");
    }
    if !then.is_empty() {
        then = format!("if result == 0 {{ {then}(array) }}");
    }
    format!(
        "{{ {} let (here, activity) = (thread::frame(), &ACTIVITY); {by_value}
    polls::requests(here, activity, move || {array}, forward, move |forward: &dyn Fn(usize) -> c_int, array: &Array| {{
        let array = *array;
        {around}
        let result = activity.kept(here, || {{
            if !outstanding::any_outstanding() || thread::is_nested(here) {{
                return thread::guarded(|| forward(array.statuses));
            }}
            let hidden = Hidden::default();
            let outcome = {}(&|statuses: usize| hidden.outcome(&|| forward(statuses)), array);
            hidden.result(outcome)
        }});
        {then}
        result
    }}) }}",
        activity(line, "POINT_TO_POINT"),
        line.rule.path,
    )
}

fn probing(line: &Line) -> String {
    format!(
        "{} let (here, activity) = (thread::frame(), &ACTIVITY);
    let slow = move || activity.kept(here, || thread::guarded(forward));
    polls::probe(here, activity, [source, tag, comm, flag, status], forward, slow)",
        activity(line, "POINT_TO_POINT"),
    )
}

/// A message: counted where that is asked for.
fn counted(line: &Line, width: &str) -> String {
    let one_sided = ["put", "got", "fetched", "fetched_one", "swapped"];
    let function = line.rule.path.rsplit("::").next().unwrap_or_default();
    let what = if one_sided.contains(&function) { "OTHER_MPI" } else { "POINT_TO_POINT" };
    let ours = unhidden(line, &call(&line.rule, &format!("::<{width}>"), "&forward"));
    let otherwise = format!(
        "if message_counters::counting() && !thread::is_nested(here) {{ {ours} }} else {{ forward({}) }}",
        line.into
    );
    in_quick_activity(line, what, &otherwise)
}
