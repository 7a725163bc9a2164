//! What can happen next, and what comes of it.

use super::rules::{Rules, Source};
use super::state::{
    Action, Client, Holder, Kind, MARK_ASKED, MARK_EXTENDED, MARK_JUMP, MARK_RESTART, MARK_TURN, Node, OTHER_RUN,
    Phase, Request, State, bit, holder,
};
use super::{
    AFTER_JUMP, AFTER_RESTART, BACKED, CLIENTS, EXCLUSIVE, EXTENDED, IN_TURN, NODES, ORDERED, QUORUM, RIVALS, UNIT,
};
use stateright::{Model, Property};

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
