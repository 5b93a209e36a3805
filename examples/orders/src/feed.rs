//! The events to append: generated, or read from a file. Every event has a stable id, so that a second run appends
//! nothing twice.

use std::io::BufRead;

use evento_runtime::{EventId, NewEvent};
use order_views::events::{LineAdded, OrderPaid, OrderPlaced};
use serde::Deserialize;

const CUSTOMERS: [&str; 8] = ["ada", "barbara", "claude", "donald", "edsger", "frances", "grace", "hedy"];
const ARTICLES: [&str; 5] = ["lamp", "chair", "kettle", "atlas", "bicycle"];

/// Events of one order: placed, three lines, paid.
const PER_ORDER: u64 = 5;
/// Orders that are open at a time, so that keys interleave.
const OPEN: u64 = 50;

/// Event number `n`, from 0. Always the same for the same number.
pub(crate) fn generated(n: u64) -> NewEvent {
    // Round robin over a group of open orders.
    let group = n / (OPEN * PER_ORDER);
    let (step, order) = ((n / OPEN) % PER_ORDER, group * OPEN + n % OPEN);
    let order_id = format!("order-{order}");
    let customer = pick(&CUSTOMERS, order).to_owned();
    let price = |step: u64| i64::try_from(500 + (order * 7 + step * 131) % 9_500).unwrap_or_default();
    let event = match step {
        0 => OrderPlaced { order_id, customer }.into(),
        4 => OrderPaid { order_id, customer, cents: (1..4).map(price).sum() }.into(),
        step => LineAdded { order_id, article: pick(&ARTICLES, order + step).to_owned(), cents: price(step) }.into(),
    };
    let event: NewEvent = event;
    event.id(EventId::foreign("orders-example", &n.to_string()))
}

fn pick<'a>(of: &[&'a str], n: u64) -> &'a str {
    usize::try_from(n).map_or("", |n| of[n % of.len()])
}

/// A line of an input file.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum Line {
    OrderPlaced(OrderPlaced),
    LineAdded(LineAdded),
    OrderPaid(OrderPaid),
}

/// The events of a file, each with its line number. A line that is none is told and passed over.
pub(crate) fn from_file(file: impl BufRead, mut told: impl FnMut(u64, String)) -> Vec<(u64, NewEvent)> {
    let mut events = Vec::new();
    for (number, line) in (1_u64..).zip(file.split(b'\n')) {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                told(number, error.to_string());
                break;
            }
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let event: NewEvent = match serde_json::from_slice(&line) {
            Ok(Line::OrderPlaced(event)) => event.into(),
            Ok(Line::LineAdded(event)) => event.into(),
            Ok(Line::OrderPaid(event)) => event.into(),
            Err(error) => {
                told(number, error.to_string());
                continue;
            }
        };
        // The id is made of the content and the place: the same file again is known.
        let id = format!("{number}:{}", String::from_utf8_lossy(&line));
        events.push((number, event.id(EventId::foreign("orders-example-input", &id))));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_line_is_told_and_the_rest_goes_on() {
        let text = b"{\"type\":\"OrderPlaced\",\"order_id\":\"1\",\"customer\":\"ada\"}\nnot json\n\n\xff\n{\"type\":\"Unknown\"}\n{\"type\":\"OrderPaid\",\"order_id\":\"1\",\"customer\":\"ada\",\"cents\":5}";
        let mut bad = Vec::new();
        let events = from_file(&text[..], |line, _| bad.push(line));
        assert_eq!(events.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 6]);
        assert_eq!(bad, [2, 4, 5]);
    }
}
