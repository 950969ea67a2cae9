//! The kernels as the device runs them.

use wimg_shaders::{plain, stripe, tile_crc, transpose};

use super::GpuError;
use super::device::Device;
use super::tile_crc::{FEW_LANES, MANY_LANES, ONE_LANE};

/// A kernel, compiled.
#[derive(Debug)]
pub(super) struct Program {
    name: &'static str,
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroupLayout,
}

/// All kernels.
#[derive(Debug)]
pub(super) struct Programs {
    /// `plain`, `stripe` and `transpose`, which run in this order.
    packers: [Program; 3],
    /// `tile_crc`, by lanes that share a tile.
    crcs: Vec<(u32, Program)>,
}

impl Programs {
    /// Compiles the kernels, `tile_crc` for `lanes` or for all that may be chosen.
    pub(super) fn new(device: &Device, lanes: Option<u32>) -> Result<Programs, GpuError> {
        let lanes = match lanes {
            Some(lanes) => vec![lanes],
            None if device.info().software => vec![ONE_LANE, FEW_LANES],
            None => vec![FEW_LANES, MANY_LANES],
        };
        if let Some(lanes) =
            lanes.iter().find(|n| !n.is_power_of_two() || **n > tile_crc::INVOCATIONS)
        {
            let what = format!("`{lanes}` lanes a tile are not a power of two up to 64");
            return Err(GpuError::Validation { what });
        }
        device.scoped(|| {
            let packer = |entry, source| Program::new(device, entry, source, &[]);
            let crc = |lanes: u32| {
                let constants = [(tile_crc::LANES, f64::from(lanes))];
                let program = Program::new(device, tile_crc::ENTRY, tile_crc::SOURCE, &constants);
                (lanes, program)
            };
            Programs {
                packers: [
                    packer(plain::ENTRY, plain::SOURCE),
                    packer(stripe::ENTRY, stripe::SOURCE),
                    packer(transpose::ENTRY, transpose::SOURCE),
                ],
                crcs: lanes.into_iter().map(crc).collect(),
            }
        })
    }

    /// `plain`, `stripe` or `transpose`: number 0, 1 or 2.
    pub(super) fn packer(&self, kernel: usize) -> Option<&Program> {
        self.packers.get(kernel)
    }

    /// `tile_crc` for `lanes` lanes a tile.
    pub(super) fn crc(&self, lanes: u32) -> Option<&Program> {
        self.crcs.iter().find(|(of, _)| *of == lanes).map(|(_, program)| program)
    }
}

impl Program {
    fn new(
        device: &Device,
        name: &'static str,
        source: &'static str,
        constants: &[(&str, f64)],
    ) -> Program {
        let module = device.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = device.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants,
                // Every word of it is written before it is read.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        let bindings = pipeline.get_bind_group_layout(0);
        Program { name, pipeline, bindings }
    }

    /// Has the kernel run over `groups` workgroups, with these buffers as its
    /// bindings 0 to 3.
    pub(super) fn dispatch(
        &self,
        device: &Device,
        encoder: &mut wgpu::CommandEncoder,
        buffers: [wgpu::BufferBinding<'_>; 4],
        groups: u32,
    ) {
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(buffer),
            })
            .collect();
        let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(self.name),
            layout: &self.bindings,
            entries: &entries,
        });
        let (x, y) = device.grid(groups);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(self.name),
            timestamp_writes: None,
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(x, y, 1);
    }
}
