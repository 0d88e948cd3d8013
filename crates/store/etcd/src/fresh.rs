//! Consistent reads from memory: how far must the observer be, to know everything that anybody was acknowledged?
//! Guarantees that the answer is from after the question. One call to the cluster answers all who ask while another is
//! under way.
//! Must never answer from memory.

use crate::client::Client;
use crate::limits;
use pintle_grpc::Status;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

type Answer = Result<u64, Status>;

#[derive(Default)]
pub struct Fresh(Mutex<Line>);

#[derive(Default)]
struct Line {
    waiting: Vec<oneshot::Sender<Answer>>,
    asking: bool,
}

impl Fresh {
    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing that holds the lock can fail half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision that the cluster had reached at some moment after this call.
    pub fn ask(self: &Arc<Self>, client: &Arc<Client>, runtime: &Handle) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let mut line = self.line();
        line.waiting.push(sender);
        if !std::mem::replace(&mut line.asking, true) {
            let (fresh, client) = (self.clone(), client.clone());
            runtime.spawn(async move { fresh.answer(&client).await });
        }
        receiver
    }

    async fn answer(&self, client: &Client) {
        loop {
            let waiting = {
                let mut line = self.line();
                if line.waiting.is_empty() {
                    line.asking = false;
                    return;
                }
                std::mem::take(&mut line.waiting)
            };
            let revision = client.revision(limits::CALL).await;
            waiting.into_iter().for_each(|waiter| drop(waiter.send(revision.clone())));
        }
    }
}
