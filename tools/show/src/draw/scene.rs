//! A picture before it is written as SVG, PNG or PDF: paths, texts and pixels.

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// Texts and axes.
pub const INK: Colour = Colour(0x1a, 0x1a, 0x1a);
/// Texts of less weight.
pub const FAINT: Colour = Colour(0x55, 0x55, 0x55);
/// Lines behind the data.
pub const GRID: Colour = Colour(0xdd, 0xdd, 0xdd);
/// The background.
pub const PAPER: Colour = Colour(0xff, 0xff, 0xff);

/// How a line is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Stroke {
    /// The colour.
    pub colour: Colour,
    /// The width, pixels.
    pub width: f64,
    /// On, off; none: solid.
    pub dash: Option<(f64, f64)>,
}

impl Stroke {
    /// A line without gaps.
    pub const fn solid(colour: Colour, width: f64) -> Stroke {
        Stroke { colour, width, dash: None }
    }
}

/// Where a text is relative to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A thing that is drawn.
#[derive(Debug)]
pub enum Item {
    /// A path in SVG's notation, absolute and relative lines only.
    Path {
        /// The path.
        data: String,
        /// The colour inside; `None`: nothing.
        fill: Option<Colour>,
        /// The line along it; `None`: nothing.
        stroke: Option<Stroke>,
        /// No more is drawn than lies in this area; `None`: all.
        within: Option<Area>,
        /// The number and the name of the layer of marks that it draws.
        layer: Option<(usize, String)>,
    },
    /// Pixels over an area.
    Image {
        /// The area.
        area: Area,
        /// Pixels in a row.
        width: usize,
        /// The pixels, row by row from the top.
        pixels: Vec<Colour>,
        /// The number of the layer of marks that it draws.
        layer: usize,
    },
    /// A line of text.
    Text {
        /// Its place, pixels from the left and from the top.
        at: (f64, f64),
        /// Where the text lies relative to the place.
        anchor: Anchor,
        /// The height of the letters, pixels.
        size: f64,
        /// The text.
        text: String,
        /// The colour.
        colour: Colour,
        /// True if it runs from the bottom up.
        upright: bool,
        /// True if it stands where a value does: the label of a tick.
        is_tick: bool,
    },
}

/// A rectangle, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// From the left edge of the scene.
    pub left: f64,
    /// From its upper edge.
    pub top: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// Splits an image into rectangles of one colour: runs of equal pixels of each row.
pub fn runs(area: Area, width: usize, pixels: &[Colour]) -> Vec<(Area, Colour)> {
    let rows = pixels.chunks(width.max(1));
    let (across, down) = (area.width / width as f64, area.height / rows.len() as f64);
    let mut found = Vec::new();
    for (row, pixels) in rows.enumerate() {
        let mut column = 0;
        for same in pixels.chunk_by(|a, b| a == b) {
            let (left, top) = (area.left + across * column as f64, area.top + down * row as f64);
            found.push((Area { left, top, width: across * same.len() as f64, height: down }, same[0]));
            column += same.len();
        }
    }
    found
}

impl Area {
    /// The right edge.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// The lower edge.
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// A picture, as the things that are drawn one after the other.
#[derive(Debug)]
pub struct Scene {
    /// The width, pixels.
    pub width: f64,
    /// The height, pixels.
    pub height: f64,
    /// The text for readers that cannot see the picture.
    pub title: String,
    /// The things, from the bottom to the top.
    pub items: Vec<Item>,
}

impl Scene {
    /// A picture without things.
    pub fn new(width: f64, height: f64, title: String) -> Scene {
        Scene { width, height, title, items: Vec::new() }
    }

    /// Fills an area.
    pub fn fill(&mut self, area: Area, colour: Colour) {
        self.path(rectangle(area), Some(colour), None, None);
    }

    /// Draws the edges of an area.
    pub fn edge(&mut self, area: Area, stroke: Stroke) {
        self.path(rectangle(area), None, Some(stroke), None);
    }

    /// Draws a line between two places.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        let data = format!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1);
        self.path(data, None, Some(stroke), None);
    }

    /// Any path, seen within an area.
    pub fn path(&mut self, data: String, fill: Option<Colour>, stroke: Option<Stroke>, within: Option<Area>) {
        if !data.is_empty() {
            self.items.push(Item::Path { data, fill, stroke, within, layer: None });
        }
    }

    /// Writes a text at a place.
    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, size: f64, colour: Colour, text: impl Into<String>) {
        self.items.push(Item::Text { at, anchor, size, text: text.into(), colour, upright: false, is_tick: false });
    }

    /// The label of a tick, or of a place of the data.
    pub fn tick(&mut self, at: (f64, f64), anchor: Anchor, size: f64, colour: Colour, text: String) {
        self.items.push(Item::Text { at, anchor, size, text, colour, upright: false, is_tick: true });
    }

    /// A line of text that runs upwards.
    pub fn upright(&mut self, at: (f64, f64), size: f64, colour: Colour, text: impl Into<String>) {
        self.items.push(Item::Text {
            at,
            anchor: Anchor::Middle,
            size,
            text: text.into(),
            colour,
            upright: true,
            is_tick: false,
        });
    }
}

/// The path of the edges of an area.
pub fn rectangle(area: Area) -> String {
    let Area { left, top, width, height } = area;
    format!("M{left:.1} {top:.1}h{width:.1}v{height:.1}h{:.1}z", -width)
}
