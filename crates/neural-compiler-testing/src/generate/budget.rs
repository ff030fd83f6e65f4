//! How much a program may still grow and how long it may run. Cost counts operations executed: what stands in a loop of ten
//! rounds counts ten times.

/// Most operations a generated program executes, about.
pub(crate) const MOST_COST: f64 = 20_000.0;

/// What is spent, and how often the code being written will run.
pub(crate) struct Budget {
    /// Operations executed by what is written so far.
    pub(crate) cost: f64,
    /// How often the code being written runs each time its function is called.
    pub(crate) weight: f64,
    /// Operations that may still be written.
    pub(crate) left: i64,
}

impl Budget {
    pub(crate) fn new(size: i64) -> Budget {
        Budget { cost: 0.0, weight: 1.0, left: size }
    }

    /// Counts one operation; `false` when the program should come to an end.
    pub(crate) fn spend(&mut self, cost: f64) -> bool {
        self.cost += cost * self.weight;
        self.left -= 1;
        self.left > 0
    }

    /// The dearest call that still fits here.
    pub(crate) fn dearest(&self) -> f64 {
        ((MOST_COST - self.cost) / self.weight / 4.0).max(0.0)
    }

    /// The most rounds a new loop may have here.
    pub(crate) fn rounds(&self, wanted: u32) -> u32 {
        wanted.min((MOST_COST / 40.0 / self.weight) as u32).max(1)
    }
}
