//! An open device, and how its errors become ours.

use std::sync::{Arc, Mutex, PoisonError};

use wgpu::util::align_to;

use super::adapter::{self, AdapterInfo, TIMESTAMPS};
use super::{GpuError, GpuLimits, GpuOptions};

/// An open device and its one queue.
#[derive(Debug)]
pub(super) struct Device {
    info: AdapterInfo,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// The first error that no call returned.
    fault: Fault,
    limits: wgpu::Limits,
    /// Seconds of a timestamp's tick, where there are timestamps.
    pub(super) tick: Option<f64>,
    /// Whether the buffers that kernels use can be mapped.
    pub(super) shared_memory: bool,
}

/// The first error that came without a call to return it: wgpu's own handler
/// would panic.
#[derive(Clone, Debug, Default)]
struct Fault(Arc<Mutex<Option<GpuError>>>);

impl Fault {
    fn set(&self, error: GpuError) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Once a device is lost, all else follows from it.
        let lost = matches!(error, GpuError::Lost { .. });
        if first.is_none() || (lost && !matches!(*first, Some(GpuError::Lost { .. }))) {
            *first = Some(error);
        }
    }

    fn get(&self) -> Option<GpuError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Device {
    /// Opens the adapter that the options name.
    pub(super) fn open(options: &GpuOptions) -> Result<Device, GpuError> {
        let (info, adapter) = adapter::pick(options.adapter.as_deref())?;
        let shared_memory = options.shared_memory && info.shared_memory;
        let mut features = wgpu::Features::empty();
        if info.timestamps {
            features |= TIMESTAMPS;
        }
        if shared_memory {
            features |= wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
        }
        let limits = match options.limits {
            GpuLimits::Adapter => adapter.limits(),
            GpuLimits::Default => wgpu::Limits::default(),
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("wimg"),
            required_features: features,
            required_limits: limits.clone(),
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = pollster::block_on(adapter.request_device(&descriptor));
        let (device, queue) = opened
            .map_err(|e| GpuError::Open { adapter: info.name.clone(), why: e.to_string() })?;
        let fault = Fault::default();
        let uncaptured = fault.clone();
        device.on_uncaptured_error(Arc::new(move |error| uncaptured.set(GpuError::from(error))));
        let lost = fault.clone();
        device.set_device_lost_callback(move |reason, why| {
            let why = if why.is_empty() { format!("{reason:?}") } else { why };
            lost.set(GpuError::Lost { why });
        });
        let tick = info.timestamps.then(|| f64::from(queue.get_timestamp_period()) * 1e-9);
        Ok(Device { info, device, queue, fault, limits, tick, shared_memory })
    }

    /// The adapter.
    pub(super) fn info(&self) -> &AdapterInfo {
        &self.info
    }

    /// The most bytes of one of our buffers.
    pub(super) fn binding_limit(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size)
    }

    /// The least multiple at which a binding may start that is at least `offset`.
    pub(super) fn align(&self, offset: u64) -> u64 {
        let limits = &self.limits;
        let storage = limits.min_storage_buffer_offset_alignment;
        align_to(offset, u64::from(storage.max(limits.min_uniform_buffer_offset_alignment)))
    }

    /// Workgroups as a grid: in two dimensions where one is too short for them.
    /// The grid may hold more than `groups`; the shaders know.
    pub(super) fn grid(&self, groups: u32) -> (u32, u32) {
        let most = self.limits.max_compute_workgroups_per_dimension.max(1);
        let rows = groups.div_ceil(most).max(1);
        (groups.div_ceil(rows), rows)
    }

    /// Runs `commands` and gives the error that one of them caused, if any did.
    pub(super) fn scoped<T>(&self, commands: impl FnOnce() -> T) -> Result<T, GpuError> {
        use wgpu::ErrorFilter::{Internal, OutOfMemory, Validation};
        let scopes = [Internal, OutOfMemory, Validation].map(|f| self.device.push_error_scope(f));
        let value = commands();
        // The scope opened last closes first.
        let errors = scopes.into_iter().rev().map(|scope| pollster::block_on(scope.pop()));
        let error = errors.fold(None, |first: Option<wgpu::Error>, error| first.or(error));
        match (self.fault.get(), error) {
            (Some(fault), _) => Err(fault),
            (None, Some(error)) => Err(GpuError::from(error)),
            (None, None) => Ok(value),
        }
    }

    /// Waits until the device has done a submission and told of it.
    pub(super) fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: None };
        let polled = self.device.poll(wait);
        if let Some(fault) = self.fault.get() {
            return Err(fault);
        }
        polled.map(|_| ()).map_err(|error| GpuError::Lost { why: error.to_string() })
    }

    /// The error behind a failed mapping.
    pub(super) fn mapping_failed(&self, what: &str) -> GpuError {
        self.fault.get().unwrap_or_else(|| GpuError::Lost { why: what.to_owned() })
    }

    /// What destroys the device.
    pub(super) fn destroyer(&self) -> impl Fn() + Send + Sync + 'static {
        let device = self.device.clone();
        move || device.destroy()
    }
}

impl From<wgpu::Error> for GpuError {
    fn from(error: wgpu::Error) -> Self {
        match error {
            wgpu::Error::OutOfMemory { source } => {
                GpuError::OutOfMemory { what: source.to_string() }
            }
            wgpu::Error::Validation { description, .. }
            | wgpu::Error::Internal { description, .. } => {
                GpuError::Validation { what: one_line(&description) }
            }
        }
    }
}

/// wgpu tells its errors over several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
