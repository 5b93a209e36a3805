//! `growth`: a log ten and a hundred times as long is read as fast, and in as much memory.

use serde_json::json;

use crate::Options;
use crate::machine;
use crate::places::Kind;
use crate::reading::{last, read_untyped};
use crate::report::{Report, median, rounded, sorted};
use crate::turns::as_f64;

pub(crate) async fn run(options: &Options, report: &mut Report) {
    let unit = options.events(100_000, 20_000);
    let sizes = if options.long { vec![unit, 10 * unit, 100 * unit] } else { vec![unit, 10 * unit] };
    for kind in Kind::READ {
        let Some(place) = kind.open().await else { continue };
        let (mut filled, mut first) = (0, None);
        for size in sizes.iter().copied() {
            place.fill(filled + 1, size).await;
            filled = size;
            // The first run finds nothing in any cache.
            read_untyped(&place, size).await;
            machine::forget_peak();
            let turns = if size == unit { 5 } else { 3 };
            let mut rates = Vec::new();
            for _ in 0..turns {
                let run = read_untyped(&place, size).await;
                assert!(run.check.count == size, "all of them, up to {}", last(size));
                rates.push(as_f64(size) / run.took.as_secs_f64());
            }
            let rate = median(&sorted(rates.into_iter()));
            let peak = machine::peak_memory().unwrap_or(f64::NAN);
            let (rate_first, peak_first) = *first.get_or_insert((rate, peak));
            let figures = json!({
                "events": size, "rate": rate.round(), "peak_mib": rounded(peak),
                "rate_ratio": rounded(rate / rate_first), "peak_ratio": rounded(peak / peak_first),
            });
            report.figure("growth", place.name(), &figures);
        }
        place.close().await;
    }
}
