//! Being asked to stop: SIGTERM and Ctrl-C are noticed between two windows.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::Error;

/// What a process that is asked twice exits with: see the exit codes.
const ASKED_TWICE: i32 = 4;
/// How often somebody who sleeps looks up.
const LOOK: Duration = Duration::from_millis(50);

/// Whether to stop. The default never does.
#[derive(Clone, Debug, Default)]
pub struct Stop(Option<Arc<AtomicBool>>);

impl Stop {
    /// Stops once SIGTERM or SIGINT comes; a second one ends the process at
    /// once.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn on_signals() -> io::Result<Stop> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            // In this order: the first one finds the flag down.
            flag::register_conditional_shutdown(signal, ASKED_TWICE, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Stop(Some(asked)))
    }

    /// Whether somebody asked.
    pub fn asked(&self) -> bool {
        self.0.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed))
    }

    /// Goes on, unless somebody asked.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn check(&self) -> Result<(), Error> {
        if self.asked() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Sleeps, unless somebody asks.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn sleep(&self, time: Duration) -> Result<(), Error> {
        let end = Instant::now() + time;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}
