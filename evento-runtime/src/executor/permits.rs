//! The fair pool of permits that every bounded executor is built on.
//!
//! [`Tickets`] decides and knows neither locks nor time; [`Permits`] is the shell that waits.
//!
//! This file is compiled a second time by the models of the test package, with other locks in `crate::sync`: it names
//! none by another path, and keeps its tests beside it.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio::sync::{oneshot, watch};

use super::{Admission, ExecutorStats, Permit, PermitPool, Work};
use crate::identity::ConsumerId;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// Who waits, in which turn, and how many permits are out. `T` is what a waiting ticket carries.
#[derive(Debug)]
pub(super) struct Tickets<T> {
    capacity: usize,
    pub(super) in_use: usize,
    /// Consumers with waiting tickets: of those with the fewest permits the first is served next, and then goes to the
    /// end.
    pub(super) lines: VecDeque<Line<T>>,
    /// Who has permits out; places of those who have none are given to others.
    users: Vec<User>,
    /// Whoever has let others go first: free permits are its own until one comes back.
    has_let_others: Option<usize>,
    next: u64,
    closed: bool,
    admitted: u64,
    rejected: u64,
    peak: usize,
}

#[derive(Debug)]
struct User {
    consumer: Arc<ConsumerId>,
    in_use: usize,
}

#[derive(Debug)]
pub(super) struct Line<T> {
    consumer: Arc<ConsumerId>,
    tickets: VecDeque<(u64, T)>,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A permit is out, to be given back under this number.
    Granted(usize),
    /// None is free: queue up.
    Wait,
    /// One is free, but this consumer has its share of them, and others are at work: let them go first, then ask
    /// again.
    LetOthers,
    /// Closed.
    Refused,
}

impl<T> Tickets<T> {
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            in_use: 0,
            lines: VecDeque::new(),
            users: Vec::new(),
            has_let_others: None,
            next: 0,
            closed: false,
            admitted: 0,
            rejected: 0,
            peak: 0,
        }
    }

    /// Asks for a permit now. Never goes past somebody who waits, and takes more than an equal share only after
    /// [`ask_again`](Self::ask_again): when many permits come back at once, others may not have been able to ask yet.
    pub(super) fn ask(&mut self, consumer: &Arc<ConsumerId>) -> Asked {
        if self.closed {
            self.rejected += 1;
            return Asked::Refused;
        }
        if self.in_use >= self.capacity || !self.lines.is_empty() {
            return Asked::Wait;
        }
        let user = self.user(consumer);
        if self.has_let_others != Some(user) && self.has_its_share(user) {
            return Asked::LetOthers;
        }
        self.grant(user);
        Asked::Granted(user)
    }

    /// Asks once others had their chance.
    pub(super) fn ask_again(&mut self, consumer: &Arc<ConsumerId>) -> Asked {
        self.has_let_others = Some(self.user(consumer));
        self.ask(consumer)
    }

    /// Whether somebody else has permits, or waits for some.
    pub(super) fn is_shared(&self, consumer: &Arc<ConsumerId>) -> bool {
        self.lines.iter().any(|line| !is_same(&line.consumer, consumer))
            || self.users.iter().any(|user| user.in_use > 0 && !is_same(&user.consumer, consumer))
    }

    fn has_its_share(&self, user: usize) -> bool {
        let others = self.users.iter().enumerate().filter(|(other, one)| *other != user && one.in_use > 0).count();
        others > 0 && self.users[user].in_use >= (self.capacity / (others + 1)).max(1)
    }

    fn held_by(&self, consumer: &Arc<ConsumerId>) -> usize {
        self.users.iter().find(|user| is_same(&user.consumer, consumer)).map_or(0, |user| user.in_use)
    }

    /// The place of a consumer.
    fn user(&mut self, consumer: &Arc<ConsumerId>) -> usize {
        let same = |user: &User| is_same(&user.consumer, consumer);
        let found = self.users.iter().position(same).or_else(|| {
            let idle = self.users.iter().position(|user| user.in_use == 0)?;
            self.users[idle].consumer = Arc::clone(consumer);
            Some(idle)
        });
        found.unwrap_or_else(|| {
            self.users.push(User { consumer: Arc::clone(consumer), in_use: 0 });
            self.users.len() - 1
        })
    }

    /// Queues up behind the consumer's own tickets and answers the ticket's number.
    pub(super) fn queue(&mut self, consumer: &Arc<ConsumerId>, ticket: T) -> u64 {
        let number = self.next;
        self.next += 1;
        match self.lines.iter_mut().find(|line| is_same(&line.consumer, consumer)) {
            Some(line) => line.tickets.push_back((number, ticket)),
            None => {
                let tickets = VecDeque::from([(number, ticket)]);
                self.lines.push_back(Line { consumer: Arc::clone(consumer), tickets });
            }
        }
        number
    }

    /// Takes a ticket out of its queue; `None` if it is no longer there.
    pub(super) fn withdraw(&mut self, number: u64) -> Option<T> {
        for (at, line) in self.lines.iter_mut().enumerate() {
            if let Some(place) = line.tickets.iter().position(|(other, _)| *other == number) {
                let (_, ticket) = line.tickets.remove(place)?;
                if line.tickets.is_empty() {
                    let _ = self.lines.remove(at);
                }
                return Some(ticket);
            }
        }
        None
    }

    /// A permit came back. It passes to the next ticket in turn, if there is one, under the number that is answered.
    /// Not simply round: whose handlers take longer would hold more and more permits.
    pub(super) fn give_back(&mut self, user: usize) -> Option<(T, usize)> {
        self.in_use -= 1;
        self.users[user].in_use -= 1;
        self.has_let_others = None;
        let next = (0..self.lines.len()).min_by_key(|at| self.held_by(&self.lines[*at].consumer))?;
        let mut line = self.lines.remove(next)?;
        let (_, ticket) = line.tickets.pop_front()?;
        let next = self.user(&line.consumer);
        if !line.tickets.is_empty() {
            self.lines.push_back(line);
        }
        self.grant(next);
        Some((ticket, next))
    }

    /// Refuses everything from now on and answers who waited.
    pub(super) fn close(&mut self) -> Vec<T> {
        self.closed = true;
        let waiting: Vec<T> = self.lines.drain(..).flat_map(|line| line.tickets).map(|(_, ticket)| ticket).collect();
        self.rejected += waiting.len() as u64;
        waiting
    }

    pub(super) const fn reject(&mut self) {
        self.rejected += 1;
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.closed && self.in_use == 0
    }

    fn grant(&mut self, user: usize) {
        self.in_use += 1;
        self.users[user].in_use += 1;
        self.admitted += 1;
        self.peak = self.peak.max(self.in_use);
    }
}

