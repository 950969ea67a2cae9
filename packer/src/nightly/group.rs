//! The layouts of one checkpoint, packed together.
//!
//! Their pipelines run side by side and keep together tensor by tensor, so that
//! the checkpoint is read from the disk once. Each gets its share of the memory
//! that one alone would have. Verifying and putting in place go one by one.

use wimg_core::{Plan, Selection};

use super::event::{Event, Observe};
use super::lock::Lock;
use super::place::Place;
use super::task::Task;
use crate::backend::BackendOptions;
use crate::error::Error;
use crate::pack::{Built, PackDone, cost};
use crate::pipeline::Flow;
use crate::pipeline::lockstep::Lockstep;
use crate::pipeline::middle::Middle;
use crate::source::Source;
use crate::stop::Stop;
use crate::store::{Staging, free_bytes};

/// The most that are packed together: each needs room for a few windows.
pub(super) const MOST: usize = 4;

/// An image that is to be packed. Its place is locked.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    /// Where its row goes.
    pub(super) slot: usize,
    pub(super) task: &'a Task,
    pub(super) plan: Plan,
    pub(super) place: Place,
    pub(super) lock: Lock,
    /// Why it is packed.
    pub(super) why: String,
    /// Whether the image that was there is damaged.
    pub(super) damaged: bool,
}

/// What all of a group share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) source: &'a Source,
    pub(super) backend: &'a BackendOptions,
    pub(super) margin: u64,
    pub(super) generations: usize,
    pub(super) stop: &'a Stop,
    pub(super) observe: Observe<'a>,
}

/// Whether two selections read a checkpoint's tensors in one order.
pub(super) fn read_alike(a: Selection, b: Selection) -> bool {
    (a == Selection::Table) == (b == Selection::Table)
}

impl Shared<'_> {
    /// Packs all of them, each by its plan. `done` is told of each, by its slot,
    /// as soon as it failed or its image is in its place.
    pub(super) fn pack(
        &self,
        group: &[(&Pending<'_>, &Plan)],
        done: &mut dyn FnMut(usize, Result<PackDone, Error>),
    ) {
        if group.len() > 1 && !self.all_fit(group) {
            // One after the other, old generations go meanwhile.
            group.chunks(1).for_each(|one| self.pack(one, done));
            return;
        }
        let plans: Vec<&Plan> = group.iter().map(|(_, plan)| *plan).collect();
        let lockstep = Lockstep::new(&plans);
        let sharers = group.len() as u64;
        let built: Vec<Result<Built, Error>> = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(group.len());
            for (number, (one, plan)) in group.iter().enumerate() {
                let member = Some(lockstep.member(number));
                let flow = Flow { stop: self.stop.clone(), sharers, member };
                threads.push(scope.spawn(move || self.build(one, plan, flow)));
            }
            let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|built| built.unwrap_or(Err(Error::Stopped("packing")))).collect()
        });
        for ((one, _), built) in group.iter().zip(built) {
            done(one.slot, built.and_then(|built| self.finish(one, built)));
        }
    }

    /// Whether there is space for all at once; a file system that does not say
    /// is left to each by itself.
    fn all_fit(&self, group: &[(&Pending<'_>, &Plan)]) -> bool {
        let needed: u64 = group.iter().map(|(one, _)| one.task.write_bytes).sum();
        let free = group.first().map(|(one, _)| free_bytes(&one.place.dir));
        free.is_some_and(|free| free.is_ok_and(|free| free >= needed.saturating_add(self.margin)))
    }

    fn build(&self, one: &Pending<'_>, plan: &Plan, flow: Flow<'_>) -> Result<Built, Error> {
        let Pending { task, place, .. } = one;
        self.stop.check()?;
        let needed = cost(self.source, plan, None)?.write_bytes.saturating_add(self.margin);
        let free = free_bytes(&place.dir)?;
        if free < needed {
            return Err(Error::Space { path: place.dir.clone(), needed, free });
        }
        let middle = Middle::open(self.backend)?;
        let staging = Staging::create(&place.target(), true)?;
        let tell = |progress| (self.observe)(Event::Progress { task, progress });
        Built::build(self.source, plan, middle, staging, flow, &tell)
    }

    /// Verifies an image, puts it in place, and lets old ones go.
    fn finish(&self, one: &Pending<'_>, mut built: Built) -> Result<PackDone, Error> {
        let tell = |progress| (self.observe)(Event::Progress { task: one.task, progress });
        built.verify(self.stop, &tell)?;
        built.drop_pages()?;
        let done = built.publish_as_id()?;
        one.place.set_current(&done.id.to_string())?;
        one.place.prune(self.generations)?;
        Ok(done)
    }
}
