// One wrapper of each kind of line, as the build makes it of src/functions/functions.table: for reading only. build.rs
// writes all of them to wrappers.rs in cargo's folder for generated code. A test of interpose/src/exports/wrappers.rs
// fails while this file is not what the build makes.

// lifecycle Init

/// `MPI_Init`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Init(argc: usize, argv: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Init") {
                Some(real) => real,
                None => {
                    return missing("MPI_Init");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(argc, argv)
    };
    lifecycle::init(&forward)
}

// collective Bcast

static BCAST_FORMS: [Function; 3] = [
    Function {
        name: "MPI_Bcast",
        form: Form::Blocking,
        blocking: "MPI_Bcast",
        pattern: Pattern::OneToAll,
        size: Size::Block,
        root: Some("root"),
        reduction: None,
        communicator: "comm",
        is_on_file: false,
        otf2: Some("BCAST"),
        reprompi: Some("MPI_Bcast"),
    },
    Function {
        name: "MPI_Ibcast",
        form: Form::NonBlocking,
        blocking: "MPI_Bcast",
        pattern: Pattern::OneToAll,
        size: Size::Block,
        root: Some("root"),
        reduction: None,
        communicator: "comm",
        is_on_file: false,
        otf2: Some("BCAST"),
        reprompi: Some("MPI_Bcast"),
    },
    Function {
        name: "MPI_Bcast_init",
        form: Form::Persistent,
        blocking: "MPI_Bcast",
        pattern: Pattern::OneToAll,
        size: Size::Block,
        root: Some("root"),
        reduction: None,
        communicator: "comm",
        is_on_file: false,
        otf2: Some("BCAST"),
        reprompi: Some("MPI_Bcast"),
    },
];

#[cold]
#[inline(never)]
fn Bcast_narrowed(
    plain: *mut c_void,
    site: Number,
    buffer: usize,
    count: usize,
    datatype: usize,
    root: usize,
    comm: usize,
) -> c_int {
    let (names, given) = (
        ["buffer", "count", "datatype", "root", "comm"],
        [buffer, count, datatype, root, comm],
    );
    let (mut arguments, mut arrays) = (given, large_count::Narrowed::default());
    if !arrays.narrow("MPI_Bcast", &names, &mut arguments) {
        return large_count::refuse(&names, &given);
    }
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let [buffer, count, datatype, root, comm] = arguments;
        let plain: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(plain);
        plain(buffer, count, datatype, root, comm)
    };
    let message = move |thread| {
        Message::<Large>::on_communicator(&BCAST_FORMS[0], thread, comm)
            .called_at(site)
            .root(root)
            .uniform(count, datatype)
    };
    let _arrays = arrays;
    recorder::collective_aside(thread::frame(), message, forward)
}

/// `MPI_Bcast`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Bcast(
    buffer: usize,
    count: usize,
    datatype: usize,
    root: usize,
    comm: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Bcast") {
                Some(real) => real,
                None => {
                    return missing("MPI_Bcast");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(real);
        real(buffer, count, datatype, root, comm)
    };
    static DISTANCE: Distance = Distance::unknown();
    let (plain, site) = site(&DISTANCE);
    let message = move |thread| {
        Message::<Int>::on_communicator(&BCAST_FORMS[0], thread, comm)
            .called_at(site)
            .root(root)
            .uniform(count, datatype)
    };
    recorder::collective(plain, message, forward)
}