fn is_same(one: &Arc<ConsumerId>, other: &Arc<ConsumerId>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// [`Tickets::ask`], or [`Tickets::ask_again`].
type Ask = fn(&mut Tickets<oneshot::Sender<Permit>>, &Arc<ConsumerId>) -> Asked;

/// A pool of permits. A permit travels inside the answer to a ticket, so one that nobody picks up gives itself back.
pub(super) struct Permits {
    pub(super) tickets: Mutex<Tickets<oneshot::Sender<Permit>>>,
    completed: AtomicU64,
    failed: AtomicU64,
    /// Turns true once the pool is closed and every permit is back.
    idle: watch::Sender<bool>,
    this: Weak<Self>,
}

impl Permits {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            tickets: Mutex::new(Tickets::new(capacity)),
            completed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            idle: watch::Sender::new(false),
            this: Weak::clone(this),
        })
    }

    fn permit(&self, user: usize) -> Option<Permit> {
        // Never `None` while somebody calls a method of it: pools live in an `Arc` only.
        Some(Permit::new(self.this.upgrade()?, user))
    }

    /// Waits for a permit; `None` after `admission.wait`, or once closed. Cancel-safe.
    pub(super) async fn admit(&self, admission: Admission) -> Option<Permit> {
        let (mut asked, mut ticket) = self.ask_or_queue(&admission, Tickets::ask);
        if asked == Asked::LetOthers {
            tokio::task::yield_now().await;
            (asked, ticket) = self.ask_or_queue(&admission, Tickets::ask_again);
        }
        match (asked, ticket) {
            (Asked::Granted(user), _) => self.permit(user),
            (Asked::Wait, Some(ticket)) => ticket.wait(admission.wait).await,
            _ => None,
        }
    }

    /// See [`Tickets::is_shared`].
    pub(super) fn is_shared(&self, consumer: &Arc<ConsumerId>) -> bool {
        lock(&self.tickets).is_shared(consumer)
    }

    /// In one step: what comes back meanwhile would find nobody.
    fn ask_or_queue(&self, admission: &Admission, ask: Ask) -> (Asked, Option<Ticket<'_>>) {
        let mut tickets = lock(&self.tickets);
        match ask(&mut tickets, &admission.consumer) {
            Asked::Wait if admission.wait.is_zero() => {
                tickets.reject();
                (Asked::Refused, None)
            }
            Asked::Wait => {
                let (grant, granted) = oneshot::channel();
                let number = tickets.queue(&admission.consumer, grant);
                (Asked::Wait, Some(Ticket { pool: self, number, queued: true, granted }))
            }
            asked => (asked, None),
        }
    }

    /// Refuses new admissions; who waits gets `None`.
    pub(super) fn refuse(&self) {
        let (waiting, idle) = {
            let mut tickets = lock(&self.tickets);
            (tickets.close(), tickets.is_idle())
        };
        drop(waiting);
        if idle {
            self.idle.send_replace(true);
        }
    }

    /// Waits until it is closed and every permit is back. Cancel-safe.
    pub(super) async fn idle(&self) {
        // The sender is `self`.
        let _ = self.idle.subscribe().wait_for(|idle| *idle).await;
    }

    pub(super) fn stats(&self) -> ExecutorStats {
        let tickets = lock(&self.tickets);
        ExecutorStats {
            in_flight: tickets.in_use,
            admitted: tickets.admitted,
            rejected: tickets.rejected,
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            peak: tickets.peak,
            paced: 0,
            waits_for_rate: false,
        }
    }

    /// What an executor runs: the work, with its permit held to the end, whatever the end is.
    pub(super) fn spend(self: &Arc<Self>, permit: Permit, work: Work) -> impl Future<Output = ()> + Send + 'static {
        let spending = Spending { pool: Arc::clone(self), work: Some(work.future), ended: false, permit: Some(permit) };
        async move {
            let mut spending = spending;
            if let Some(work) = spending.work.as_mut() {
                work.await;
                spending.ended = true;
            }
        }
    }
}

