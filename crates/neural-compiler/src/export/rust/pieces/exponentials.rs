pub mod exp {
    pub fn exp_wide(x: f64) -> f64 {
        super::exp(x)
    }
}
