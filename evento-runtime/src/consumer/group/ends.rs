//! Where it is told how the members of a group ended.

use std::collections::BTreeSet;

use tokio::sync::mpsc;

use crate::consumer::attempt::AttemptEnd;
use crate::consumer::delivery::DeliveryNo;
use crate::consumer::work::Report;

/// Where ends go.
pub(crate) enum Ends {
    /// All at once, to whoever runs the group.
    Kept(Vec<(DeliveryNo, AttemptEnd)>),
    /// To the consumer, as they come.
    Sent(Sent),
}

impl Ends {
    pub(crate) fn sent(to: mpsc::Sender<Vec<Report>>, members: &[DeliveryNo]) -> Self {
        Self::Sent(Sent { to, left: members.iter().copied().collect() })
    }

    /// What was kept.
    pub(crate) fn kept(self) -> Vec<(DeliveryNo, AttemptEnd)> {
        match self {
            Self::Kept(ends) => ends,
            Self::Sent(_) => Vec::new(),
        }
    }

    pub(super) async fn note(&mut self, number: DeliveryNo, end: AttemptEnd) {
        match self {
            Self::Kept(ends) => ends.push((number, end)),
            Self::Sent(sent) => {
                sent.left.remove(&number);
                let report = Report { number, end: Some(end), over: sent.left.is_empty() };
                // The consumer is gone only after an abandoned stop: then nobody records an outcome.
                let _ = sent.to.send(vec![report]).await;
            }
        }
    }
}

/// Tells of what is dropped instead of run to its end as well.
pub(crate) struct Sent {
    to: mpsc::Sender<Vec<Report>>,
    left: BTreeSet<DeliveryNo>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut self.left).into_iter();
        let Some(first) = left.next() else { return };
        // Nothing is known of the first; the others wait for it, or for a turn of their own.
        let mut reports = vec![Report { number: first, end: None, over: false }];
        reports.extend(left.map(Report::not_begun));
        if let Some(last) = reports.last_mut() {
            last.over = true;
        }
        // A full channel means that the consumer is not reading any more; it finds the deliveries open.
        let _ = self.to.try_send(reports);
    }
}