impl PermitPool for Permits {
    fn give_back(&self, slot: usize) {
        let (next, idle) = {
            let mut tickets = lock(&self.tickets);
            (tickets.give_back(slot), tickets.is_idle())
        };
        if let Some((next, user)) = next
            && let Some(permit) = self.permit(user)
        {
            // A receiver that is gone hands the permit back to us, and its drop passes it on.
            drop(next.send(permit));
        }
        if idle {
            self.idle.send_replace(true);
        }
    }
}

/// A place in the queue. Dropping it leaves the queue; a permit that was already sent comes back with the channel.
struct Ticket<'a> {
    pool: &'a Permits,
    number: u64,
    /// May still stand in the queue.
    queued: bool,
    granted: oneshot::Receiver<Permit>,
}

impl Ticket<'_> {
    async fn wait(mut self, at_most: std::time::Duration) -> Option<Permit> {
        tokio::select! {
            biased;
            granted = &mut self.granted => {
                self.queued = false;
                // An error: the pool was closed, and counted us.
                granted.ok()
            }
            () = tokio::time::sleep(at_most) => {
                self.queued = false;
                let withdrawn = {
                    let mut tickets = lock(&self.pool.tickets);
                    let withdrawn = tickets.withdraw(self.number);
                    if withdrawn.is_some() {
                        tickets.reject();
                    }
                    withdrawn
                };
                // Out of the queue without our doing: a permit is under way, or the pool was closed.
                if withdrawn.is_some() { None } else { (&mut self.granted).await.ok() }
            }
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if self.queued {
            // Before the receiver goes: whoever is found in the queue can be reached, but for one that leaves right
            // now. The sender drops after the lock: it may wake somebody.
            let withdrawn = lock(&self.pool.tickets).withdraw(self.number);
            drop(withdrawn);
        }
    }
}

/// Work under way. Fields drop in this order: the work with all it holds, then the permit.
struct Spending {
    pool: Arc<Permits>,
    work: Option<futures_util::future::BoxFuture<'static, ()>>,
    /// Whether the work came to its end.
    ended: bool,
    permit: Option<Permit>,
}

impl Drop for Spending {
    fn drop(&mut self) {
        self.work = None;
        if !self.ended {
            self.pool.failed.fetch_add(1, Ordering::Relaxed);
        }
        self.pool.completed.fetch_add(1, Ordering::Relaxed);
        self.permit = None;
    }
}
