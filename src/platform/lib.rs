//! Facts about platforms that the preloaded library and the companion share.
