//! The image that is shown: planned again only when it is another.

use wimg_core::{ImageLayout, ImageRow, Plan, Selection, Tile};

use crate::model::kind::{ColourBy, Kinds};
use crate::model::subject::Subject;
use crate::page::App;

/// An image, planned.
pub(crate) struct Shown {
    /// The subject's key.
    pub(crate) subject: String,
    pub(crate) plan: Plan,
    pub(crate) row: ImageRow,
    pub(crate) colour: ColourBy,
    pub(crate) kinds: Kinds,
}

impl Shown {
    fn new(
        subject: &Subject,
        selection: Selection,
        layout: &ImageLayout,
        colour: ColourBy,
    ) -> Result<Shown, String> {
        let plan = subject.plan(selection, layout)?;
        let row = ImageRow::new(&subject.name(), &plan).map_err(|error| error.to_string())?;
        let kinds = Kinds::new(plan.image().tensors(), colour);
        Ok(Shown { subject: subject.key.clone(), plan, row, colour, kinds })
    }

    /// The most lines that a channel holds, of all that are worth showing.
    pub(crate) fn all_lines(&self) -> u64 {
        self.plan.image().channel_lines().iter().max().copied().unwrap_or(0).max(1)
    }

    fn is(&self, key: &str, selection: Selection, layout: &ImageLayout) -> bool {
        self.subject == key
            && self.plan.selection() == selection
            && self.plan.image().layout() == layout
    }
}

/// Plans what the state asks for, where that is not what is planned already.
pub(crate) fn refresh(app: &mut App) {
    let state = &app.state;
    let Some(key) = state.subject.clone() else {
        app.shown = None;
        return;
    };
    let Some(subject) = app.library.find(&key) else {
        let key = wimg_core::Escaped::new(&key).to_string();
        app.shown =
            Some(Err(format!("`{key}` is not open here: open its file, and this link shows it.")));
        app.beside = None;
        return;
    };
    let other = state.other.unwrap_or_else(|| beside(&state.layout));
    for (place, layout) in [(&mut app.shown, state.layout), (&mut app.beside, other)] {
        let same = matches!(place, Some(Ok(shown)) if shown.is(&key, state.selection, &layout));
        if !same {
            *place = Some(Shown::new(subject, state.selection, &layout, state.colour));
        }
        if let Some(Ok(shown)) = place
            && shown.colour != state.colour
        {
            shown.colour = state.colour;
            shown.kinds = Kinds::new(shown.plan.image().tensors(), state.colour);
        }
    }
}

/// What stands beside a layout where nobody has chosen: the card's other beat.
pub(crate) fn beside(layout: &ImageLayout) -> ImageLayout {
    if layout.line_bytes == 72 { ImageLayout::beat64() } else { ImageLayout::beat72() }
}

impl App {
    /// The image, if there is one.
    pub(crate) fn image(&self) -> Option<&Shown> {
        self.shown.as_ref()?.as_ref().ok()
    }

    /// The pinned tile, if the image has it.
    pub(crate) fn pinned(&self) -> Option<Tile> {
        self.image()?.plan.image().tile(self.state.tile?)
    }
}
