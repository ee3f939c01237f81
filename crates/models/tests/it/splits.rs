//! Tool arguments cut at every byte, through the whole driver.

use serde_json::json;

use zdx_models::Client;
use zdx_testkit::ModelServer;

use crate::talk::{PATIENT, WIRES, ask, calling, endpoint};

#[tokio::test]
async fn arguments_cut_at_every_byte() {
    let arguments = json!({"path": "grüße/🦀.txt", "n": [1, 2]});
    let text = arguments.to_string();
    for wire in WIRES {
        let server = ModelServer::start();
        let client = Client::new(PATIENT);
        let endpoint = endpoint(wire, &server.url());
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            server.push(calling(wire, &[&text[..at], &text[at..]]));
            let heard = ask(&client, &endpoint).await;
            assert_eq!(heard.calls.len(), 1, "{at}: {heard:?}");
            assert_eq!(heard.calls[0].arguments.input(), arguments, "{at}");
        }
        // And the stream that carries them, cut at every byte of it.
        let reply = calling(wire, &[&text]);
        for at in 0..=reply.body_bytes().len() {
            server.push(reply.clone().split_at(&[at]));
            let heard = ask(&client, &endpoint).await;
            assert_eq!(heard.calls[0].arguments.input(), arguments, "{at}");
        }
    }
}
