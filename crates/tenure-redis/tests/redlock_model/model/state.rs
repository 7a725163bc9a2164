//! What the nodes and the clients know at one moment.

use super::rules::Rules;
use super::{CLIENTS, NODES, QUORUM, RIVALS};

/// What a request asks for. A release needs no entry: see [`Action::Release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Acquire,
    Stamp,
    Extend,
}

/// A request. Whose claim it bears is known from where it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(super) kind: Kind,
    pub(super) token: u8,
}

/// Whose claim holds the key on a node. A claim is made for one attempt, and ends with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Holder {
    #[default]
    Nobody,
    /// The claim of the attempt that this client is at.
    Client(u8),
    /// A claim whose attempt is over.
    Dead,
    /// The same, and the late request on its way to this node bears that claim.
    Late,
}

/// What one client has heard from one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct View {
    /// A counted grant: the least token that this node allows, 0 if there is none.
    pub(super) least: u8,
    /// A counted stamp, or a counted extension once the guard stands.
    pub(super) voted: bool,
    /// 0: never heard of it. 1: its first run. Above: the tick, plus 2, at which the client saw the run id change.
    /// [`OTHER_RUN`]: saw the second run only, so there was no change to see.
    pub(super) run: u8,
}
pub(super) const OTHER_RUN: u8 = u8::MAX;

/// One node: its memory, its clock, the requests on their way to it, and what the clients know of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(super) holder: Holder,
    /// When the hold ends, by this node's clock.
    pub(super) expiry: u8,
    /// The token stamped on the hold, 0 if none.
    pub(super) stamped: u8,
    /// The largest token seen. It outlives the hold, and is lost only by a restart.
    pub(super) watermark: u8,
    /// How far its clock is ahead of real time.
    pub(super) ahead: u8,
    /// By its own clock, when its second run begins; 0 in the first run.
    pub(super) boot: u8,
    /// Its clock has gained its one tick.
    pub(super) gained: bool,
    /// A request on its way here that has outlived its attempt.
    pub(super) late: Option<Request>,
    pub(super) view: [View; CLIENTS],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Phase {
    #[default]
    Idle,
    Acquiring,
    Stamping,
    Holding,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Client {
    pub(super) phase: Phase,
    /// When the extension under way began, 0 if there is none.
    pub(super) extending: u8,
    /// The token of the attempt, 0 before it has one.
    pub(super) token: u8,
    /// From here on neither the attempt nor its guard counts.
    pub(super) deadline: u8,
    /// The largest token of a guard that was granted before this attempt began.
    pub(super) floor: u8,
    /// The tokens of guards that were granted to the other client during this attempt.
    pub(super) rivals: [u8; RIVALS],
    /// The guard had lapsed when another one was granted: it must not come back.
    pub(super) outrun: bool,
    /// For the guard that is held: what came before it ([`MARK_TURN`] and others).
    pub(super) marks: u8,
}
/// The guard before it was the other client's.
pub(super) const MARK_TURN: u8 = 1;
pub(super) const MARK_JUMP: u8 = 2;
pub(super) const MARK_RESTART: u8 = 4;
pub(super) const MARK_EXTENDED: u8 = 8;
/// An extension was begun: its requests may be under way, also after it failed.
pub(super) const MARK_ASKED: u8 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct State {
    /// Real time, and the time of every client.
    pub(super) now: u8,
    pub(super) nodes: [Node; NODES],
    pub(super) clients: [Client; CLIENTS],
    /// Attempts, extensions, and requests that outlived their attempt, so far.
    pub(super) attempts: u8,
    pub(super) extensions: u8,
    pub(super) late: u8,
    pub(super) jumped: bool,
    pub(super) restarted: bool,
    /// The largest token of all guards so far, and whose guard was the last.
    pub(super) top: u8,
    pub(super) last: u8,
    /// A guard got a token that it must not have.
    pub(super) disordered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Real time goes on.
    Tick,
    /// A client notes the time and asks all nodes.
    Begin(usize),
    /// A client takes the grants of these nodes (a bit set), makes the token, and asks all nodes to stamp it.
    Collect(usize, u8),
    /// A client has a majority of stamps: the guard exists.
    Grant(usize),
    /// A holder asks all nodes for more time.
    Extend(usize),
    /// A holder has a majority for more time.
    Renew(usize),
    /// A holder waits no longer for such a majority. Its guard stands until the old deadline.
    Fail(usize),
    /// A client gives up its attempt or its guard, and asks all nodes to release.
    Quit(usize),
    /// The same, with a request still on its way to this node.
    QuitLate(usize, usize, Kind),
    /// A node answers a request of an attempt that lasts.
    Answer { node: usize, kind: Kind, client: usize },
    /// A node answers a request that outlived its attempt.
    AnswerLate(usize),
    /// A node lets go of the hold of a dead attempt: a release reaches it.
    Release(usize),
    /// A node's clock jumps forward.
    Jump(usize),
    /// A node's clock gains a tick.
    Gain(usize),
    /// A node comes back empty.
    Restart(usize),
}

pub(super) fn bit(node: usize) -> u8 {
    1 << node
}

pub(super) fn holder(client: usize) -> Holder {
    Holder::Client(u8::from(client == 1))
}

impl Node {
    pub(super) fn clock(&self, now: u8) -> u8 {
        now + self.ahead
    }

    pub(super) fn is_up(&self, now: u8) -> bool {
        self.boot == 0 || self.clock(now) >= self.boot
    }

    pub(super) fn is_free(&self) -> bool {
        self.holder == Holder::Nobody
    }

    pub(super) fn free(&mut self) {
        (self.holder, self.expiry, self.stamped) = (Holder::Nobody, 0, 0);
    }

    pub(super) fn raise(&mut self, token: u8) {
        self.watermark = self.watermark.max(token);
    }

    /// Whether this client leaves the node's vote out, judged when the reply is made.
    pub(super) fn abstains(&mut self, client: usize, now: u8, rules: &Rules) -> bool {
        if rules.downtime == 0 {
            return false;
        }
        // The uptime is the node's word, and by its wall clock, as Redis reckons it: a jump makes it larger.
        let young = self.boot != 0 && self.clock(now) < self.boot + rules.lease;
        let run = &mut self.view[client].run;
        if rules.abstain.by_run_id() {
            *run = match (*run, self.boot) {
                (0, 0) => 1,
                (0, _) => OTHER_RUN,
                (1, boot) if boot != 0 => now + 2,
                (same, _) => same,
            };
        }
        let changed = (2..OTHER_RUN).contains(run) && now < *run - 2 + rules.lease;
        (rules.abstain.by_uptime() && young) || (rules.abstain.by_run_id() && changed)
    }
}

impl Client {
    /// The requests that this client may have under way.
    pub(super) fn requests(&self) -> &'static [Kind] {
        match self.phase {
            Phase::Idle => &[],
            Phase::Acquiring => &[Kind::Acquire],
            Phase::Holding if self.marks & MARK_ASKED != 0 => &[Kind::Acquire, Kind::Stamp, Kind::Extend],
            // With a guard too: the majority was there without the third node, whose requests may still be under way.
            Phase::Stamping | Phase::Holding => &[Kind::Acquire, Kind::Stamp],
        }
    }

    pub(super) fn is_valid(&self, now: u8) -> bool {
        self.phase == Phase::Holding && now < self.deadline
    }
}

