//! The fenced Redlock as a state machine: three nodes, two clients, one key, integer time.
//!
//! What is abstracted, and why nothing is lost by it:
//!
//! - A reply is filed with the client in the same step in which the node answers. The client acts on it in a later step
//!   of its own ([`Action::Collect`], [`Action::Grant`], [`Action::Renew`]), so a slow reply is a late step, and a lost
//!   one is a reply that `Collect` leaves out.
//! - While an attempt lasts, each of its requests can reach each node at any time, in any order, any number of times or
//!   never: a client may send again, and the network may lose, delay, reorder and double. So no request of a live
//!   attempt needs to be kept. Of a dead attempt one request may still arrive ([`Node::late`]); how many in a run is
//!   bounded.
//! - A release of a dead attempt can reach each node at any time or never, in the same way.
//! - A crashed client is one that takes no further step.
//! - One tick of real time is [`UNIT`] units of server time: many tokens fit into a tick, as they do into real time.

use stateright::{Model, Property};

/// Number of nodes, and the least number of them that are more than half.
pub(crate) const NODES: usize = 3;
const QUORUM: usize = 2;
const CLIENTS: usize = 2;
/// Guards that the other client can get during one attempt, at most.
const RIVALS: usize = 3;
/// Units of server time in a tick: the resolution of a token.
const UNIT: u8 = 4;

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
    kind: Kind,
    token: u8,
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

/// Where the token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Two phases: collect the watermarks, then stamp. The right one.
    Stamped,
    /// One phase: each node counts its own grants, the token is the largest count. Planted.
    Counters,
}

/// How the client knows that a node has forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abstain {
    /// It does not care. Planted.
    Never,
    /// The run id differs from the one this client saw before. Planted when alone.
    RunId,
    /// The uptime that the node reports is below the longest lease.
    Uptime,
    /// Either of the two.
    Both,
}

impl Abstain {
    fn by_run_id(self) -> bool {
        matches!(self, Self::RunId | Self::Both)
    }

    fn by_uptime(self) -> bool {
        matches!(self, Self::Uptime | Self::Both)
    }
}

/// What the run may contain and which rules the protocol keeps. The default is the right protocol without faults.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each one is a rule that a planted variant leaves out")]
pub(crate) struct Rules {
    /// The last tick of the run.
    pub(crate) end: u8,
    /// The lease, which is also the longest lease that any client may take.
    pub(crate) lease: u8,
    /// What the client takes off the lease for clocks of unequal speed.
    pub(crate) drift: u8,
    /// Attempts, of both clients together.
    pub(crate) attempts: u8,
    /// Extensions, of both clients together.
    pub(crate) extensions: u8,
    /// Requests that outlive their attempt, in the whole run.
    pub(crate) late: u8,
    /// How far each node's clock is ahead from the start.
    pub(crate) skew: [u8; NODES],
    /// How far one node's clock jumps, once. 0: never.
    pub(crate) jump: u8,
    /// Whether each node's clock gains one tick, once.
    pub(crate) fast: bool,
    /// How long an amnesiac restart takes, once, on one node. 0: none happens.
    pub(crate) downtime: u8,
    pub(crate) source: Source,
    /// A token is not below the largest server time among the counted grants.
    pub(crate) timed: bool,
    pub(crate) abstain: Abstain,
    /// A stamp needs the claim to be the holder.
    pub(crate) holder_check: bool,
    /// A stamp needs a token above the watermark, or to be there already; an extension one not below it.
    pub(crate) watermark_check: bool,
    /// A stamp counts only on a node whose grant went into the token. Not needed, and no substitute.
    pub(crate) stamp_chosen: bool,
    /// An extension writes the token, and raises the watermark to it.
    pub(crate) extend_token: bool,
    /// An extension counts only if its replies are in before the deadline it is to move.
    pub(crate) extend_in_time: bool,
    /// An extension leaves out the votes of abstaining nodes, as an attempt does.
    pub(crate) extend_abstains: bool,
    /// An extension that found no majority leaves the hold as it is.
    pub(crate) extend_gently: bool,
    /// The lease runs from the time before the first request.
    pub(crate) from_start: bool,
    /// The properties to check.
    pub(crate) check: Vec<&'static str>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            end: 5,
            lease: 2,
            drift: 0,
            attempts: 3,
            extensions: 0,
            late: 0,
            skew: [0; NODES],
            jump: 0,
            fast: false,
            downtime: 0,
            source: Source::Stamped,
            timed: true,
            abstain: Abstain::Both,
            holder_check: true,
            watermark_check: true,
            stamp_chosen: false,
            extend_token: true,
            extend_in_time: true,
            extend_abstains: true,
            extend_gently: true,
            from_start: true,
            check: vec![ORDERED, EXCLUSIVE, IN_TURN],
        }
    }
}

