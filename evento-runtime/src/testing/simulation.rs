//! Handlers that run again after a crash, compared with an undisturbed run.

use std::fmt::Debug;
use std::time::Duration;

use super::crashing::{Death, Mortal};
use super::run;
use super::scenario::{builder, dead_letters, settled};
use crate::bundle::BundleBuilder;
use crate::component::Component;
use crate::error::BoxError;
use crate::event::NewEvent;
use crate::policy::CheckpointMode;
use crate::source::{Append, Expected};
use crate::store::MemoryStore;

/// A component's handlers have left something else after crashes than without.
#[derive(Debug, thiserror::Error)]
#[error(
    "after {crashes} crashes (seed {seed}) handlers that ran again have left\n  {left}\nwhere an undisturbed run leaves\n  \
     {undisturbed}\nmake them stand it (an upsert instead of an addition, or an effect kept by event id)"
)]
#[non_exhaustive]
pub struct Rerun {
    /// The seed; the same one crashes at the same places.
    pub seed: u64,
    /// Processes that died before the one that came to the end.
    pub crashes: usize,
    /// What was observed, and the dead letters.
    pub left: String,
    /// The same without crashes.
    pub undisturbed: String,
}

/// Runs handlers again and again; see [`simulate`].
pub struct Simulation<M> {
    component: M,
    events: Vec<NewEvent>,
    seeds: u64,
    wiring: Box<dyn Fn(BundleBuilder) -> BundleBuilder>,
}

/// Finds handlers that do not stand being run again. For each seed the process that handles `events` dies a few times
/// between handlers and the checkpoint that covers them, and is started again; [`compare`](Simulation::compare) tells
/// where what is left then is not what one undisturbed run leaves.
///
/// `component` makes a component over a new, empty world: one for each seed. Its clones share that world, as the clones
/// of a connection pool do; each process gets one.
///
/// See the [module](crate::testing#handlers-that-run-again) for an example.
pub fn simulate<T, M>(component: M, events: impl IntoIterator<Item = impl Into<NewEvent>>, seeds: u64) -> Simulation<M>
where
    T: Component + Clone,
    M: Fn() -> T,
{
    let events = events.into_iter().map(Into::into).collect();
    Simulation { component, events, seeds, wiring: Box::new(|bundle| bundle) }
}

impl<T, M> Simulation<M>
where
    T: Component + Clone,
    M: Fn() -> T,
{
    /// What else the bundle needs: executors, provided values, settings. Called for each process, so that executors are
    /// made anew. Handlers with an executor run under [`CheckpointMode::Watermark`] unless it says otherwise:
    /// `OnStart` loses events in a crash, which is another matter.
    #[must_use]
    pub fn wiring(mut self, wiring: impl Fn(BundleBuilder) -> BundleBuilder + 'static) -> Self {
        self.wiring = Box::new(wiring);
        self
    }

    /// Runs, and compares what `observe` sees of the world, and the dead letters.
    ///
    /// # Errors
    /// [`Rerun`]: they differ. Or an event is refused, the launch is, or the bundle does not settle within an hour of
    /// virtual time ([`NotSettled`](super::NotSettled)).
    ///
    /// # Panics
    /// Inside of a runtime: the test is a plain `#[test]`.
    pub fn compare<O: PartialEq + Debug>(self, observe: impl Fn(&T) -> O) -> Result<(), BoxError> {
        let batch = Append::prepare(None::<String>, Expected::Any, self.events.iter().cloned())?;
        let undisturbed = self.one(&batch, &observe, &[], 0)?;
        for seed in 0..self.seeds {
            let mut chance = fastrand::Rng::with_seed(seed);
            // From one event to all of them between two checkpoints.
            let every = chance.usize(1..=batch.events.len().clamp(1, 64));
            let deaths: Vec<u32> = (0..chance.usize(1..4)).map(|_| chance.u32(0..6)).collect();
            // Jitter of the engine comes from here as well.
            fastrand::seed(seed);
            let left = self.one(&batch, &observe, &deaths, every)?;
            if left != undisturbed {
                let (left, undisturbed) = (format!("{left:?}"), format!("{undisturbed:?}"));
                return Err(Rerun { seed, crashes: deaths.len(), left, undisturbed }.into());
            }
        }
        Ok(())
    }

    /// One world: processes that die after so many checkpoints, and one that comes to the end.
    fn one<O>(
        &self,
        batch: &Append,
        observe: &impl Fn(&T) -> O,
        deaths: &[u32],
        every: usize,
    ) -> Result<(O, Vec<String>), BoxError> {
        let (memory, world) = (MemoryStore::new(), (self.component)());
        let appended = async { memory.store().events.append(batch.clone()).await };
        run(appended)??;
        let bundle = |death| {
            let mortal = Mortal { store: memory.store(), death };
            let settings = builder(mortal).checkpoint_mode(CheckpointMode::Watermark);
            let settings = settings.checkpoint_interval(Duration::from_millis(5));
            let settings = if every > 0 { settings.checkpoint_every(every) } else { settings };
            (self.wiring)(settings.component(world.clone())).build()
        };
        for checkpoints in deaths {
            let death = Death::after(*checkpoints);
            let bundle = bundle(std::sync::Arc::clone(&death))?;
            // The runtime of the process ends with everything in it, wherever it stands.
            run(async move {
                let living = async {
                    let running = bundle.start().await?;
                    settled(&running).await?;
                    // It has come to the end alive: nothing is left to die at but its last checkpoint.
                    running.stop(Duration::from_secs(60)).await?;
                    Ok::<_, BoxError>(())
                };
                tokio::select! {
                    biased;
                    () = death.came.notified() => Ok(()),
                    lived = living => lived,
                }
            })??;
        }
        let bundle = bundle(Death::after(u32::MAX))?;
        run(async move {
            let running = bundle.start().await?;
            settled(&running).await?;
            let letters = dead_letters(&running).await?;
            let told = |letter: &crate::store::StoredDeadLetter| {
                let letter = &letter.letter;
                format!("{} at {} ({})", letter.handler, letter.event.position, letter.error)
            };
            let letters = letters.iter().map(told).collect();
            running.stop(Duration::from_secs(60)).await?;
            Ok((observe(&world), letters))
        })?
    }
}
