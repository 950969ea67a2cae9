//! A mapping of a buffer that was asked for.

use std::sync::mpsc::{Receiver, channel};

/// A mapping of a whole buffer that was asked for.
#[derive(Debug)]
pub(super) struct Mapping(Receiver<Result<(), wgpu::BufferAsyncError>>);

impl Mapping {
    /// Asks for a buffer to be mapped once the device is done with it.
    pub(super) fn ask(buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Mapping {
        let (done, asked) = channel();
        // A receiver that is gone no longer wants to know.
        buffer.map_async(mode, .., move |result| drop(done.send(result)));
        Mapping(asked)
    }

    /// Whether it is mapped.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.0.try_recv(), Ok(Ok(())))
    }
}
