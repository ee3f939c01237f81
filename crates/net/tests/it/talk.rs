//! One request as plain as can be.

use std::path::Path;
use std::time::Duration;

use zdx_net::{HeaderMap, Http, Method, NetError, Request, Response, Url};

/// Long enough for a busy machine; only faults that must run into a limit set a shorter one.
pub const PATIENT: Duration = Duration::from_secs(60);

pub fn post<'a>(url: &str, ca_file: Option<&'a Path>) -> Request<'a> {
    Request {
        method: Method::POST,
        url: Url::parse(url).unwrap(),
        headers: HeaderMap::new(),
        body: Some(b"{}".to_vec()),
        ca_file,
        answer_within: Some(PATIENT),
    }
}

/// The whole answer as text.
pub async fn said(http: &Http, request: Request<'_>) -> Result<String, NetError> {
    let mut response = http.send(request).await?;
    read(&mut response).await
}

pub async fn read(response: &mut Response) -> Result<String, NetError> {
    let mut body = Vec::new();
    response.read_into(&mut body, 1 << 20, PATIENT).await?;
    Ok(String::from_utf8(body).unwrap())
}
