//! The methods of clock synchronisation by name, with their parameters. Parser, help, errors and docs/clocks.md use
//! this list.

use std::sync::LazyLock;

use mpitrace_format::decimal;

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// No synchronisation: CLOCK_REALTIME stands between the domains.
    None,
    /// Offsets only, the root with each in turn (Hunold & Carpen-Amarie 2016, algorithms 7 and 8).
    Skampi,
    /// Offsets only, summed over a tree (Hunold & Carpen-Amarie 2016, algorithms 11 and 12).
    Netgauge,
    /// Offset and drift, the root with each in turn (Hunold & Carpen-Amarie 2016, algorithm 15).
    Jk,
    /// Drifts over a tree, then offsets with the root in turn (Hunold & Carpen-Amarie 2016, algorithms 2 to 4).
    Hca,
    /// Drifts and offsets over a tree (the same, with `hierarchical_intercepts`).
    Hca2,
    /// Top down: each parent answers with its global clock.
    Hca3,
    /// HCA3 with the parameters of its authors for one leader per node. All methods here run among leaders.
    H2hca,
    /// Score-P's way: offsets at Init and at Finalize, a straight line between them.
    Linear,
    /// Probes over a hypercube in both directions, one least-squares solution after the run, smoothed over time.
    Joint,
}

/// The facts that are known of a method.
struct Entry {
    method: Method,
    name: &'static str,
    /// A text on what it does, as help and docs/clocks.md tell it.
    does: &'static str,
    /// Points that a drift is fitted to; 0: it fits none.
    fit_points: u32,
    /// Exchanges per fit point, or per offset; 0: it makes none.
    exchanges: u32,
}

impl Entry {
    const fn new(method: Method, name: &'static str, (fit_points, exchanges): (u32, u32), does: &'static str) -> Entry {
        Entry { method, name, does, fit_points, exchanges }
    }
}

/// The one list of the methods, in the order of [`Method`]: the index of an entry is the method's number in a trace.
#[rustfmt::skip]
static METHODS: [Entry; 10] = [
    Entry::new(Method::None, "none", (0, 0),
        "CLOCK_REALTIME as the hosts have it, without a statement of its error"),
    Entry::new(Method::Skampi, "skampi", (0, 100),
        "offsets only, the root with each in turn: the tightest bounds of all exchanges, their middle"),
    Entry::new(Method::Netgauge, "netgauge", (0, 100),
        "offsets only, summed over a binary tree; a pair stops after 100 exchanges without a shorter round trip"),
    Entry::new(Method::Jk, "jk", (1000, 100),
        "a line through offsets over time, the root with each in turn: medians less half the mean round trip"),
    Entry::new(Method::Hca, "hca", (1000, 100),
        "such lines over a tree, then an offset with the root for each"),
    Entry::new(Method::Hca2, "hca2", (1000, 100),
        "the same, the offsets measured in the tree as well"),
    Entry::new(Method::Hca3, "hca3", (1000, 100),
        "from the root down: a parent answers with its own global clock, so nothing has to be merged"),
    Entry::new(Method::H2hca, "h2hca", (500, 100),
        "the same with the parameters that its authors use for one leader per node; all methods here run among leaders"),
    Entry::new(Method::Linear, "linear", (0, 10),
        "Score-P's: the exchange of the shortest round trip at Init and at Finalize, a straight line between"),
    // Twenty rounds of 40 exchanges over a hypercube of 2^20 leaders take less than 5 ms.
    Entry::new(Method::Joint, "joint", (0, 40),
        "probes over a hypercube in both directions, one solution after the run, smoothed over time; the default"),
];

/// Names joined with commas, the last with `or`.
fn listed(names: &[&str]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        names => names.concat(),
    }
}

impl Method {
    /// All methods, by number.
    pub fn all() -> impl ExactSizeIterator<Item = Method> {
        METHODS.iter().map(|entry| entry.method)
    }

    /// The method with this name; `auto` is `joint`.
    pub fn named(name: &str) -> Option<Method> {
        let name = if name == "auto" { "joint" } else { name };
        METHODS.iter().find(|entry| entry.name == name).map(|entry| entry.method)
    }

    fn entry(self) -> &'static Entry {
        &METHODS[self as usize]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// A text on what it does, in one line.
    pub fn help(self) -> &'static str {
        self.entry().does
    }

    /// Its number in a trace.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The method with this number.
    pub fn numbered(number: u32) -> Option<Method> {
        METHODS.get(number as usize).map(|entry| entry.method)
    }

    /// True if what it finds at Init is extrapolated over the whole run.
    pub fn extrapolates(self) -> bool {
        !matches!(self, Method::None | Method::Linear | Method::Joint)
    }

    /// True if the root has messages with each of the others, and not only with those a power of two away from it.
    pub fn goes_in_turn(self) -> bool {
        matches!(self, Method::Skampi | Method::Jk | Method::Hca | Method::Linear)
    }

    /// True if it can be computed from the probes that a `joint` or a `linear` run keeps.
    pub fn is_from_probes(self) -> bool {
        matches!(self, Method::Joint | Method::Linear | Method::Skampi | Method::None)
    }

    /// The names of the methods that can be computed from probes: `joint, linear, skampi or none`.
    pub fn names_from_probes() -> String {
        let known = METHODS.iter().rev().filter(|entry| entry.method.is_from_probes());
        listed(&known.map(|entry| entry.name).collect::<Vec<_>>())
    }
}