/// `MPI_Bcast_c`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Bcast_c(
    buffer: usize,
    count: usize,
    datatype: usize,
    root: usize,
    comm: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Bcast_c") {
                Some(real) => real,
                None => {
                    static PLAIN: Symbol = Symbol::new();
                    let Some(plain) = PLAIN.get(c"MPI_Bcast") else {
                        return missing("MPI_Bcast")
                    };
                    static DISTANCE: Distance = Distance::unknown();
                    let (_, site) = site(&DISTANCE);
                    return Bcast_narrowed(
                        plain,
                        site,
                        buffer,
                        count,
                        datatype,
                        root,
                        comm,
                    );
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(real);
        real(buffer, count, datatype, root, comm)
    };
    static DISTANCE: Distance = Distance::unknown();
    let (plain, site) = site(&DISTANCE);
    let message = move |thread| {
        Message::<Large>::on_communicator(&BCAST_FORMS[0], thread, comm)
            .called_at(site)
            .root(root)
            .uniform(count, datatype)
    };
    recorder::collective(plain, message, forward)
}

/// `MPI_Ibcast`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Ibcast(
    buffer: usize,
    count: usize,
    datatype: usize,
    root: usize,
    comm: usize,
    request: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Ibcast") {
                Some(real) => real,
                None => {
                    return missing("MPI_Ibcast");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(real);
        real(buffer, count, datatype, root, comm, request)
    };
    let result = {
        static DISTANCE: Distance = Distance::unknown();
        let (_, site) = site(&DISTANCE);
        let message = move |thread| {
            Message::<Int>::on_communicator(&BCAST_FORMS[1], thread, comm)
                .called_at(site)
                .root(root)
                .uniform(count, datatype)
        };
        outstanding::start(&message, &forward, large_count::Narrowed::default(), request)
    };
    if result == 0 {
        messages::no_message(request)
    }
    result
}

/// `MPI_Bcast_init`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Bcast_init(
    buffer: usize,
    count: usize,
    datatype: usize,
    root: usize,
    comm: usize,
    info: usize,
    request: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Bcast_init") {
                Some(real) => real,
                None => {
                    return missing("MPI_Bcast_init");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(real);
        real(buffer, count, datatype, root, comm, info, request)
    };
    let result = {
        static DISTANCE: Distance = Distance::unknown();
        let (_, site) = site(&DISTANCE);
        let message = move |thread| {
            Message::<Int>::on_communicator(&BCAST_FORMS[2], thread, comm)
                .called_at(site)
                .root(root)
                .uniform(count, datatype)
        };
        let hidden = Hidden::default();
        let forward = || hidden.outcome(&|| forward());
        let outcome = outstanding::prepare(
            &message,
            &forward,
            large_count::Narrowed::default(),
            comm,
            request,
        );
        hidden.result(outcome)
    };
    if result == 0 {
        messages::no_message(request)
    }
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// completing Wait, waits point_to_point

