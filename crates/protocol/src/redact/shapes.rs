//! What secrets look like when nobody told us their value: the prefixes that vendors chose for that purpose.
//! A match must be long enough and stand alone: a word that merely begins alike stays.

use std::iter;
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, Input, MatchKind};

use super::assigned::{assigned, is_operator, is_value};
use super::inside::{Inside, PEM_END, footed, pem_run};
use super::starts::Starts;

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

/// What of the text is a secret, as far as its part behind the prefix tells.
enum Extent {
    None,
    /// So many bytes.
    Of(usize),
    /// So many bytes, and whatever goes on with them.
    Growing(usize, Inside),
    /// What is there may be the start of one.
    Unsure,
}

impl Extent {
    fn of(length: usize) -> Self {
        if length == 0 { Self::None } else { Self::Of(length) }
    }

    fn at_least(self, least: usize) -> Self {
        match self {
            Self::Of(length) if length < least => Self::None,
            Self::Growing(length, _) if length < least => Self::Unsure,
            Self::None | Self::Of(_) | Self::Growing(..) | Self::Unsure => self,
        }
    }
}

/// Whether a text ends here, or is a part of one that comes piece by piece.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Ended,
    MayCome,
}

/// What the next prefix leads to.
pub(super) enum Found {
    Secret(Range<usize>),
    /// The start of a secret, whose end is still to be found behind it.
    Growing(Range<usize>, Inside),
    /// From here on more has to come before anybody can tell; or all was looked at.
    Wait(usize),
}

pub(super) struct Shapes {
    prefixes: AhoCorasick,
    starts: Starts,
}

impl Shapes {
    pub(super) fn new() -> Result<Self, BuildError> {
        let prefixes = SHAPES.iter().map(|shape| shape.prefix);
        let starts = Starts::new(prefixes.clone().map(str::to_owned));
        let prefixes = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(prefixes)?;
        Ok(Self { prefixes, starts })
    }

    /// What to mask, in order and without overlap. `apart` says that a colour begins at a place: no word goes on there.
    pub(super) fn find_iter<'a>(
        &'a self,
        text: &'a str,
        apart: impl Fn(usize) -> bool + 'a,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut at = 0;
        iter::from_fn(move || {
            loop {
                let found = self.prefixes.find(Input::new(text).range(at..))?;
                let shape = &SHAPES[found.pattern().as_usize()];
                let before = last_char(text, found.start()).filter(|_| !apart(found.start()));
                match shape.secret(text, found.range(), before, Rest::Ended) {
                    Some(Found::Secret(secret)) => {
                        at = secret.end;
                        return Some(secret);
                    }
                    // Another shape may begin inside a prefix that led nowhere.
                    Some(Found::Growing(..) | Found::Wait(_)) | None => at = found.start() + 1,
                }
            }
        })
    }

    /// The next secret in a text of which more may come. `before` is what stands before a place.
    pub(super) fn next(
        &self,
        text: &str,
        mut at: usize,
        before: impl Fn(usize) -> Option<char>,
        rest: Rest,
    ) -> Found {
        loop {
            let open = match rest {
                Rest::MayCome => self.starts.open(text, at, |at| may_begin(&text[at..], before(at))),
                Rest::Ended => text.len(),
            };
            let found = self.prefixes.find(Input::new(text).range(at..));
            let Some(found) = found.filter(|found| found.start() < open) else { return Found::Wait(open) };
            let shape = &SHAPES[found.pattern().as_usize()];
            match shape.secret(text, found.range(), before(found.start()), rest) {
                Some(told) => return told,
                None => at = found.start() + 1,
            }
        }
    }
}

/// Whether one of the shapes whose prefix begins like this may stand here.
fn may_begin(start: &str, before: Option<char>) -> bool {
    SHAPES.iter().any(|shape| shape.prefix.starts_with(start) && shape.body.place().allows(before))
}

pub(super) fn last_char(text: &str, end: usize) -> Option<char> {
    text[..end].chars().next_back()
}

/// Where a prefix counts as one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Not in the middle of a word.
    Apart,
    /// `MY_API_KEY=`, not `monkeyKEY=`.
    Named,
    Any,
}

impl Place {
    fn allows(self, before: Option<char>) -> bool {
        match self {
            Self::Apart => !before.is_some_and(char::is_alphanumeric),
            Self::Named => !before.is_some_and(|c| c.is_ascii_lowercase()),
            Self::Any => true,
        }
    }
}

impl Body {
    fn place(self) -> Place {
        match self {
            Self::Token | Self::Capitals | Self::Jwt | Self::Bearer => Place::Apart,
            Self::Assignment => Place::Named,
            Self::Pem => Place::Any,
        }
    }
}

