//! `Requests`: the transport of `tonic`, one handle of `hyper`'s connection. Guarantees that a connection's failure is reported
//! as `Unavailable`. Must never pass `tonic` an invalid header: it panics when a status' details are no base64.

use crate::status::broken;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::client::GrpcService;

/// The details of a status, which are not used here.
const DETAILS: &str = "grpc-status-details-bin";

#[derive(Clone)]
pub struct Requests(pub SendRequest<Body>);

impl GrpcService<Body> for Requests {
    type ResponseBody = ResponseBody;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Status>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.0.poll_ready(context).map_err(|error| broken(&error))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let response = self.0.send_request(request);
        Box::pin(async move {
            let mut response = response.await.map_err(|error| broken(&error))?;
            without_details(response.headers_mut());
            Ok(response.map(ResponseBody))
        })
    }
}

/// Messages and trailers as they arrive.
pub struct ResponseBody(Incoming);

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.0).poll_frame(context).map(|frame| {
            let frame = frame?.map_err(|error| broken(&error));
            Some(frame.map(|mut frame| {
                frame.trailers_mut().into_iter().for_each(without_details);
                frame
            }))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

fn without_details(headers: &mut HeaderMap) {
    headers.remove(DETAILS);
}
