//! Whether the end of a text may be the start of something that is looked for: what has to wait for more.

pub(super) struct Starts {
    /// What is looked for, in order.
    whole: Vec<String>,
    first: [bool; 256],
    longest: usize,
}

impl Starts {
    pub(super) fn new(whole: impl IntoIterator<Item = String>) -> Self {
        let mut whole: Vec<String> = whole.into_iter().collect();
        whole.sort_unstable();
        whole.dedup();
        let mut first = [false; 256];
        for byte in whole.iter().filter_map(|text| text.bytes().next()) {
            first[usize::from(byte)] = true;
        }
        let longest = whole.iter().map(String::len).max().unwrap_or(0);
        Self { whole, first, longest }
    }

    /// The first place behind `from` at which something may have begun that is not whole yet; the end when there is none.
    pub(super) fn open(&self, text: &str, from: usize, may: impl Fn(usize) -> bool) -> usize {
        let nearest = (text.len() + 1).saturating_sub(self.longest);
        let bytes = text.as_bytes();
        let begins =
            |at: &usize| self.first[usize::from(bytes[*at])] && self.is_start(&bytes[*at..]) && may(*at);
        (nearest.max(from)..text.len()).find(begins).unwrap_or(text.len())
    }

    fn is_start(&self, part: &[u8]) -> bool {
        let from = self.whole.partition_point(|whole| whole.as_bytes() <= part);
        self.whole.get(from).is_some_and(|whole| whole.as_bytes().starts_with(part))
    }
}
