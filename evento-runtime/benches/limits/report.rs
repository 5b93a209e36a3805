//! Lines for people, JSON for programs, a plot for both.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::plot::{self, Bar};

/// One turn of both sides, per second.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) ours: f64,
    pub(crate) limit: f64,
}

/// Everything that was measured.
#[derive(Default)]
pub(crate) struct Report {
    ratios: Vec<Value>,
    figures: Vec<Value>,
    bars: Vec<Bar>,
}

impl Report {
    /// Medians of the rates, and of the ratios of each turn.
    pub(crate) fn ratio(&mut self, scenario: &str, store: &str, aim: f64, turns: &[Turn]) {
        let ratios = sorted(turns.iter().map(|turn| turn.ours / turn.limit));
        let (ours, limit) =
            (median(&sorted(turns.iter().map(|turn| turn.ours))), median(&sorted(turns.iter().map(|turn| turn.limit))));
        let (ratio, least, most) = (median(&ratios), ratios[0], ratios[ratios.len() - 1]);
        println!(
            "RATIO {scenario} {store} {ratio:.2} ours={ours:.0} limit={limit:.0} spread={least:.2}..{most:.2} of {}",
            turns.len()
        );
        self.ratios.push(json!({
            "scenario": scenario, "store": store, "ratio": ratio, "ours": ours, "limit": limit,
            "least": least, "most": most, "runs": turns.len(), "aim": aim,
            "turns": turns.iter().map(|turn| [turn.ours.round(), turn.limit.round()]).collect::<Vec<_>>(),
        }));
        self.bars.push(Bar { name: format!("{scenario} {store}"), ratio, least, most, aim });
    }

    /// What has no limit to be compared with.
    pub(crate) fn figure(&mut self, scenario: &str, store: &str, figures: &Value) {
        let text: Vec<String> =
            figures.as_object().into_iter().flatten().map(|(name, value)| format!("{name}={value}")).collect();
        println!("FIGURE {scenario} {store} {}", text.join(" "));
        self.figures.push(json!({ "scenario": scenario, "store": store, "figures": figures }));
    }

    /// What cannot be measured here, and why.
    pub(crate) fn left_out(scenario: &str, store: &str, why: &str) {
        println!("LEFT OUT {scenario} {store}: {why}");
    }

    pub(crate) fn write(&self) {
        let folder = folder();
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("limits.json");
        let all = json!({ "ratios": self.ratios, "figures": self.figures });
        fs::write(&file, serde_json::to_vec_pretty(&all).unwrap()).unwrap();
        println!("{}", file.display());
        if !self.bars.is_empty() {
            let file = folder.join("limits.svg");
            plot::draw(&file, &self.bars);
            println!("{}", file.display());
        }
    }
}

/// `target/limits`.
pub(crate) fn folder() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    target.parent().unwrap_or(&target).join("limits")
}

/// Two digits after the point.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

pub(crate) fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// Of sorted numbers.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    numbers[numbers.len() / 2]
}