/// `MPI_Wait`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Wait(request: usize, status: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Wait") {
                Some(real) => real,
                None => {
                    return missing("MPI_Wait");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move |status: usize| unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(request, status)
    };
    let here = thread::frame();
    let forward = move |status: usize| waiting::wait(here, &forward, request, status);
    let result = {
        if outstanding::any_outstanding() && !thread::is_nested(thread::frame()) {
            {
                static ACTIVITY: Activity = Activity::new(
                    activity::POINT_TO_POINT,
                    "MPI_Wait",
                    Some(wait_class::POINT_TO_POINT),
                );
                let (here, activity) = (thread::frame(), &ACTIVITY);
                activity
                    .run(
                        here,
                        || {
                            activity
                                .kept(
                                    here,
                                    || {
                                        let hidden = Hidden::default();
                                        let forward = |status: usize| {
                                            hidden.outcome(&|| forward(status))
                                        };
                                        let outcome = completion::wait(
                                            &forward,
                                            Array {
                                                count: 1,
                                                requests: request,
                                                statuses: status,
                                                flag: 0,
                                                completed: Completed::All,
                                            },
                                        );
                                        hidden.result(outcome)
                                    },
                                )
                        },
                    )
            }
        } else {
            static ACTIVITY: Activity = Activity::new(
                activity::POINT_TO_POINT,
                "MPI_Wait",
                Some(wait_class::POINT_TO_POINT),
            );
            let (here, activity) = (thread::frame(), &ACTIVITY);
            activity
                .run_or(
                    here,
                    true,
                    move || forward(status),
                    move || {
                        let forward = move |status: usize| {
                            activity.stamped(here, || forward(status))
                        };
                        thread::guarded(move || forward(status))
                    },
                )
        }
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// completing Test

/// `MPI_Test`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Test(
    request: usize,
    flag: usize,
    status: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Test") {
                Some(real) => real,
                None => {
                    return missing("MPI_Test");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move |status: usize| unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(request, flag, status)
    };
    let result = {
        {
            static ACTIVITY: Activity = Activity::new(
                activity::POINT_TO_POINT,
                "MPI_Test",
                None,
            );
            let (here, activity) = (thread::frame(), &ACTIVITY);
            polls::requests(
                here,
                activity,
                move || Array {
                    count: 1,
                    requests: request,
                    statuses: status,
                    flag: flag,
                    completed: Completed::All,
                },
                forward,
                move |forward: &dyn Fn(usize) -> c_int, array: &Array| {
                    let array = *array;
                    let forward = |statuses: usize| waiting::test(
                        here,
                        |statuses| forward(statuses),
                        Array { statuses, ..array },
                    );
                    let result = activity
                        .kept(
                            here,
                            || {
                                if !outstanding::any_outstanding()
                                    || thread::is_nested(here)
                                {
                                    return thread::guarded(|| forward(array.statuses));
                                }
                                let hidden = Hidden::default();
                                let outcome = completion::test(
                                    &|statuses: usize| hidden.outcome(&|| forward(statuses)),
                                    array,
                                );
                                hidden.result(outcome)
                            },
                        );
                    if result == 0 {
                        waiting::tested(array)
                    }
                    result
                },
            )
        }
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// forwarded Cancel

/// `MPI_Cancel`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Cancel(request: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Cancel") {
                Some(real) => real,
                None => {
                    return missing("MPI_Cancel");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize) -> c_int = std::mem::transmute(
            real,
        );
        real(request)
    };
    let result = {
        static ACTIVITY: Activity = Activity::new(
            activity::POINT_TO_POINT,
            "MPI_Cancel",
            None,
        );
        let (here, activity) = (thread::frame(), &ACTIVITY);
        activity
            .run_or(
                here,
                false,
                move || forward(),
                move || {
                    let forward = move || activity.kept(here, || forward());
                    forward()
                },
            )
    };
    if result == 0 {
        messages::cancelled(&"MPI_Cancel", request)
    }
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// guarded Grequest_start

/// `MPI_Grequest_start`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Grequest_start(
    query_fn: usize,
    free_fn: usize,
    cancel_fn: usize,
    extra_state: usize,
    request: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Grequest_start") {
                Some(real) => real,
                None => {
                    return missing("MPI_Grequest_start");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(real);
        real(query_fn, free_fn, cancel_fn, extra_state, request)
    };
    let result = {
        {
            static ACTIVITY: Activity = Activity::new(
                activity::OTHER_MPI,
                "MPI_Grequest_start",
                None,
            );
            let (here, activity) = (thread::frame(), &ACTIVITY);
            activity.run(here, || { thread::guarded(forward) })
        }
    };
    if result == 0 {
        messages::no_message(request)
    }
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// freeing Request_free

/// `MPI_Request_free`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Request_free(request: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Request_free") {
                Some(real) => real,
                None => {
                    return missing("MPI_Request_free");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize) -> c_int = std::mem::transmute(
            real,
        );
        real(request)
    };
    let here = thread::frame();
    let forward = move || waiting::free(here, &forward, request);
    let result = {
        {
            static ACTIVITY: Activity = Activity::new(
                activity::POINT_TO_POINT,
                "MPI_Request_free",
                None,
            );
            let (here, activity) = (thread::frame(), &ACTIVITY);
            activity
                .run(
                    here,
                    || {
                        activity
                            .kept(
                                here,
                                || {
                                    if (outstanding::any_outstanding()
                                        || outstanding::any_prepared())
                                        && !thread::is_nested(thread::frame())
                                    {
                                        let hidden = Hidden::default();
                                        let forward = || hidden.outcome(&|| forward());
                                        let outcome = outstanding::free(&forward, request);
                                        hidden.result(outcome)
                                    } else {
                                        thread::guarded(move || forward())
                                    }
                                },
                            )
                    },
                )
        }
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// starting Start

/// `MPI_Start`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Start(request: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Start") {
                Some(real) => real,
                None => {
                    return missing("MPI_Start");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize) -> c_int = std::mem::transmute(
            real,
        );
        real(request)
    };
    let result = {
        {
            static ACTIVITY: Activity = Activity::new(
                activity::POINT_TO_POINT,
                "MPI_Start",
                None,
            );
            let (here, activity) = (thread::frame(), &ACTIVITY);
            activity
                .run(
                    here,
                    || {
                        activity
                            .kept(
                                here,
                                || {
                                    if outstanding::any_prepared()
                                        && !thread::is_nested(thread::frame())
                                    {
                                        let hidden = Hidden::default();
                                        let forward = || hidden.outcome(&|| forward());
                                        let outcome = outstanding::start_prepared(
                                            &forward,
                                            1,
                                            request,
                                        );
                                        hidden.result(outcome)
                                    } else {
                                        let result = thread::guarded(move || forward());
                                        if result != 0 {
                                            recorder::failed_without_record(thread::frame())
                                        }
                                        result
                                    }
                                },
                            )
                    },
                )
        }
    };
    if result == 0 {
        messages::started(&"MPI_Start", 1, request)
    }
    result
}

