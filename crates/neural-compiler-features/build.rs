//! Only so that build dependencies count.
fn main() {}
