//! One bar a scenario and store: the ratio, its spread, and the aim.

use std::path::Path;

use plotters::prelude::*;

/// A bar.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) ratio: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) aim: f64,
}

/// Ratios beyond this end at the edge, with their number beside them.
const EDGE: f64 = 2.0;

pub(crate) fn draw(file: &Path, bars: &[Bar]) {
    let height = 60 + 26 * u32::try_from(bars.len()).unwrap();
    let root = SVGBackend::new(file, (960, height)).into_drawing_area();
    root.fill(&WHITE).unwrap();
    let (left, right, top) = (250, 860, 44);
    let x = |ratio: f64| {
        let part = ratio.clamp(0.0, EDGE) / EDGE * f64::from(right - left);
        #[allow(clippy::cast_possible_truncation, reason = "pixels")]
        let pixels = part as i32;
        left + pixels
    };
    let text = |at: (i32, i32), content: String| root.draw(&Text::new(content, at, ("sans-serif", 14))).unwrap();
    text((left, 8), "ours / limit; the thin line is the spread of the turns, the red mark the aim".to_owned());
    for tenth in [0.0, 0.5, 1.0, 1.5, 2.0] {
        let line = PathElement::new(vec![(x(tenth), top - 6), (x(tenth), height_of(height) - 8)], BLACK.mix(0.2));
        root.draw(&line).unwrap();
        text((x(tenth) - 8, 24), format!("{tenth:.1}"));
    }
    for (row, bar) in bars.iter().enumerate() {
        let y = top + 26 * i32::try_from(row).unwrap();
        text((8, y + 3), bar.name.clone());
        root.draw(&Rectangle::new([(left, y), (x(bar.ratio), y + 18)], BLUE.mix(0.5).filled())).unwrap();
        root.draw(&PathElement::new(vec![(x(bar.least), y + 9), (x(bar.most), y + 9)], BLACK)).unwrap();
        if bar.aim > 0.0 {
            root.draw(&PathElement::new(vec![(x(bar.aim), y), (x(bar.aim), y + 18)], RED.stroke_width(2))).unwrap();
        }
        text((right + 10, y + 3), format!("{:.2}", bar.ratio));
    }
    root.present().unwrap();
}

fn height_of(height: u32) -> i32 {
    i32::try_from(height).unwrap()
}