// counted Send, waits point_to_point

/// `MPI_Send`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Send(
    buf: usize,
    count: usize,
    datatype: usize,
    dest: usize,
    tag: usize,
    comm: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Send") {
                Some(real) => real,
                None => {
                    return missing("MPI_Send");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(real);
        real(buf, count, datatype, dest, tag, comm)
    };
    let here = thread::frame();
    let forward = move || waiting::send(here, &forward, dest, tag, comm);
    let result = {
        static ACTIVITY: Activity = Activity::new(
            activity::POINT_TO_POINT,
            "MPI_Send",
            Some(wait_class::POINT_TO_POINT),
        );
        let (here, activity) = (thread::frame(), &ACTIVITY);
        activity
            .run_or(
                here,
                true,
                move || forward(),
                move || {
                    let forward = move || activity.stamped(here, || forward());
                    if message_counters::counting() && !thread::is_nested(here) {
                        let hidden = Hidden::default();
                        let forward = || hidden.outcome(&|| forward());
                        let outcome = p2p::sent::<Int>(&forward, count, datatype, dest);
                        hidden.result(outcome)
                    } else {
                        forward()
                    }
                },
            )
    };
    if result == 0 {
        messages::sent::<Int>(&"MPI_Send", count, datatype, dest, tag, comm)
    }
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// counted Isend

/// `MPI_Isend`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Isend(
    buf: usize,
    count: usize,
    datatype: usize,
    dest: usize,
    tag: usize,
    comm: usize,
    request: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Isend") {
                Some(real) => real,
                None => {
                    return missing("MPI_Isend");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
            usize,
        ) -> c_int = std::mem::transmute(real);
        real(buf, count, datatype, dest, tag, comm, request)
    };
    let result = {
        static ACTIVITY: Activity = Activity::new(
            activity::POINT_TO_POINT,
            "MPI_Isend",
            None,
        );
        let (here, activity) = (thread::frame(), &ACTIVITY);
        activity
            .run_or(
                here,
                false,
                move || forward(),
                move || {
                    let forward = move || activity.kept(here, || forward());
                    if message_counters::counting() && !thread::is_nested(here) {
                        let hidden = Hidden::default();
                        let forward = || hidden.outcome(&|| forward());
                        let outcome = p2p::sent::<Int>(&forward, count, datatype, dest);
                        hidden.result(outcome)
                    } else {
                        forward()
                    }
                },
            )
    };
    if result == 0 {
        messages::sending::<Int>(&"MPI_Isend", request, count, datatype, dest, tag, comm)
    }
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// forwarded Probe, waits point_to_point

