//! The methods of clock synchronisation by name, with their parameters.

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// No synchronisation: CLOCK_REALTIME stands between the domains.
    None,
    /// Offsets only, the root with each in turn (seed 000, algorithms 7 and 8).
    Skampi,
    /// Offsets only, summed over a tree (seed 000, algorithms 11 and 12).
    Netgauge,
    /// Offset and drift, the root with each in turn (seed 000, algorithm 15).
    Jk,
    /// Drifts over a tree, then offsets with the root in turn (seed 000, algorithms 2 to 4).
    Hca,
    /// Drifts and offsets over a tree (the same, with `hierarchical_intercepts`).
    Hca2,
    /// Top down: each parent answers with its global clock.
    Hca3,
    /// The same, with the parameters of its authors for one leader per node. All methods here run among leaders.
    H2hca,
    /// Score-P's way: offsets at Init and at Finalize, a straight line between them.
    Linear,
    /// Probes over a hypercube in both directions, one least-squares solution after the run, smoothed over time.
    Joint,
}

/// Names and numbers of the methods, as the environment and the trace have them.
const METHODS: [(&str, Method); 10] = [
    ("none", Method::None),
    ("skampi", Method::Skampi),
    ("netgauge", Method::Netgauge),
    ("jk", Method::Jk),
    ("hca", Method::Hca),
    ("hca2", Method::Hca2),
    ("hca3", Method::Hca3),
    ("h2hca", Method::H2hca),
    ("linear", Method::Linear),
    ("joint", Method::Joint),
];

impl Method {
    /// The method of that name; `auto` is `joint`.
    pub fn named(name: &str) -> Option<Method> {
        let name = if name == "auto" { "joint" } else { name };
        METHODS.iter().find(|(known, _)| *known == name).map(|&(_, method)| method)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        METHODS[self.number() as usize].0
    }

    /// Its number in a trace.
    pub fn number(self) -> u32 {
        METHODS.iter().position(|&(_, method)| method == self).unwrap_or_default() as u32
    }

    /// The method with this number.
    pub fn numbered(number: u32) -> Option<Method> {
        METHODS.get(number as usize).map(|&(_, method)| method)
    }

    /// Whether what it finds at Init is extrapolated over the whole run.
    pub fn extrapolates(self) -> bool {
        !matches!(self, Method::None | Method::Linear | Method::Joint)
    }
}

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
    pub fn of(method: Method) -> Synchronisation {
        let (fit_points, exchanges) = match method {
            Method::None => (0, 0),
            Method::Skampi | Method::Netgauge => (0, 100),
            Method::Jk | Method::Hca | Method::Hca2 | Method::Hca3 => (1000, 100),
            Method::H2hca => (500, 100),
            Method::Linear => (0, 10),
            // Twenty rounds of them over a hypercube of 2^20 leaders take less than 5 ms.
            Method::Joint => (0, 40),
        };
        Synchronisation { method, fit_points, exchanges, max_ppm: 500.0, wander_ppb: 100.0 }
    }

    /// What the text says, or what it should have said.
    pub fn parse(text: &str) -> Result<Synchronisation, &'static str> {
        const EXPECTED: &str = "auto, none, skampi, netgauge, jk, hca, hca2, hca3, h2hca, linear or joint, with fit_points=N, \
             exchanges=N, max_ppm=X and wander_ppb=X behind commas";
        let mut words = text.split(',').map(str::trim);
        let mut parsed = Synchronisation::of(words.next().and_then(Method::named).ok_or(EXPECTED)?);
        for word in words {
            let (name, value) = word.split_once('=').ok_or(EXPECTED)?;
            let number = || value.trim().parse::<u32>().ok().filter(|&number| number > 0);
            let positive = || value.trim().parse::<f32>().ok().filter(|&value| value > 0.0 && value.is_finite());
            match name.trim() {
                "fit_points" => parsed.fit_points = number().ok_or(EXPECTED)?,
                "exchanges" => parsed.exchanges = number().ok_or(EXPECTED)?,
                "max_ppm" => parsed.max_ppm = positive().ok_or(EXPECTED)?,
                "wander_ppb" => parsed.wander_ppb = positive().ok_or(EXPECTED)?,
                _ => return Err(EXPECTED),
            }
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_read_with_its_parameters() {
        let read = Synchronisation::parse("hca3, fit_points=50,exchanges=7").unwrap();
        assert_eq!((read.method, read.fit_points, read.exchanges), (Method::Hca3, 50, 7));
        assert_eq!(Synchronisation::parse("auto"), Ok(Synchronisation::of(Method::Joint)));
        for wrong in ["hca4", "", "hca3,fit_points", "hca3,fit_points=0", "joint,colour=1", "joint,max_ppm=-1"] {
            assert!(Synchronisation::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_method_has_one_number_and_one_name() {
        for (number, (name, method)) in (0..).zip(METHODS) {
            assert_eq!((method.number(), method.name()), (number, name));
            assert_eq!(Method::numbered(number), Some(method));
        }
    }
}