/// What one client has heard from one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct View {
    /// A counted grant: the least token that this node allows, 0 if there is none.
    least: u8,
    /// A counted stamp, or a counted extension once the guard stands.
    voted: bool,
    /// 0: never heard of it. 1: its first run. Above: the tick, plus 2, at which the client saw the run id change.
    /// [`OTHER_RUN`]: saw the second run only, so there was no change to see.
    run: u8,
}
const OTHER_RUN: u8 = u8::MAX;

/// One node: its memory, its clock, the requests on their way to it, and what the clients know of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node {
    holder: Holder,
    /// When the hold ends, by this node's clock.
    expiry: u8,
    /// The token stamped on the hold, 0 if none.
    stamped: u8,
    /// The largest token seen. It outlives the hold, and is lost only by a restart.
    watermark: u8,
    /// How far its clock is ahead of real time.
    ahead: u8,
    /// By its own clock, when its second run begins; 0 in the first run.
    boot: u8,
    /// Its clock has gained its one tick.
    gained: bool,
    /// A request on its way here that has outlived its attempt.
    late: Option<Request>,
    view: [View; CLIENTS],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Phase {
    #[default]
    Idle,
    Acquiring,
    Stamping,
    Holding,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Client {
    phase: Phase,
    /// When the extension under way began, 0 if there is none.
    extending: u8,
    /// The token of the attempt, 0 before it has one.
    token: u8,
    /// From here on neither the attempt nor its guard counts.
    deadline: u8,
    /// The largest token of a guard that was granted before this attempt began.
    floor: u8,
    /// The tokens of guards that were granted to the other client during this attempt.
    rivals: [u8; RIVALS],
    /// The guard had lapsed when another one was granted: it must not come back.
    outrun: bool,
    /// For the guard that is held: what came before it ([`MARK_TURN`] and others).
    marks: u8,
}
/// The guard before it was the other client's.
const MARK_TURN: u8 = 1;
const MARK_JUMP: u8 = 2;
const MARK_RESTART: u8 = 4;
const MARK_EXTENDED: u8 = 8;
/// An extension was begun: its requests may be under way, also after it failed.
const MARK_ASKED: u8 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct State {
    /// Real time, and the time of every client.
    now: u8,
    nodes: [Node; NODES],
    clients: [Client; CLIENTS],
    /// Attempts, extensions, and requests that outlived their attempt, so far.
    attempts: u8,
    extensions: u8,
    late: u8,
    jumped: bool,
    restarted: bool,
    /// The largest token of all guards so far, and whose guard was the last.
    top: u8,
    last: u8,
    /// A guard got a token that it must not have.
    disordered: bool,
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

/// Tokens rise with the real time of guards, and no two guards share one.
pub(crate) const ORDERED: &str = "tokens are ordered";
/// No two guards are valid at the same time.
pub(crate) const EXCLUSIVE: &str = "guards exclude";
/// A valid guard is the holder on a majority of nodes.
pub(crate) const BACKED: &str = "guards are backed";
/// A guard follows a guard of the other client.
pub(crate) const IN_TURN: &str = "guards in turn";
/// A guard is granted after the restart.
pub(crate) const AFTER_RESTART: &str = "guard after restart";
/// A guard is granted after the jump.
pub(crate) const AFTER_JUMP: &str = "guard after jump";
/// A guard is extended.
pub(crate) const EXTENDED: &str = "guard extended";

fn bit(node: usize) -> u8 {
    1 << node
}

fn holder(client: usize) -> Holder {
    Holder::Client(u8::from(client == 1))
}

impl Node {
    fn clock(&self, now: u8) -> u8 {
        now + self.ahead
    }

    fn is_up(&self, now: u8) -> bool {
        self.boot == 0 || self.clock(now) >= self.boot
    }

    fn is_free(&self) -> bool {
        self.holder == Holder::Nobody
    }

    fn free(&mut self) {
        (self.holder, self.expiry, self.stamped) = (Holder::Nobody, 0, 0);
    }

    fn raise(&mut self, token: u8) {
        self.watermark = self.watermark.max(token);
    }

    /// Whether this client leaves the node's vote out, judged when the reply is made.
    fn abstains(&mut self, client: usize, now: u8, rules: &Rules) -> bool {
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
    fn requests(&self) -> &'static [Kind] {
        match self.phase {
            Phase::Idle => &[],
            Phase::Acquiring => &[Kind::Acquire],
            Phase::Holding if self.marks & MARK_ASKED != 0 => &[Kind::Acquire, Kind::Stamp, Kind::Extend],
            // With a guard too: the majority was there without the third node, whose requests may still be under way.
            Phase::Stamping | Phase::Holding => &[Kind::Acquire, Kind::Stamp],
        }
    }

    fn is_valid(&self, now: u8) -> bool {
        self.phase == Phase::Holding && now < self.deadline
    }
}

impl State {
    /// The attempt is over, and a release goes to all nodes, also those that did not grant: the grant may be under way.
    /// Its claim is known to the nodes only.
    fn end(&mut self, client: usize) {
        self.clients[client] = Client::default();
        for node in &mut self.nodes {
            if node.holder == holder(client) {
                node.holder = Holder::Dead;
            }
        }
    }

    fn votes(&self, client: usize) -> usize {
        self.nodes.iter().filter(|node| node.view[client].voted).count()
    }

    fn is_backed(&self, client: usize) -> bool {
        let nodes = self.nodes.iter().filter(|node| node.holder == holder(client)).count();
        nodes >= QUORUM || !self.clients[client].is_valid(self.now)
    }

    fn is_marked(&self, mark: u8) -> bool {
        self.clients.iter().any(|client| client.marks & mark != 0)
    }

    /// The guard exists from here on: its token is compared with those before it.
    fn grant(&mut self, client: usize) {
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
    fn swapped(mut self) -> Self {
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
    fn canonical(mut self) -> Self {
        let mut other = self.swapped();
        self.nodes.sort_unstable();
        other.nodes.sort_unstable();
        self.min(other)
    }
}

impl Rules {
    /// Forgets all that can no longer have an effect, so that equal futures are equal states.
    fn tidy(&self, state: &mut State) {
        let now = state.now;
        for index in 0..CLIENTS {
            let client = &mut state.clients[index];
            let waits = client.phase == Phase::Holding && client.extending != 0 && !self.extend_in_time;
            if client.phase != Phase::Idle && now >= client.deadline && !waits {
                // Past the deadline an attempt is over, and a guard is lost: all that is left to do is to release.
                state.end(index);
            } else if client.phase == Phase::Holding {
                (client.floor, client.rivals) = (0, [0; RIVALS]);
            }
        }
        let open = state.attempts < self.attempts;
        if !open {
            state.top = 0;
        }
        if !open && !state.clients.iter().any(|client| matches!(client.phase, Phase::Acquiring | Phase::Stamping)) {
            state.last = 0;
        }
        for node in &mut state.nodes {
            if !node.is_free() && node.expiry <= node.clock(now) {
                node.free();
            }
            let is_stamping = |client: u8| state.clients[usize::from(client)].phase == Phase::Stamping;
            if !matches!(node.holder, Holder::Client(client) if is_stamping(client)) {
                node.stamped = 0;
            }
            for (client, view) in state.clients.iter().zip(&mut node.view) {
                if (2..OTHER_RUN).contains(&view.run) && now >= view.run - 2 + self.lease {
                    view.run = OTHER_RUN;
                }
                if client.phase != Phase::Acquiring && !(client.phase == Phase::Stamping && self.stamp_chosen) {
                    view.least = 0;
                }
                if matches!(client.phase, Phase::Idle | Phase::Acquiring)
                    || (client.phase == Phase::Holding && client.extending == 0)
                {
                    view.voted = false;
                }
            }
        }
    }

    /// A node answers a request of this client's attempt, or a late one.
    fn answer(&self, state: &mut State, index: usize, client: Option<usize>, Request { kind, token }: Request) {
        let now = state.now;
        let node = &mut state.nodes[index];
        let claim = client.map_or(Holder::Late, holder);
        let time = node.clock(now);
        // Only an attempt that lasts listens. The node cannot know that, and does the same for a late request.
        let counted = kind == Kind::Extend && !self.extend_abstains;
        let listener = client.filter(|client| !node.abstains(*client, now, self) || counted);
        let phase = listener.map(|client| state.clients[client].phase);
        let ours = node.holder == claim;
        match kind {
            Kind::Acquire if ours || node.is_free() => {
                // A repeated request leaves the hold as it is: a longer one would be right too.
                if !ours {
                    (node.holder, node.expiry) = (claim, time + self.lease);
                    if self.source == Source::Counters {
                        node.watermark += 1;
                    }
                }
                if let (Some(client), Some(Phase::Acquiring)) = (listener, phase) {
                    node.view[client].least = match self.source {
                        Source::Counters => node.watermark,
                        Source::Stamped if self.timed => (node.watermark + 1).max(time * UNIT),
                        Source::Stamped => node.watermark + 1,
                    };
                }
            }
            Kind::Stamp => {
                let done = ours && node.stamped == token;
                let fresh = !self.watermark_check || token > node.watermark;
                if !done && ((self.holder_check && !ours) || !fresh) {
                    return;
                }
                if ours {
                    node.stamped = token;
                }
                node.raise(token);
                if let (Some(client), Some(Phase::Stamping)) = (listener, phase) {
                    node.view[client].voted = !self.stamp_chosen || node.view[client].least != 0;
                }
            }
            // A free node joins: it may have been down, or another's, or have forgotten.
            // A larger watermark says that a later guard was here: this one is over, whoever is the holder.
            Kind::Extend if (ours || node.is_free()) && (!self.watermark_check || node.watermark <= token) => {
                (node.holder, node.expiry) = (claim, time + self.lease);
                if self.extend_token {
                    node.stamped = token;
                    node.raise(token);
                }
                // A vote from before counts for nothing once the extension failed: `tidy` drops it.
                if let (Some(client), Some(Phase::Holding)) = (listener, phase) {
                    node.view[client].voted = true;
                }
            }
            Kind::Acquire | Kind::Extend => {}
        }
    }

    fn collect(&self, state: &mut State, client: usize, set: u8) {
        let chosen = state.nodes.iter().enumerate().filter(|(index, _)| set & bit(*index) != 0);
        let token = chosen.map(|(_, node)| node.view[client].least).max().expect("a majority");
        for (index, node) in state.nodes.iter_mut().enumerate() {
            node.view[client].least *= u8::from(set & bit(index) != 0);
        }
        let me = &mut state.clients[client];
        me.token = token;
        if !self.from_start {
            me.deadline = state.now + self.lease - self.drift;
        }
        match self.source {
            Source::Counters => state.grant(client),
            Source::Stamped => state.clients[client].phase = Phase::Stamping,
        }
    }

    /// The way through canonical states, each with names of its own, told with the names of the first state throughout.
    pub(crate) fn retell(&self, states: &[State]) -> Vec<Action> {
        let mut real = states[0];
        let mut told = Vec::new();
        for goal in &states[1..] {
            let mut actions = Vec::new();
            self.actions(&real, &mut actions);
            let same = |action: &Action| self.after(&real, *action).canonical() == *goal;
            let action = actions.into_iter().find(same).expect("an action leads on");
            real = self.after(&real, action);
            told.push(action);
        }
        told
    }

    fn after(&self, state: &State, action: Action) -> State {
        let mut next = *state;
        self.step(&mut next, action);
        self.tidy(&mut next);
        next
    }

    fn step(&self, state: &mut State, action: Action) {
        let now = state.now;
        match action {
            Action::Tick => state.now += 1,
            Action::Begin(client) => {
                state.attempts += 1;
                let me = &mut state.clients[client];
                me.phase = Phase::Acquiring;
                me.deadline = now + self.lease - self.drift;
                me.floor = state.top;
            }
            Action::Collect(client, set) => self.collect(state, client, set),
            Action::Grant(client) => state.grant(client),
            Action::Extend(client) => {
                state.extensions += 1;
                let me = &mut state.clients[client];
                me.extending = now;
                me.marks |= MARK_ASKED;
            }
            Action::Renew(client) => {
                let me = &mut state.clients[client];
                me.deadline = me.extending + self.lease - self.drift;
                me.extending = 0;
                me.marks |= MARK_EXTENDED;
                state.disordered |= me.outrun;
            }
            Action::Fail(client) => {
                state.clients[client].extending = 0;
                for node in state.nodes.iter_mut().filter(|node| node.holder == holder(client)) {
                    if !self.extend_gently {
                        node.free();
                    }
                }
            }
            Action::Quit(client) => state.end(client),
            Action::QuitLate(client, node, kind) => {
                state.late += 1;
                let token = state.clients[client].token;
                let held = state.nodes[node].holder == holder(client);
                state.end(client);
                let node = &mut state.nodes[node];
                node.late = Some(Request { kind, token });
                if held {
                    node.holder = Holder::Late;
                }
            }
            Action::Answer { node, kind, client } => {
                self.answer(state, node, Some(client), Request { kind, token: state.clients[client].token });
            }
            Action::AnswerLate(node) => {
                let late = state.nodes[node].late.take().expect("a late request");
                self.answer(state, node, None, late);
                if state.nodes[node].holder == Holder::Late {
                    state.nodes[node].holder = Holder::Dead;
                }
            }
            Action::Release(node) => state.nodes[node].free(),
            Action::Jump(node) => {
                state.jumped = true;
                state.nodes[node].ahead += self.jump;
            }
            Action::Gain(node) => {
                state.nodes[node].gained = true;
                state.nodes[node].ahead += 1;
            }
            Action::Restart(node) => {
                state.restarted = true;
                let node = &mut state.nodes[node];
                node.free();
                node.watermark = 0;
                node.boot = node.clock(now) + self.downtime;
            }
        }
    }

    fn client_actions(&self, state: &State, client: usize, actions: &mut Vec<Action>) {
        let me = &state.clients[client];
        let in_time = state.now < me.deadline;
        match me.phase {
            Phase::Idle => {
                if state.attempts < self.attempts {
                    actions.push(Action::Begin(client));
                }
                return;
            }
            Phase::Acquiring if in_time => {
                let granted = state.nodes.iter().enumerate().filter(|(_, node)| node.view[client].least != 0);
                let granted = granted.fold(0, |set, (index, _)| set | bit(index));
                let sets = (1u8..1 << NODES).filter(|set| set & !granted == 0 && set.count_ones() as usize >= QUORUM);
                actions.extend(sets.map(|set| Action::Collect(client, set)));
            }
            Phase::Stamping if in_time && state.votes(client) >= QUORUM => actions.push(Action::Grant(client)),
            Phase::Holding => {
                if in_time && me.extending == 0 && state.extensions < self.extensions {
                    actions.push(Action::Extend(client));
                }
                if me.extending != 0 {
                    actions.push(Action::Fail(client));
                }
                let late = !in_time && self.extend_in_time;
                if me.extending != 0
                    && !late
                    && state.votes(client) >= QUORUM
                    && state.now < me.extending + self.lease - self.drift
                {
                    actions.push(Action::Renew(client));
                }
            }
            Phase::Acquiring | Phase::Stamping => {}
        }
        actions.push(Action::Quit(client));
        for (index, node) in state.nodes.iter().enumerate() {
            if state.late < self.late && node.late.is_none() {
                actions.extend(me.requests().iter().map(|kind| Action::QuitLate(client, index, *kind)));
            }
        }
    }
}

impl Model for Rules {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            now: 1,
            nodes: self.skew.map(|ahead| Node { ahead, ..Node::default() }),
            clients: [Client::default(); CLIENTS],
            attempts: 0,
            extensions: 0,
            late: 0,
            jumped: false,
            restarted: false,
            top: 0,
            last: 0,
            disordered: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // Nobody can get or hold a guard any more: what the nodes still do is of no interest.
        let is_over = |client: &Client| client.phase == Phase::Idle;
        if state.attempts == self.attempts && state.clients.iter().all(is_over) {
            return;
        }
        if state.now < self.end {
            actions.push(Action::Tick);
        }
        for client in 0..CLIENTS {
            self.client_actions(state, client, actions);
        }
        for (index, node) in state.nodes.iter().enumerate() {
            if !node.is_up(state.now) {
                continue;
            }
            for (client, me) in state.clients.iter().enumerate() {
                actions.extend(me.requests().iter().map(|kind| Action::Answer { node: index, kind: *kind, client }));
            }
            if node.late.is_some() {
                actions.push(Action::AnswerLate(index));
            }
            if matches!(node.holder, Holder::Dead | Holder::Late) {
                actions.push(Action::Release(index));
            }
            if self.jump != 0 && !state.jumped {
                actions.push(Action::Jump(index));
            }
            if self.fast && !node.gained {
                actions.push(Action::Gain(index));
            }
            if self.downtime != 0 && !state.restarted {
                actions.push(Action::Restart(index));
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let next = self.after(state, action).canonical();
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all: [Property<Self>; 7] = [
            Property::always(ORDERED, |_, state: &State| !state.disordered),
            Property::always(EXCLUSIVE, |_, state: &State| {
                !state.clients.iter().all(|client| client.is_valid(state.now))
            }),
            Property::always(BACKED, |_, state: &State| (0..CLIENTS).all(|client| state.is_backed(client))),
            Property::sometimes(IN_TURN, |_, state: &State| state.is_marked(MARK_TURN)),
            Property::sometimes(AFTER_RESTART, |_, state: &State| state.is_marked(MARK_RESTART)),
            Property::sometimes(AFTER_JUMP, |_, state: &State| state.is_marked(MARK_JUMP)),
            Property::sometimes(EXTENDED, |_, state: &State| state.is_marked(MARK_EXTENDED)),
        ];
        all.into_iter().filter(|property| self.check.contains(&property.name)).collect()
    }
}
