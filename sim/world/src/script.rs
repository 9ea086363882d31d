//! The steps form: users and steps written out, with the network's treatment of each request.

use super::event_queue::Event;
use super::{START, World};
use sim_model::plan::Net;
use sim_model::protocol::User;
use sim_user::Script;

impl World<'_, '_> {
    /// Creates the users of the steps form. They do nothing by themselves.
    pub(super) fn begin_script(&mut self) {
        let plan = self.plan;
        for user in plan.workload.users() {
            let script = Script::Manual(user.clone().into());
            self.add_client(script, user.name.as_str().into());
        }
        for (index, step) in (0..).zip(plan.workload.steps()) {
            let script = Event::Script(index);
            self.events.schedule(START + step.at, script);
        }
    }

    pub(super) fn perform(&mut self, index: u32) {
        let Some(step) = self.plan.workload.steps().get(index as usize) else {
            return;
        };
        let now = self.now();
        let client = &mut self.clients[step.user as usize];
        let scripted = step.net != Net::default();
        client.net = scripted.then(|| Box::new(step.net.clone()));
        let whom = step.whom.map(User);
        let (user, observers) = (&mut client.user, &mut self.observers);
        let call = user.manual(now, &step.what, &step.leave_out, whom, observers);
        if let Some(call) = call
            && !step.net.retries.is_empty()
        {
            client.retries.push((call, step.net.retries.clone().into()));
        }
        self.settle(step.user);
        // A step that starts no request needs no scripted network.
        if call.is_none() {
            self.clients[step.user as usize].net = None;
        }
    }
}
