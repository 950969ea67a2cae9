//! Where the images of one checkpoint in one layout are: a folder of their
//! generations, each under its id, and `current`, a link to the one to load.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use wimg_core::Digest;

use super::lock::Lock;
use super::task::Task;
use crate::error::Error;
use crate::fault;
use crate::run::RunRecord;
use crate::stop::Stop;
use crate::store::{RUN_JSON, clear_leftovers, remove_image, replace_file, sync_dir};

/// The link to the image to load.
pub(super) const CURRENT: &str = "current";
/// What the last night said of it.
pub(super) const RESULT_JSON: &str = "result.json";
/// What an image that goes is called while it goes.
const GOING: &str = ".going-";

/// The folder of one checkpoint in one layout.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
}

impl Place {
    pub(super) fn new(root: &Path, task: &Task) -> Place {
        Place { dir: root.join(&task.checkpoint).join(&task.name) }
    }

    /// Makes the folder, on the disk.
    pub(super) fn create(&self) -> Result<(), Error> {
        if self.dir.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&self.dir)
            .map_err(|cause| Error::io(&self.dir, "creating it", cause))?;
        // The names of the folder, of the checkpoint's and of the root.
        self.dir.ancestors().skip(1).take(3).filter(|dir| dir.is_dir()).try_for_each(sync_dir)
    }

    /// Waits until nobody else works here.
    pub(super) fn lock(&self, stop: &Stop, waits: impl FnOnce(&str)) -> Result<Lock, Error> {
        self.create()?;
        Lock::wait(&self.lock_path(), stop, waits)
    }

    /// Works here, unless somebody else does.
    pub(super) fn try_lock(&self) -> Result<Option<Lock>, Error> {
        self.create()?;
        match Lock::take(&self.lock_path()) {
            Err(Error::Held { .. }) => Ok(None),
            other => other.map(Some),
        }
    }

    fn lock_path(&self) -> PathBuf {
        self.dir.join(".lock")
    }

    /// What an image is built as; published, it gets its id as its name.
    pub(super) fn target(&self) -> PathBuf {
        self.dir.join("image")
    }

    /// The image of an id.
    pub(super) fn image(&self, id: &str) -> PathBuf {
        self.dir.join(id)
    }

    /// The id of the image to load, if the link leads to one.
    pub(super) fn current(&self) -> Option<String> {
        let target = fs::read_link(self.dir.join(CURRENT)).ok()?;
        let id = target.to_str().filter(|id| is_id(id))?;
        self.image(id).is_dir().then(|| id.to_owned())
    }

    /// The ids of all images, the current one first, then the newest.
    pub(super) fn images(&self) -> Result<Vec<String>, Error> {
        let failed = |cause| Error::io(&self.dir, "listing it", cause);
        let current = self.current();
        let mut images = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if let Some(id) = name.to_str().filter(|name| is_id(name)) {
                let image = self.image(id);
                let made = RunRecord::read(&image).ok().flatten().map_or(0, |run| run.time);
                // Within one second, what the file system says.
                let written = fs::metadata(image.join(RUN_JSON)).and_then(|meta| meta.modified());
                let id = id.to_owned();
                images.push((current.as_ref() == Some(&id), made, written.ok(), id));
            }
        }
        images.sort();
        Ok(images.into_iter().rev().map(|(_, _, _, id)| id).collect())
    }

    /// Makes an image the one to load, in one step.
    pub(super) fn set_current(&self, id: &str) -> Result<(), Error> {
        if self.current().as_deref() == Some(id) {
            return Ok(());
        }
        let path = self.dir.join(CURRENT);
        let failed = |cause| Error::io(&path, "pointing it at the new image", cause);
        let new = self.dir.join(".current.new");
        match fs::remove_file(&new) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(cause)),
            _ => {}
        }
        symlink(id, &new).map_err(failed)?;
        fault::at("swap").map_err(failed)?;
        fs::rename(&new, &path).map_err(failed)?;
        fault::at("swapped").map_err(failed)?;
        sync_dir(&self.dir)
    }

    /// Lets old images go: all but the first `keep`. Each first loses its name,
    /// so that nobody takes what is left of it for an image.
    pub(super) fn prune(&self, keep: usize) -> Result<(), Error> {
        for id in self.images()?.iter().skip(keep.max(1)) {
            let dir = self.image(id);
            let going = self.dir.join(format!("{GOING}{id}"));
            let failed = |cause| Error::io(&dir, "removing the old image", cause);
            fault::at("prune").map_err(failed)?;
            fs::rename(&dir, &going).map_err(failed)?;
        }
        self.clear()
    }

    /// Clears what was left by processes that were killed. The lock is held.
    pub(super) fn clear(&self) -> Result<(), Error> {
        clear_leftovers(&self.target())?;
        let failed = |cause| Error::io(&self.dir, "clearing leftovers from it", cause);
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.strip_prefix(GOING).is_some_and(is_id) {
                remove_image(&entry.path())?;
            } else if name == ".current.new" || name.starts_with(".result.json.partial-") {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Puts down what a night says of it.
    pub(super) fn write_result(&self, text: &str) -> Result<(), Error> {
        self.create()?;
        replace_file(&self.dir.join(RESULT_JSON), text.as_bytes())
    }
}

/// Whether a name is an image's id.
fn is_id(name: &str) -> bool {
    Digest::parse(name).is_some()
}