/// The parameters that go behind a method's name, and what their values are.
const PARAMETERS: [(&str, &str); 4] = [("fit_points", "N"), ("exchanges", "N"), ("max_ppm", "X"), ("wander_ppb", "X")];

/// A method with its parameters: `hca3,fit_points=500,exchanges=10`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synchronisation {
    /// The method.
    pub method: Method,
    /// Points that a drift is fitted to.
    pub fit_points: u32,
    /// Exchanges per fit point, or per offset.
    pub exchanges: u32,
    /// No clock runs this much faster or slower than another, ppm: what the hard bounds stand on.
    pub max_ppm: f32,
    /// The rate of no clock changes faster than this against another's, ppb per second: the same.
    pub wander_ppb: f32,
}

impl Synchronisation {
    /// A method with the parameters of its authors.
    pub fn new(method: Method) -> Synchronisation {
        let Entry { fit_points, exchanges, .. } = *method.entry();
        Synchronisation { method, fit_points, exchanges, max_ppm: 500.0, wander_ppb: 100.0 }
    }

    /// The texts that are allowed: the methods and their parameters.
    pub fn expected() -> &'static str {
        static EXPECTED: LazyLock<String> = LazyLock::new(|| {
            let names: Vec<&str> = ["auto"].into_iter().chain(METHODS.iter().map(|entry| entry.name)).collect();
            let parameters: Vec<String> = PARAMETERS.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let parameters: Vec<&str> = parameters.iter().map(String::as_str).collect();
            format!("{}, then after commas {}", listed(&names), listed(&parameters))
        });
        &EXPECTED
    }

    /// The synchronisation that the text describes; `None`: it is not as [`Self::expected`].
    pub fn parse(text: &str) -> Option<Synchronisation> {
        let mut words = text.split(',').map(str::trim);
        let mut parsed = Synchronisation::new(words.next().and_then(Method::named)?);
        for word in words {
            let (name, value) = word.split_once('=')?;
            let number = || value.trim().parse::<u32>().ok().filter(|&number| number > 0);
            let positive = || {
                let value = decimal::parse(value.trim())? as f32;
                (value > 0.0 && value.is_finite()).then_some(value)
            };
            match name.trim() {
                "fit_points" => parsed.fit_points = number()?,
                "exchanges" => parsed.exchanges = number()?,
                "max_ppm" => parsed.max_ppm = positive()?,
                "wander_ppb" => parsed.wander_ppb = positive()?,
                _ => return None,
            }
        }
        Some(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_read_with_its_parameters() {
        let read = Synchronisation::parse("hca3, fit_points=50,exchanges=7").unwrap();
        assert_eq!((read.method, read.fit_points, read.exchanges), (Method::Hca3, 50, 7));
        assert_eq!(Synchronisation::parse("auto"), Some(Synchronisation::new(Method::Joint)));
        for wrong in [
            "hca4",
            "",
            "hca3,fit_points",
            "hca3,fit_points=0",
            "joint,colour=1",
            "joint,max_ppm=-1",
            "joint,max_ppm=0",
        ] {
            assert!(Synchronisation::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn only_what_is_found_at_init_alone_is_extrapolated() {
        let not: Vec<&str> = Method::all().filter(|method| !method.extrapolates()).map(Method::name).collect();
        assert_eq!(not, ["none", "linear", "joint"]);
    }

    #[test]
    fn what_is_expected_names_every_method_and_parameter() {
        let expected = Synchronisation::expected();
        assert!(Method::all().all(|method| expected.contains(method.name())), "{expected}");
        for (name, _) in PARAMETERS {
            assert!(Synchronisation::parse(&format!("joint,{name}=3")).is_some(), "{name}");
        }
        assert!(expected.starts_with("auto, none, ") && expected.ends_with("max_ppm=X or wander_ppb=X"), "{expected}");
        assert_eq!(Method::names_from_probes(), "joint, linear, skampi or none");
    }

    #[test]
    fn a_method_has_one_number_and_one_name() {
        for (number, method) in (0..).zip(Method::all()) {
            assert_eq!(method.number(), number);
            assert_eq!(Method::numbered(number), Some(method));
            assert_eq!(Method::named(method.name()), Some(method));
        }
    }
}