impl State {
    /// The attempt is over, and a release goes to all nodes, also those that did not grant: the grant may be under way.
    /// Its claim is known to the nodes only.
    pub(super) fn end(&mut self, client: usize) {
        self.clients[client] = Client::default();
        for node in &mut self.nodes {
            if node.holder == holder(client) {
                node.holder = Holder::Dead;
            }
        }
    }

    pub(super) fn votes(&self, client: usize) -> usize {
        self.nodes.iter().filter(|node| node.view[client].voted).count()
    }

    pub(super) fn is_backed(&self, client: usize) -> bool {
        let nodes = self.nodes.iter().filter(|node| node.holder == holder(client)).count();
        nodes >= QUORUM || !self.clients[client].is_valid(self.now)
    }

    pub(super) fn is_marked(&self, mark: u8) -> bool {
        self.clients.iter().any(|client| client.marks & mark != 0)
    }

    /// The guard exists from here on: its token is compared with those before it.
    pub(super) fn grant(&mut self, client: usize) {
        let token = self.clients[client].token;
        let me = &mut self.clients[client];
        me.phase = Phase::Holding;
        me.marks = (u8::from(self.last != 0 && usize::from(self.last) != client + 1) * MARK_TURN)
            | (u8::from(self.jumped) * MARK_JUMP)
            | (u8::from(self.restarted) * MARK_RESTART);
        // Two guards share a token only if one ended before the other began (the floor sees it) or one was granted
        // during the other's attempt (the rivals see it): no longer history is needed.
        self.disordered |= token <= me.floor || me.rivals.contains(&token);
        let rival = &mut self.clients[1 - client];
        if matches!(rival.phase, Phase::Acquiring | Phase::Stamping) {
            let free = rival.rivals.iter_mut().find(|slot| **slot == 0).expect("a slot for each attempt");
            *free = token;
            rival.rivals.sort_unstable();
        }
        rival.outrun |= rival.phase == Phase::Holding && self.now >= rival.deadline;
        self.top = self.top.max(token);
        self.last = u8::from(client == 1) + 1;
    }

    /// The same state with the clients' names swapped.
    pub(super) fn swapped(mut self) -> Self {
        self.clients.swap(0, 1);
        for node in &mut self.nodes {
            node.view.swap(0, 1);
            if let Holder::Client(client) = &mut node.holder {
                *client ^= 1;
            }
        }
        if self.last != 0 {
            self.last = 3 - self.last;
        }
        self
    }

    /// One state of all those that differ only in the names of nodes and clients.
    pub(super) fn canonical(mut self) -> Self {
        let mut other = self.swapped();
        self.nodes.sort_unstable();
        other.nodes.sort_unstable();
        self.min(other)
    }
}
