//! What is printed: a budget, what was measured, what it is compared with, and whether it is met.

use std::time::Duration;

pub struct Row {
    what: String,
    measured: String,
    reference: String,
    budget: String,
    /// Measured over budget: up to 1 is met, more than 2 fails the run.
    ratio: f64,
}

impl Row {
    pub fn new(what: &str, measured: impl Into<String>, reference: impl Into<String>) -> Self {
        let (measured, reference) = (measured.into(), reference.into());
        Self { what: what.to_owned(), measured, reference, budget: String::new(), ratio: 0.0 }
    }

    /// `value` may be up to `limit`, in one unit.
    pub fn budget(mut self, text: &str, value: f64, limit: f64) -> Self {
        self.budget = text.to_owned();
        self.ratio = value / limit;
        self
    }

    /// A budget that is met or not, with nothing in between.
    pub fn demand(mut self, text: &str, met: bool) -> Self {
        self.budget = text.to_owned();
        self.ratio = if met { 0.0 } else { f64::INFINITY };
        self
    }

    pub fn failed(what: &str, error: String) -> Self {
        Self {
            what: what.to_owned(),
            measured: error,
            reference: String::new(),
            budget: String::new(),
            ratio: f64::INFINITY,
        }
    }

    pub fn is_fatal(&self) -> bool {
        self.ratio > 2.0
    }

    fn verdict(&self) -> String {
        match self.ratio {
            ratio if ratio <= 1.0 => "ok".to_owned(),
            ratio if ratio.is_finite() => format!("MISS ×{ratio:.1}"),
            _ => "MISS".to_owned(),
        }
    }
}

pub fn render(rows: &[Row]) -> String {
    let head = ["what", "measured", "reference, same run", "budget", ""].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        [row.what.clone(), row.measured.clone(), row.reference.clone(), row.budget.clone(), row.verdict()]
    });
    let lines: Vec<[String; 5]> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let pad = |line: &[String; 5]| {
        let cells: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    lines.iter().map(pad).collect::<Vec<_>>().join("\n")
}

pub fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", in_mib(bytes))
}

#[allow(clippy::cast_precision_loss, reason = "sizes here are far below 2^52")]
pub fn in_mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
