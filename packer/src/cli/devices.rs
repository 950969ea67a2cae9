//! `wimg devices`: the GPUs that could pack.

use wimg_core::Escaped;

use super::Console;
use super::args::{DevicesArgs, OutputFormat};
use super::failure::Failure;
use super::quantity::Bytes;
use super::record::Record;
use crate::error::Error;
use crate::gpu::{AdapterInfo, GpuError, adapters};

pub(crate) fn run(args: &DevicesArgs, console: &mut Console<'_>) -> Result<(), Failure> {
    let adapters = adapters();
    if adapters.is_empty() {
        return Err(Failure::from(Error::from(GpuError::NoAdapter)));
    }
    let format = args.output.format;
    for (number, adapter) in adapters.iter().enumerate() {
        let text = match format {
            OutputFormat::Text => text(adapter),
            OutputFormat::Json => record(adapter).json(),
            OutputFormat::Csv if number == 0 => {
                record(adapter).csv_header() + &record(adapter).csv()
            }
            OutputFormat::Csv => record(adapter).csv(),
        };
        console.out.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn record(adapter: &AdapterInfo) -> Record {
    Record(vec![
        ("number", (adapter.number as u64).into()),
        ("name", adapter.name.clone().into()),
        ("api", adapter.backend.clone().into()),
        ("driver", adapter.driver.clone().into()),
        ("kind", adapter.kind.into()),
        ("software", adapter.software.into()),
        ("max_buffer_bytes", adapter.max_buffer.into()),
        ("max_binding_bytes", adapter.max_binding.into()),
        ("max_workgroups", adapter.max_workgroups.into()),
        ("timestamps", adapter.timestamps.into()),
        ("shared_memory", adapter.shared_memory.into()),
    ])
}

fn text(adapter: &AdapterInfo) -> String {
    let name = Escaped::new(&adapter.name);
    let choice = if adapter.software {
        "software, slower than the CPU packer: taken only by --backend gpu"
    } else {
        "tried by --backend auto"
    };
    let yes = |flag| if flag { "yes" } else { "no" };
    let lines = [
        ("kind", format!("{}: {choice}", adapter.kind)),
        ("reached by", adapter.backend.clone()),
        ("driver", Escaped::new(&adapter.driver).to_string()),
        ("a buffer", format!("at most {}", Bytes(adapter.max_buffer))),
        ("a binding", format!("at most {}", Bytes(adapter.max_binding))),
        ("workgroups", format!("at most {} in a dimension", adapter.max_workgroups)),
        ("timestamps", yes(adapter.timestamps).to_owned()),
        ("shares memory", yes(adapter.shared_memory).to_owned()),
    ];
    let lines: String =
        lines.iter().map(|(name, value)| format!("   {name:<14} {value}\n")).collect();
    format!("{}  {name}\n{lines}", adapter.number)
}
