//! The adapters there are, and which to take.

use super::GpuError;

/// An adapter: a GPU as one driver offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterInfo {
    /// Its number among [`adapters`].
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The API it is reached by.
    pub backend: String,
    /// The driver and its version.
    pub driver: String,
    /// What kind of device it is.
    pub kind: &'static str,
    /// Whether it is the CPU that computes: slower than the CPU packer, and
    /// never taken unasked.
    pub software: bool,
    /// The most bytes of a buffer.
    pub max_buffer: u64,
    /// The most bytes that a kernel can bind of a buffer.
    pub max_binding: u64,
    /// The most workgroups in a dimension.
    pub max_workgroups: u32,
    /// Whether it tells the time that kernels take.
    pub timestamps: bool,
    /// Whether it shares its memory with the host, so that staging is saved.
    pub shared_memory: bool,
}

impl AdapterInfo {
    fn new(number: usize, adapter: &wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let limits = adapter.limits();
        let features = adapter.features();
        let driver = [info.driver.as_str(), info.driver_info.as_str()];
        let (kind, software) = kind(info.device_type);
        let near = software || info.device_type == wgpu::DeviceType::IntegratedGpu;
        AdapterInfo {
            number,
            backend: info.backend.to_string(),
            driver: driver.join(" ").trim().to_owned(),
            kind,
            software,
            max_buffer: limits.max_buffer_size,
            max_binding: limits.max_storage_buffer_binding_size,
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            timestamps: features.contains(TIMESTAMPS),
            shared_memory: near && features.contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
            name: info.name,
        }
    }
}

/// The features that telling kernels' times takes.
pub(super) const TIMESTAMPS: wgpu::Features =
    wgpu::Features::TIMESTAMP_QUERY.union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

fn kind(device_type: wgpu::DeviceType) -> (&'static str, bool) {
    match device_type {
        wgpu::DeviceType::DiscreteGpu => ("discrete", false),
        wgpu::DeviceType::IntegratedGpu => ("integrated", false),
        wgpu::DeviceType::VirtualGpu => ("virtual", false),
        wgpu::DeviceType::Cpu => ("software", true),
        wgpu::DeviceType::Other => ("other", false),
    }
}

fn enumerate() -> Vec<(AdapterInfo, wgpu::Adapter)> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    // Validation layers are for those who write shaders: they cost time and print.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let compute = adapters.into_iter().filter(|adapter| {
        let flags = adapter.get_downlevel_capabilities().flags;
        flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
    });
    compute.enumerate().map(|(number, a)| (AdapterInfo::new(number, &a), a)).collect()
}

/// The adapters that can run the kernels.
pub fn adapters() -> Vec<AdapterInfo> {
    enumerate().into_iter().map(|(info, _)| info).collect()
}

/// The adapter that `asked` names, by number or by a part of its name in any
/// case; else the first that is not software, discrete before others; else the first.
pub(super) fn pick(asked: Option<&str>) -> Result<(AdapterInfo, wgpu::Adapter), GpuError> {
    let adapters = enumerate();
    let infos: Vec<&AdapterInfo> = adapters.iter().map(|(info, _)| info).collect();
    if infos.is_empty() {
        return Err(GpuError::NoAdapter);
    }
    let number = match asked {
        None => infos.iter().min_by_key(|info| rank(info)).map(|info| info.number),
        Some(asked) => named(&infos, asked),
    };
    let there = infos.iter().map(|info| info.name.clone()).collect();
    let asked = asked.unwrap_or_default().to_owned();
    let picked = number.and_then(|number| adapters.into_iter().nth(number));
    picked.ok_or(GpuError::NoSuchAdapter { asked, there })
}

fn rank(info: &AdapterInfo) -> (bool, bool, usize) {
    (info.software, info.kind != "discrete", info.number)
}

fn named(infos: &[&AdapterInfo], asked: &str) -> Option<usize> {
    if let Ok(number) = asked.parse::<usize>() {
        return infos.get(number).map(|info| info.number);
    }
    let asked = asked.to_lowercase();
    infos.iter().find(|info| info.name.to_lowercase().contains(&asked)).map(|info| info.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(number: usize, name: &str, kind: &'static str) -> AdapterInfo {
        AdapterInfo {
            number,
            name: name.to_owned(),
            backend: "vulkan".to_owned(),
            driver: "driver".to_owned(),
            kind,
            software: kind == "software",
            max_buffer: 1 << 28,
            max_binding: 1 << 27,
            max_workgroups: 65535,
            timestamps: true,
            shared_memory: false,
        }
    }

    #[test]
    fn a_discrete_gpu_comes_first_and_software_last() {
        let all = [
            info(0, "llvmpipe", "software"),
            info(1, "Arc", "integrated"),
            info(2, "H200", "discrete"),
        ];
        let least = |some: &[AdapterInfo]| some.iter().min_by_key(|i| rank(i)).map(|i| i.number);
        assert_eq!(least(&all), Some(2));
        assert_eq!(least(&all[..2]), Some(1));
        assert_eq!(least(&all[..1]), Some(0));
        let infos: Vec<&AdapterInfo> = all.iter().collect();
        assert_eq!(named(&infos, "1"), Some(1));
        assert_eq!(named(&infos, "h2"), Some(2));
        assert_eq!(named(&infos, "3"), None);
        assert_eq!(named(&infos, "radeon"), None);
    }
}
