//! Requests that a call has taken out of the tables of those that are followed.

/// A request taken out of its table.
pub struct ClaimedRequest<R> {
    /// Its place in the array.
    pub place: usize,
    /// Its handle before the call.
    pub handle: usize,
    /// Empty when it is complete.
    pub request: Option<R>,
}
