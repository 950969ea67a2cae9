//! A worker's share of the tasks, and what a scheduler says of it.

use std::ops::Range;

use thiserror::Error;

use super::task::Task;

/// Share `index` (from 0) of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 0.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}

/// Why there is no share.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The environment says nothing.
    #[error(
        "no array job's variables are set: SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX or \
         AWS_BATCH_JOB_ARRAY_INDEX"
    )]
    NoJob,
    /// One variable is missing.
    #[error("`{0}` is not set")]
    Unset(&'static str),
    /// One is no number.
    #[error("`{name}` is `{value}`, which is no number")]
    Number {
        /// The variable.
        name: &'static str,
        /// Its value, escaped.
        value: String,
    },
    /// The number of shares is not known.
    #[error("how many jobs there are is not in the environment: say `--shards N`")]
    Count,
    /// Numbers that do not go together.
    #[error("job {index} is not one of {count}, counted from 0")]
    Bounds {
        /// The index.
        index: u64,
        /// The count.
        count: u64,
    },
    /// An array with holes.
    #[error("job {id} is not in the array that begins at {min} in steps of {step}")]
    Step {
        /// The job.
        id: u64,
        /// The first job.
        min: u64,
        /// From one to the next.
        step: u64,
    },
}

/// Looks a variable up.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

const SLURM: &str = "SLURM_ARRAY_TASK_ID";
const KUBERNETES: &str = "JOB_COMPLETION_INDEX";
const AWS: &str = "AWS_BATCH_JOB_ARRAY_INDEX";

impl Shard {
    /// A share.
    ///
    /// # Errors
    /// An index that is not below the count.
    pub fn new(index: u64, count: u64) -> Result<Shard, ShardError> {
        if index < count {
            Ok(Shard { index, count })
        } else {
            Err(ShardError::Bounds { index, count })
        }
    }

    /// The share that an array job's variables say. With `shards`, the index
    /// is the job's own number, so that a part of an array may run again alone.
    ///
    /// # Errors
    /// Variables that are missing, no numbers, or do not go together.
    pub fn of_job(shards: Option<u64>, env: Lookup<'_>) -> Result<Shard, ShardError> {
        if let Some(count) = shards {
            return Shard::new(task_of_job(env)?, count);
        }
        if env(SLURM).is_some() {
            let id = number(SLURM, env)?;
            let min = number("SLURM_ARRAY_TASK_MIN", env)?;
            let step = match env("SLURM_ARRAY_TASK_STEP") {
                Some(_) => number("SLURM_ARRAY_TASK_STEP", env)?.max(1),
                None => 1,
            };
            let count = number("SLURM_ARRAY_TASK_COUNT", env)?;
            let above = id.checked_sub(min).filter(|above| above % step == 0);
            let above = above.ok_or(ShardError::Step { id, min, step })?;
            return Shard::new(above / step, count);
        }
        if env(KUBERNETES).is_some() {
            return Err(ShardError::Count);
        }
        if env(AWS).is_some() {
            return Shard::new(number(AWS, env)?, number("AWS_BATCH_JOB_ARRAY_SIZE", env)?);
        }
        Err(ShardError::NoJob)
    }