/// `MPI_Probe`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Probe(
    source: usize,
    tag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Probe") {
                Some(real) => real,
                None => {
                    return missing("MPI_Probe");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move |status: usize| unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize, usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(source, tag, comm, status)
    };
    let here = thread::frame();
    let forward = move |status: usize| waiting::probe(
        here,
        &forward,
        source,
        tag,
        comm,
        status,
    );
    let result = {
        static ACTIVITY: Activity = Activity::new(
            activity::POINT_TO_POINT,
            "MPI_Probe",
            Some(wait_class::POINT_TO_POINT),
        );
        let (here, activity) = (thread::frame(), &ACTIVITY);
        activity
            .run_or(
                here,
                true,
                move || forward(status),
                move || {
                    let forward = move |status: usize| {
                        activity.stamped(here, || forward(status))
                    };
                    forward(status)
                },
            )
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// blocking Comm_dup

static COMM_DUP_FORMS: [Function; 1] = [
    Function {
        name: "MPI_Comm_dup",
        form: Form::Blocking,
        blocking: "MPI_Comm_dup",
        pattern: Pattern::UsuallyAllToAll,
        size: Size::Nothing,
        root: None,
        reduction: None,
        communicator: "comm",
        is_on_file: false,
        otf2: None,
        reprompi: None,
    },
];

/// `MPI_Comm_dup`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_dup(comm: usize, newcomm: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Comm_dup") {
                Some(real) => real,
                None => {
                    return missing("MPI_Comm_dup");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(comm, newcomm)
    };
    if !mode::is_on() {
        return forward();
    }
    static DISTANCE: Distance = Distance::unknown();
    let (_, site) = site(&DISTANCE);
    let message = move |thread| {
        Message::<Int>::on_communicator(&COMM_DUP_FORMS[0], thread, comm)
            .called_at(site)
            .nothing()
    };
    let hidden = Hidden::default();
    let forward = || hidden.outcome(&|| forward());
    let outcome = communicators::duplicated(&message, &forward, comm, newcomm);
    hidden.result(outcome)
}

// nonblocking Comm_idup

static COMM_IDUP_FORMS: [Function; 1] = [
    Function {
        name: "MPI_Comm_idup",
        form: Form::NonBlocking,
        blocking: "MPI_Comm_dup",
        pattern: Pattern::UsuallyAllToAll,
        size: Size::Nothing,
        root: None,
        reduction: None,
        communicator: "comm",
        is_on_file: false,
        otf2: None,
        reprompi: None,
    },
];

/// `MPI_Comm_idup`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_idup(
    comm: usize,
    newcomm: usize,
    request: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Comm_idup") {
                Some(real) => real,
                None => {
                    return missing("MPI_Comm_idup");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(comm, newcomm, request)
    };
    let result = {
        if !mode::is_on() {
            return forward();
        }
        static DISTANCE: Distance = Distance::unknown();
        let (_, site) = site(&DISTANCE);
        let message = move |thread| {
            Message::<Int>::on_communicator(&COMM_IDUP_FORMS[0], thread, comm)
                .called_at(site)
                .nothing()
        };
        let hidden = Hidden::default();
        let forward = || hidden.outcome(&|| forward());
        let outcome = communicators::duplicated_later(
            &message,
            &forward,
            comm,
            newcomm,
            request,
        );
        hidden.result(outcome)
    };
    if result == 0 {
        messages::no_message(request)
    }
    result
}

// observed Comm_join, waits other_mpi

