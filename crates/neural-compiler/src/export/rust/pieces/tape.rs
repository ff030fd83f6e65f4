
impl Run<'_> {
    /// The first of so many cells that nothing is stored in yet.
    fn room(&mut self, cells: usize) -> Result<usize, Status> {
        let first = self.used;
        if self.tape.len() - first < cells {
            return Err(Status::LimitMemory);
        }
        self.used += cells;
        Ok(first)
    }

    fn put(&mut self, at: usize, x: Real) {
        self.tape[at] = CELL;
    }

    fn get(&self, at: usize) -> Real {
        NUMBER
    }
}
