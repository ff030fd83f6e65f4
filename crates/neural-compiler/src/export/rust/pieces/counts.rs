
impl Run<'_> {
    /// A round of a loop.
    fn step(&mut self) -> Result<(), Status> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(Status::LimitSteps) } else { Ok(()) }
    }

    /// A call.
    fn call(&mut self) -> Result<(), Status> {
        self.step()?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Status::LimitDepth) } else { Ok(()) }
    }
}
