//! libmpitrace.so