impl Shape {
    /// The part of `text` to mask, when what stands around the prefix is a secret.
    fn secret(&self, text: &str, prefix: Range<usize>, before: Option<char>, rest: Rest) -> Option<Found> {
        let body = &text[prefix.end..];
        if !self.body.place().allows(before) {
            return None;
        }
        let quote = usize::from(body.starts_with(['"', '\'']));
        let (start, skipped, extent) = match self.body {
            Body::Token => (prefix.start, 0, token(body, is_token, rest).at_least(self.at_least)),
            Body::Capitals => (prefix.start, 0, capitals(body, self.at_least, rest)),
            Body::Jwt => (prefix.start, 0, jwt(body, rest)),
            Body::Pem => (prefix.start, 0, pem(body, rest)),
            Body::Bearer => (prefix.end, 0, token(body, is_bearer, rest).at_least(self.at_least)),
            Body::Assignment => {
                let extent = assignment(&body[quote..], quote > 0, rest);
                (prefix.end + quote, quote, extent.at_least(self.at_least))
            }
        };
        match extent {
            Extent::None => None,
            Extent::Of(length) => Some(Found::Secret(start..prefix.end + skipped + length)),
            Extent::Growing(length, inside) => {
                Some(Found::Growing(start..prefix.end + skipped + length, inside))
            }
            Extent::Unsure => Some(Found::Wait(prefix.start)),
        }
    }
}

/// A prefix that leads nowhere is given up after this many bytes, so that hostile text costs no more than its
/// length.
const LOOK_AHEAD: usize = 64;
/// What looks like a JWT for so long is taken for one, rather than held back any longer.
const LONGEST_CLAIMS: usize = 4 << 10;
/// What is assigned is judged by so much of it, rather than held back any longer.
const LONGEST_VALUE: usize = 512;

fn start(text: &str) -> &[u8] {
    &text.as_bytes()[..text.len().min(LOOK_AHEAD)]
}

pub(super) fn run(text: &str, accept: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !accept(byte)).unwrap_or(text.len())
}

/// Whether what was looked at reaches to the end of what is there, and is not the end of all.
fn goes_on(text: &str, length: usize, rest: Rest) -> bool {
    length == text.len() && rest == Rest::MayCome
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_bearer(byte: u8) -> bool {
    is_token(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

fn is_dotted(byte: u8) -> bool {
    is_token(byte) || byte == b'.'
}

/// Words joined by dashes are no token: a digit must come soon.
fn token(body: &str, accept: fn(u8) -> bool, rest: Rest) -> Extent {
    let head = start(body).iter().take_while(|byte| accept(**byte)).count();
    if !body.as_bytes()[..head].iter().any(u8::is_ascii_digit) {
        let unsure = head < LOOK_AHEAD && goes_on(body, head, rest);
        return if unsure { Extent::Unsure } else { Extent::None };
    }
    let length = run(body, accept);
    grown(body, length, accept, rest)
}

fn grown(body: &str, length: usize, accept: fn(u8) -> bool, rest: Rest) -> Extent {
    if goes_on(body, length, rest) {
        Extent::Growing(length, Inside::Run(accept))
    } else {
        Extent::Of(length)
    }
}

/// What is assigned can be judged once its end is there.
fn assignment(value: &str, quoted: bool, rest: Rest) -> Extent {
    let length = run(value, is_value);
    if !goes_on(value, length, rest) || is_operator(value) {
        return Extent::of(assigned(value, quoted));
    }
    match assigned(value, quoted) {
        _ if length <= LONGEST_VALUE => Extent::Unsure,
        0 => Extent::None,
        _ => Extent::Growing(length, Inside::Run(is_value)),
    }
}

fn capitals(body: &str, exactly: usize, rest: Rest) -> Extent {
    let length =
        start(body).iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).count();
    if length <= exactly && goes_on(body, length, rest) {
        Extent::Unsure
    } else if length == exactly {
        Extent::Of(length)
    } else {
        Extent::None
    }
}

fn jwt(body: &str, rest: Rest) -> Extent {
    const SHORTEST_CLAIMS: usize = 10;
    // A header with a key inside (`jwk`) is longer than any token's first digit is far.
    let header = body.bytes().take(8 * LOOK_AHEAD).take_while(|byte| is_token(*byte)).count();
    let Some(behind) = body[header..].strip_prefix('.') else {
        return if goes_on(body, header, rest) { Extent::Unsure } else { Extent::None };
    };
    let claims = run(behind, is_token);
    if goes_on(behind, claims, rest) && claims <= LONGEST_CLAIMS {
        return Extent::Unsure;
    }
    let is_long = goes_on(behind, claims, rest);
    if !is_long && (claims < SHORTEST_CLAIMS || !behind[claims..].starts_with('.')) {
        return Extent::None;
    }
    grown(body, header + 1 + run(behind, is_dotted), is_dotted, rest)
}

/// A private key's block, the rest of it when the end is missing.
fn pem(body: &str, rest: Rest) -> Extent {
    const KEY: &str = "PRIVATE KEY";
    // `RSA `, `EC `, `OPENSSH `, `ENCRYPTED ` or nothing.
    let kind = start(body).iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b' ').count();
    if kind < LOOK_AHEAD && goes_on(body, kind, rest) {
        return Extent::Unsure;
    }
    let Some(header) = body[..kind].rfind(KEY) else { return Extent::None };
    let behind = &body[header..];
    if !behind.starts_with(PEM_END) {
        let cut_off = rest == Rest::MayCome && PEM_END.starts_with(behind);
        return if cut_off { Extent::Unsure } else { Extent::None };
    }
    let header = header + PEM_END.len();
    match rest {
        Rest::MayCome => Extent::Growing(header, Inside::pem()),
        Rest::Ended => {
            let inside = &body[header..header + pem_run(&body[header..])];
            Extent::Of(header + footed(inside).unwrap_or(inside.len()))
        }
    }
}