    /// This share of the tasks: a run of them, so that most layouts of a
    /// checkpoint stay together. No cut of the tasks into so many runs has a
    /// largest one of fewer bytes.
    pub fn tasks(self, tasks: &[Task]) -> Range<usize> {
        let bytes: Vec<u64> = tasks.iter().map(|task| task.read_bytes + task.write_bytes).collect();
        // The least bytes of the largest share, found by halving.
        let (mut low, mut high) = (bytes.iter().copied().max().unwrap_or(0), bytes.iter().sum());
        while low < high {
            let middle = low + (high - low) / 2;
            if cut(&bytes, middle).len() as u64 <= self.count {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let runs = cut(&bytes, low);
        let index = usize::try_from(self.index).unwrap_or(usize::MAX);
        runs.get(index).cloned().unwrap_or(bytes.len()..bytes.len())
    }
}

/// The task that an array job's variables say: its own number.
///
/// # Errors
/// Variables that are missing or no numbers.
pub fn task_of_job(env: Lookup<'_>) -> Result<u64, ShardError> {
    let set = [SLURM, KUBERNETES, AWS].into_iter().find(|name| env(name).is_some());
    number(set.ok_or(ShardError::NoJob)?, env)
}

fn number(name: &'static str, env: Lookup<'_>) -> Result<u64, ShardError> {
    let value = env(name).ok_or(ShardError::Unset(name))?;
    value.trim().parse().map_err(|_| ShardError::Number {
        name,
        value: wimg_core::Escaped::new(&value).to_string(),
    })
}

/// Runs of at most `most` bytes each, each as long as it can be.
fn cut(bytes: &[u64], most: u64) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut start, mut sum) = (0, 0u64);
    for (at, &bytes) in bytes.iter().enumerate() {
        if sum.saturating_add(bytes) > most {
            runs.push(start..at);
            (start, sum) = (at, 0);
        }
        sum = sum.saturating_add(bytes);
    }
    runs.push(start..bytes.len());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vars: &str, shards: Option<u64>) -> Result<Shard, ShardError> {
        let vars: Vec<(&str, &str)> =
            vars.split_whitespace().filter_map(|word| word.split_once('=')).collect();
        let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        Shard::of_job(shards, &env)
    }

    #[test]
    fn schedulers_say_which_share() {
        let slurm = "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=3 \
                     SLURM_ARRAY_TASK_COUNT=4";
        let shard = |index, count| Ok(Shard { index, count });
        assert_eq!(of(slurm, None), shard(2, 4));
        assert_eq!(of(slurm, Some(8)), shard(7, 8));
        assert_eq!(of("JOB_COMPLETION_INDEX=0", Some(3)), shard(0, 3));
        assert_eq!(of("JOB_COMPLETION_INDEX=0", None), Err(ShardError::Count));
        let aws = "AWS_BATCH_JOB_ARRAY_INDEX=2 AWS_BATCH_JOB_ARRAY_SIZE=3";
        assert_eq!(of(aws, None), shard(2, 3));
        assert_eq!(of("", None), Err(ShardError::NoJob));
        let bounds = ShardError::Bounds { index: 3, count: 3 };
        assert_eq!(of("JOB_COMPLETION_INDEX=3", Some(3)), Err(bounds));
        let hole = "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=2 \
                    SLURM_ARRAY_TASK_COUNT=4";
        assert_eq!(of(hole, None), Err(ShardError::Step { id: 2, min: 1, step: 2 }));
        let unset = "SLURM_ARRAY_TASK_ID=1";
        assert_eq!(of(unset, None), Err(ShardError::Unset("SLURM_ARRAY_TASK_MIN")));
        let word = "AWS_BATCH_JOB_ARRAY_INDEX=x AWS_BATCH_JOB_ARRAY_SIZE=3";
        assert!(matches!(of(word, None), Err(ShardError::Number { .. })));
    }

    /// The least largest share, by trying every cut.
    fn best(bytes: &[u64], count: u64) -> u64 {
        if count <= 1 {
            return bytes.iter().sum();
        }
        let cuts = (0..=bytes.len()).map(|at| {
            let (now, later) = bytes.split_at(at);
            now.iter().sum::<u64>().max(best(later, count - 1))
        });
        cuts.min().unwrap_or(0)
    }

    #[test]
    fn no_cut_has_a_smaller_largest_share() {
        let mut seed = 7u64;
        let mut tried = 0;
        for length in 0..9 {
            let bytes: Vec<u64> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 33) % 100
                })
                .collect();
            let tasks: Vec<Task> = bytes.iter().map(|&bytes| Task::of_bytes(bytes)).collect();
            for count in 1..6 {
                let shares: Vec<Range<usize>> =
                    (0..count).map(|index| Shard { index, count }.tasks(&tasks)).collect();
                let mut next = 0;
                for share in &shares {
                    assert_eq!(share.start, next);
                    next = share.end;
                }
                assert_eq!(next, tasks.len());
                let largest = shares.iter().map(|s| bytes[s.clone()].iter().sum::<u64>()).max();
                assert_eq!(largest, Some(best(&bytes, count)), "{bytes:?} in {count}");
                tried += 1;
            }
        }
        assert_eq!(tried, 45);
    }
}