/// `MPI_Comm_join`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_join(fd: usize, intercomm: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Comm_join") {
                Some(real) => real,
                None => {
                    return missing("MPI_Comm_join");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(fd, intercomm)
    };
    let result = {
        if !mode::is_on() {
            return forward();
        }
        let hidden = Hidden::default();
        let forward = || hidden.outcome(&|| forward());
        let outcome = {
            static ACTIVITY: Activity = Activity::new(
                activity::OTHER_MPI,
                "MPI_Comm_join",
                Some(wait_class::OTHER_MPI),
            );
            let (here, activity) = (thread::frame(), &ACTIVITY);
            activity
                .run(
                    here,
                    || {
                        let forward = move || activity.stamped(here, || forward());
                        communicators::joined(&forward, intercomm)
                    },
                )
        };
        hidden.result(outcome)
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// observed Comm_get_parent

/// `MPI_Comm_get_parent`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_get_parent(parent: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Comm_get_parent") {
                Some(real) => real,
                None => {
                    return missing("MPI_Comm_get_parent");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize) -> c_int = std::mem::transmute(
            real,
        );
        real(parent)
    };
    let result = {
        if !mode::is_on() {
            return forward();
        }
        let hidden = Hidden::default();
        let forward = || hidden.outcome(&|| forward());
        let outcome = {
            static ACTIVITY: Activity = Activity::new(
                activity::OTHER_MPI,
                "MPI_Comm_get_parent",
                None,
            );
            let (here, activity) = (thread::frame(), &ACTIVITY);
            activity.run(here, || { communicators::spawned_by(&forward, parent) })
        };
        hidden.result(outcome)
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// handling Comm_create_errhandler

/// `MPI_Comm_create_errhandler`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_create_errhandler(
    comm_errhandler_fn: usize,
    errhandler: usize,
) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Comm_create_errhandler") {
                Some(real) => real,
                None => {
                    return missing("MPI_Comm_create_errhandler");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move |comm_errhandler_fn: usize| unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(comm_errhandler_fn, errhandler)
    };
    let result = { error_handlers::create(&forward, comm_errhandler_fn) };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// guarded File_delete, waits io

/// `MPI_File_delete`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_File_delete(filename: usize, info: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_File_delete") {
                Some(real) => real,
                None => {
                    return missing("MPI_File_delete");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(filename, info)
    };
    let result = {
        static ACTIVITY: Activity = Activity::new(
            activity::OTHER_MPI,
            "MPI_File_delete",
            Some(wait_class::IO),
        );
        let (here, activity) = (thread::frame(), &ACTIVITY);
        activity
            .run_or(
                here,
                true,
                move || forward(),
                move || {
                    let forward = move || activity.stamped(here, || forward());
                    thread::guarded(forward)
                },
            )
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}

// local Comm_size

/// `MPI_Comm_size`: see the MPI standard.
///
/// # Safety
/// The arguments are those of the MPI function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn MPI_Comm_size(comm: usize, size: usize) -> c_int {
    static REAL: Symbol = Symbol::new();
    let real = match REAL.known() {
        Some(real) => real,
        None => {
            match REAL.find(c"MPI_Comm_size") {
                Some(real) => real,
                None => {
                    return missing("MPI_Comm_size");
                }
            }
        }
    };
    // SAFETY: the function takes as many words and returns an int; the arguments are the program's own,
    // or arrays in place of its own that live until the call has returned or its request is complete.
    let forward = move || unsafe {
        let real: unsafe extern "C-unwind" fn(usize, usize) -> c_int = std::mem::transmute(
            real,
        );
        real(comm, size)
    };
    let result = {
        static ACTIVITY: Activity = Activity::new(
            activity::OTHER_MPI,
            "MPI_Comm_size",
            None,
        );
        ACTIVITY.alone(thread::frame(), &forward)
    };
    if result != 0 {
        recorder::failed_without_record(thread::frame())
    }
    result
}
