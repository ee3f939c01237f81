//! https against a server with a certificate of its own: trusted by `ca_file`, and by nothing else.

use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use zdx_models::wire::Wire;
use zdx_models::{Client, ModelError};

use crate::talk::{PATIENT, ask, endpoint, saying};

/// Answers every connection with the same stream.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    let body = saying(Wire::OpenaiChat, "in private").body_bytes();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    while let Ok((tcp, _)) = listener.accept().await {
        let Ok(mut tls) = acceptor.accept(tcp).await else { continue };
        let mut request = vec![0; 64 * 1024];
        let _ = tls.read(&mut request).await;
        let _ = tls.write_all(&[head.as_bytes(), &body].concat()).await;
        let _ = tls.shutdown().await;
    }
}

#[tokio::test]
async fn a_certificate_of_ones_own_is_trusted_by_ca_file_alone() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config))));

    let ca_file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca_file.path(), cert.pem()).unwrap();
    let client = Client::new(PATIENT);
    let mut endpoint = endpoint(Wire::OpenaiChat, &format!("https://localhost:{port}/v1"));
    endpoint.ca_file = Some(ca_file.path().to_owned());
    let heard = ask(&client, &endpoint).await;
    assert_eq!((heard.text.as_str(), heard.error), ("in private", None));

    // Without it: refused in words that name the way out, or no authority is known on this machine at all.
    endpoint.ca_file = None;
    let error = ask(&client, &endpoint).await.error.unwrap();
    assert!(matches!(error, ModelError::Connect { .. } | ModelError::Setup(_)), "{error:?}");
    assert!(error.to_string().contains("ca_file"), "{error}");
    server.abort();
}
