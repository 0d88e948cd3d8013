//! `pintle top`: shows the activity of a running server in a terminal, from its metrics. Guarantees that it reads any
//! server with kube-apiserver's metrics, and shows only what the server reports. Must never request anything but
//! metrics.

mod page;
mod samples;

use super::Outcome;
use futures_util::stream::{self, StreamExt};
use http::header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue};
use http_body_util::BodyExt;
use pintle_webhook::{Address, Kubeconfig, StreamingClient};
use samples::Samples;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const USAGE: &str = "\
Usage:
  pintle top [--kubeconfig FILE] [--interval DURATION] [--once]

Shows requests by verb and resource, latencies, watches, queues, memory and the store's size, read from /metrics.

Flags:
  --kubeconfig FILE    the server and the credentials; default: pintle-data/kubeconfig, or $KUBECONFIG
  --interval SECONDS   time between two readings; default: 2
  --once               print one page with the totals since the server's start, and exit

Exit codes: 0 if the server answered, 2 if not, or the command line is invalid.
";

/// The largest text of metrics that is read: a server with ten thousand resources has a tenth of it.
const MAX_BYTES: usize = 256 << 20;
/// Time for a reading.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Clears the terminal, and goes to its beginning.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum TopError {
    #[error("{0}\n\n{USAGE}")]
    Usage(String),
    #[error("{0}")]
    Server(String),
}

fn failed(error: impl std::fmt::Display) -> TopError {
    TopError::Server(error.to_string())
}

struct Options {
    kubeconfig: PathBuf,
    interval: Duration,
    once: bool,
}

/// Runs the command, until it is interrupted unless it prints one page.
pub fn run(arguments: &[&str]) -> Outcome {
    if arguments.iter().any(|argument| ["--help", "-h"].contains(argument)) {
        return Outcome::Fine(USAGE.to_owned());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let shown = runtime.map_err(failed).and_then(|runtime| runtime.block_on(show(&options(arguments)?)));
    match shown {
        Ok(text) => Outcome::Fine(text),
        Err(error) => Outcome::Failed(format!("Error: {error}\n")),
    }
}

fn options(arguments: &[&str]) -> Result<Options, TopError> {
    let default = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    let mut options = Options {
        kubeconfig: default.map_or_else(|| PathBuf::from("pintle-data/kubeconfig"), PathBuf::from),
        interval: Duration::from_secs(2),
        once: false,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (name, inline) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        let mut value = || {
            let value = inline.or_else(|| words.next().copied());
            value.ok_or_else(|| TopError::Usage(format!("flag needs an argument: {name}")))
        };
        match name {
            "--once" => options.once = true,
            "--kubeconfig" => options.kubeconfig = value()?.into(),
            "--interval" => {
                let seconds = value()?.trim_end_matches('s').parse().ok().filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or_else(|| TopError::Usage("--interval must be seconds".to_owned()))?;
                options.interval = Duration::from_secs(seconds);
            }
            _ => return Err(TopError::Usage(format!("unknown flag: {name}"))),
        }
    }
    Ok(options)
}

async fn show(options: &Options) -> Result<String, TopError> {
    let mut server = Server::of(options)?;
    let mut before = server.read().await?;
    if options.once {
        return Ok(page::totals(&server.url, &before));
    }
    let mut since = Instant::now();
    loop {
        tokio::time::sleep(options.interval).await;
        let now = server.read().await?;
        let took = since.elapsed();
        since = Instant::now();
        let text = page::rates(&server.url, &before, &now, took);
        let mut terminal = std::io::stdout().lock();
        terminal.write_all(format!("{CLEAR}{text}").as_bytes()).and_then(|()| terminal.flush()).map_err(failed)?;
        before = now;
    }
}

/// The server whose metrics are read.
struct Server {
    url: String,
    client: StreamingClient,
    authorization: Option<HeaderValue>,
}

impl Server {
    fn of(options: &Options) -> Result<Server, TopError> {
        let file = options.kubeconfig.display();
        let wrong = |error: &dyn std::fmt::Display| TopError::Server(format!("{file}: {error}"));
        let read = Kubeconfig::read(&options.kubeconfig).map_err(|error| wrong(&error))?;
        let settings = read.current("pintle-top").map_err(|error| wrong(&error))?;
        let Address::Url(url) = settings.address else { return Err(wrong(&"the server has no URL")) };
        let mut tls = settings.tls;
        tls.identity = tls.identity.or(settings.credentials.identity);
        let bearer = settings.credentials.token.map(|token| HeaderValue::try_from(format!("Bearer {token}")));
        Ok(Server {
            url: url.trim_end_matches('/').to_owned(),
            client: StreamingClient::new(&tls).map_err(|error| wrong(&error))?,
            authorization: bearer.transpose().map_err(|error| wrong(&error))?,
        })
    }

    async fn read(&mut self) -> Result<Samples, TopError> {
        let reading = tokio::time::timeout(TIMEOUT, self.fetch()).await;
        reading.unwrap_or_else(|_| Err(failed("the server does not answer")))
    }

    async fn fetch(&mut self) -> Result<Samples, TopError> {
        let url = format!("{}/metrics", self.url);
        let request = http::Request::get(&url).body(stream::empty().boxed());
        let mut request = request.map_err(failed)?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/plain"));
        headers.remove(HOST);
        headers.extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
        let response = self.client.send(request).await.map_err(|error| failed(format!("{url}: {error}")))?;
        let status = response.status();
        let body = http_body_util::Limited::new(response.into_body(), MAX_BYTES).collect().await.map_err(failed)?;
        if !status.is_success() {
            return Err(failed(format!("{url}: {status}")));
        }
        Ok(Samples::parse(&String::from_utf8_lossy(&body.to_bytes())))
    }
}
