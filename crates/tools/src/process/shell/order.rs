//! In which order the lines of two streams came. Counted in lines, which masking and decoding leave alone; bounded, and given
//! up where there is too much to count.

use std::sync::{Arc, Mutex, PoisonError};

/// Of changes from one stream to the other.
const MOST: usize = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputStream {
    Out,
    Err,
}

/// Lines of `stdout`, then of `stderr`, and so on.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamOrder(Arc<Mutex<Vec<u32>>>);

impl StreamOrder {
    /// So many lines of a stream have ended.
    pub(super) fn add(&self, stream: OutputStream, lines: usize) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines == 0 || runs.len() > MOST {
            return;
        }
        // The first, third and so on are those of `stdout`.
        let is_last = !runs.is_empty() && (runs.len() % 2 == 1) == (stream == OutputStream::Out);
        if !is_last {
            if runs.is_empty() && stream == OutputStream::Err {
                runs.push(0);
            }
            runs.push(0);
        }
        if let Some(last) = runs.last_mut() {
            *last = last.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        }
    }

    /// Empty where there was too much of it.
    pub(super) fn runs(&self) -> Vec<u32> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() > MOST { Vec::new() } else { runs.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_turns() {
        let order = StreamOrder::default();
        for (stream, lines) in [
            (OutputStream::Err, 1),
            (OutputStream::Err, 2),
            (OutputStream::Out, 4),
            (OutputStream::Err, 0),
            (OutputStream::Out, 1),
        ] {
            order.add(stream, lines);
        }
        assert_eq!(order.runs(), [0, 3, 5]);
        (0..2 * MOST)
            .for_each(|n| order.add(if n % 2 == 0 { OutputStream::Err } else { OutputStream::Out }, 1));
        assert!(order.runs().is_empty(), "it is given up");
        assert!(order.0.lock().unwrap().len() <= MOST + 1);
    }
}
