pub mod log {
    pub fn log_wide(x: f64) -> f64 {
        super::log(x)
    }

    pub fn log1p_wide(x: f64) -> f64 {
        super::log1p(x)
    }
}
