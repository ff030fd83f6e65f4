//! What long work says while it goes on, and how it is ended. In: how far it is; out: a bar, or lines now and then, and a flag that
//! Ctrl-C sets.

use indicatif::{ProgressBar, ProgressStyle};
use neural_compiler_fit::Stage;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Set by the first Ctrl-C; the second ends the process.
pub(crate) fn interrupts() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGINT;
        // In this order: the second signal finds the flag set. Without handlers Ctrl-C simply ends the process.
        let _ = signal_hook::flag::register_conditional_default(SIGINT, flag.clone());
        let _ = signal_hook::flag::register(SIGINT, flag.clone());
    }
    flag
}

/// The same, where the second does something before it ends the process.
pub(crate) fn interrupts_with(last: fn()) -> Arc<AtomicBool> {
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGINT;
        let flag = Arc::new(AtomicBool::new(false));
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT]) {
            let seen = flag.clone();
            // Not in a handler, where hardly anything may be done.
            let wait = move || {
                for signal in signals.forever() {
                    if seen.swap(true, Ordering::Relaxed) {
                        last();
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    }
                }
            };
            if std::thread::Builder::new().spawn(wait).is_ok() {
                return flag;
            }
        }
    }
    interrupts()
}

/// Progress: a bar on a terminal, now and then a line elsewhere.
pub(crate) struct Bar {
    bar: Option<ProgressBar>,
    begun: Instant,
    said: Mutex<Instant>,
}

/// What is being waited for.
fn waiting(stage: Stage, done: usize, of: usize, cost: f64) -> String {
    match stage {
        Stage::Starts if done == 0 => format!("following the declared values, loss {cost:.6e}"),
        // Formulas that explain little are searched on from more starts than usual.
        Stage::Starts if done > of => format!("{done} starts, loss {cost:.6e}"),
        Stage::Starts => format!("{done} of at most {of} starts, loss {cost:.6e}"),
        Stage::Training => format!("{done} of at most {of} steps of training, loss {cost:.6e}"),
        Stage::Profile => format!("{done} of {of} ends of profile intervals"),
        Stage::Bootstrap => format!("{done} of {of} replicates of the bootstrap"),
        Stage::Pass(pass) if of == 0 => format!("pass {pass}, {done} rows"),
        Stage::Pass(pass) => format!("pass {pass}, {done} of {of} rows"),
        Stage::Trajectories(pass) => format!("pass {pass}, {done} of {of} trajectories"),
    }
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let style = ProgressStyle::with_template("{wide_bar} {msg}  {elapsed}").expect("the template is right");
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(1).with_style(style));
        Bar { bar, begun: Instant::now(), said: Mutex::new(Instant::now()) }
    }

    pub(crate) fn tell(&self, stage: Stage, done: usize, of: usize, cost: f64) {
        let waiting = waiting(stage, done, of, cost);
        if let Some(bar) = &self.bar {
            bar.set_length(of.max(done) as u64);
            bar.set_position(done as u64);
            bar.set_message(waiting);
            return;
        }
        let mut said = self.said.lock().unwrap_or_else(|e| e.into_inner());
        if said.elapsed() > Duration::from_secs(2) {
            *said = Instant::now();
            let spent = self.begun.elapsed().as_secs_f64();
            let _ = writeln!(std::io::stderr(), "{waiting}, {spent:.0} s");
        }
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
