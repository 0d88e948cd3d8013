//! An API server for frobbers, and nothing else.

use frobber::admission::Approval;
use frobber::{gates, resource};
use pintle_server::Options;
use std::process::ExitCode;
use std::sync::Arc;

/// The address of the service that approves frobbers; without it all are approved.
const APPROVAL_URL: &str = "--approval-url";

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse(std::env::args().skip(1), gates::ALL, &[APPROVAL_URL])?;
    let mut builder = options.builder(vec![resource::group()]).await?;
    if let Some(url) = options.other(APPROVAL_URL) {
        builder.add_admission_plugin(Arc::new(Approval::new(url)?));
    }
    Options::serve(builder, |server| {
        server.addresses().iter().for_each(|address| println!("serving on https://{address}"));
    })
    .await?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
