//! The summary of many errors, and of a method.

/// Of many errors.
#[derive(Clone, Copy, Default)]
pub struct Errors {
    pub largest: f64,
    pub squares: f64,
    pub count: f64,
}

impl Errors {
    pub fn take(&mut self, error: f64) {
        self.largest = self.largest.max(error.abs());
        self.squares += error * error;
        self.count += 1.0;
    }

    pub fn join(&mut self, other: &Errors) {
        self.largest = self.largest.max(other.largest);
        self.squares += other.squares;
        self.count += other.count;
    }

    pub fn rms(&self) -> f64 {
        (self.squares / self.count.max(1.0)).sqrt()
    }

    pub fn new(errors: impl Iterator<Item = f64>) -> Errors {
        let mut all = Errors::default();
        errors.for_each(|error| all.take(error));
        all
    }
}

/// The result of a method.
pub struct Outcome {
    pub sync_s: f64,
    pub after: Errors,
    pub later: [Errors; 2],
    pub bytes: usize,
}
