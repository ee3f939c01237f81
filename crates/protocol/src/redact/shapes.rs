//! What secrets look like when nobody told us their value: the prefixes that vendors chose for that purpose.
//! A match must be long enough and stand alone: a word that merely begins alike stays.

use std::iter;
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};

use super::assigned::assigned;

struct Shape {
    prefix: &'static str,
    body: Body,
    /// Bytes after the prefix.
    at_least: usize,
}

#[derive(Clone, Copy)]
enum Body {
    /// Letters, digits, `_` and `-`, one digit among them at least.
    Token,
    /// Exactly that many capitals and digits.
    Capitals,
    /// Three parts with dots between.
    Jwt,
    /// What follows an authentication scheme; the scheme stays.
    Bearer,
    /// The value of `NAME=value`; the name and quotes stay.
    Assignment,
    /// Up to the matching END line.
    Pem,
}

const fn shape(prefix: &'static str, body: Body, at_least: usize) -> Shape {
    Shape { prefix, body, at_least }
}

const SHAPES: &[Shape] = &[
    shape("sk-", Body::Token, 16),
    shape("sk_live_", Body::Token, 16),
    shape("rk_live_", Body::Token, 16),
    shape("ghp_", Body::Token, 20),
    shape("gho_", Body::Token, 20),
    shape("ghu_", Body::Token, 20),
    shape("ghs_", Body::Token, 20),
    shape("ghr_", Body::Token, 20),
    shape("github_pat_", Body::Token, 20),
    shape("glpat-", Body::Token, 16),
    shape("xoxa-", Body::Token, 10),
    shape("xoxb-", Body::Token, 10),
    shape("xoxe-", Body::Token, 10),
    shape("xoxp-", Body::Token, 10),
    shape("xoxr-", Body::Token, 10),
    shape("xoxs-", Body::Token, 10),
    shape("AIza", Body::Token, 30),
    shape("hf_", Body::Token, 30),
    shape("npm_", Body::Token, 30),
    shape("pypi-", Body::Token, 50),
    shape("AGE-SECRET-KEY-1", Body::Token, 40),
    shape("AKIA", Body::Capitals, 16),
    shape("ASIA", Body::Capitals, 16),
    shape("eyJ", Body::Jwt, 10),
    shape("Bearer ", Body::Bearer, 16),
    shape("bearer ", Body::Bearer, 16),
    shape("KEY=", Body::Assignment, 8),
    shape("KEY_BASE=", Body::Assignment, 8),
    shape("TOKEN=", Body::Assignment, 8),
    shape("SECRET=", Body::Assignment, 8),
    shape("PASSWORD=", Body::Assignment, 8),
    shape("PASSWD=", Body::Assignment, 8),
    shape("PASS=", Body::Assignment, 8),
    shape("CREDENTIALS=", Body::Assignment, 8),
    shape("-----BEGIN ", Body::Pem, 16),
];

pub(super) struct Shapes(AhoCorasick);

impl Shapes {
    pub(super) fn new() -> Result<Self, BuildError> {
        let prefixes = SHAPES.iter().map(|shape| shape.prefix);
        Ok(Self(AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(prefixes)?))
    }

    /// What to mask, in order and without overlap.
    pub(super) fn find_iter<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut at = 0;
        iter::from_fn(move || {
            loop {
                let found = self.0.find(aho_corasick::Input::new(text).range(at..))?;
                match SHAPES[found.pattern().as_usize()].secret(text, found.range()) {
                    Some(secret) => {
                        at = secret.end;
                        return Some(secret);
                    }
                    // Another shape may begin inside a prefix that led nowhere.
                    None => at = found.start() + 1,
                }
            }
        })
    }
}

impl Shape {
    /// The part of `text` to mask, when what stands around the prefix is a secret.
    fn secret(&self, text: &str, prefix: Range<usize>) -> Option<Range<usize>> {
        let before = text[..prefix.start].chars().next_back();
        let body = &text[prefix.end..];
        let stands = match self.body {
            Body::Token | Body::Capitals | Body::Jwt | Body::Bearer => {
                !before.is_some_and(char::is_alphanumeric)
            }
            // `MY_API_KEY=`, not `monkeyKEY=`.
            Body::Assignment => !before.is_some_and(|c| c.is_ascii_lowercase()),
            Body::Pem => true,
        };
        if !stands {
            return None;
        }
        let quote = usize::from(body.starts_with(['"', '\'']));
        let (start, skipped, length) = match self.body {
            Body::Token => (prefix.start, 0, token(body, is_token)),
            Body::Capitals => (prefix.start, 0, capitals(body)),
            Body::Jwt => (prefix.start, 0, jwt(body)),
            Body::Pem => (prefix.start, 0, pem(body)),
            Body::Bearer => (prefix.end, 0, token(body, is_bearer)),
            Body::Assignment => (prefix.end + quote, quote, assigned(&body[quote..], quote > 0)),
        };
        let fits = match self.body {
            Body::Capitals => length == self.at_least,
            Body::Token | Body::Jwt | Body::Bearer | Body::Assignment | Body::Pem => length >= self.at_least,
        };
        fits.then_some(start..prefix.end + skipped + length)
    }
}

/// A prefix that leads nowhere is given up after this many bytes, so that hostile text costs no more than its
/// length.
const LOOK_AHEAD: usize = 64;

fn start(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(LOOK_AHEAD)]
}

pub(super) fn run(text: &str, accept: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !accept(byte)).unwrap_or(text.len())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_bearer(byte: u8) -> bool {
    is_token(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// Words joined by dashes are no token: a digit must come soon.
fn token(body: &str, accept: fn(u8) -> bool) -> usize {
    let digit = start(body).iter().take_while(|byte| accept(**byte)).any(u8::is_ascii_digit);
    if digit { run(body, accept) } else { 0 }
}

fn capitals(body: &str) -> usize {
    start(body).iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).count()
}

fn jwt(body: &str) -> usize {
    // A header with a key inside (`jwk`) is longer than any token's first digit is far.
    let header = body.bytes().take(8 * LOOK_AHEAD).take_while(|byte| is_token(*byte)).count();
    let Some(rest) = body[header..].strip_prefix('.') else { return 0 };
    let claims = run(rest, is_token);
    if claims < 10 || !rest[claims..].starts_with('.') {
        return 0;
    }
    header + 1 + run(rest, |byte| is_token(byte) || byte == b'.')
}

/// A private key's block, the rest of it when the end is missing.
fn pem(body: &str) -> usize {
    const END: &str = "PRIVATE KEY-----";
    // `RSA `, `EC `, `OPENSSH `, `ENCRYPTED ` or nothing.
    let kind = run(body, |byte| byte.is_ascii_uppercase() || byte == b' ');
    let Some(header) = body[..kind].rfind("PRIVATE KEY") else { return 0 };
    if !body[header..].starts_with(END) {
        return 0;
    }
    let header = header + END.len();
    let inside = header + pem_run(&body[header..]);
    match body[header..inside].find("-----END ") {
        Some(at) => {
            let footer = header + at;
            body[footer..inside].find(END).map_or(inside, |end| footer + end + END.len())
        }
        None => inside,
    }
}

/// Base64, headers and line breaks, also as `\n` inside quoted text.
fn pem_run(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r')) => 2,
            b'+' | b'/' | b'=' | b'-' | b':' | b',' | b' ' | b'\n' | b'\r' | b'\t' => 1,
            byte if byte.is_ascii_alphanumeric() => 1,
            _ => break,
        };
    }
    at
}
