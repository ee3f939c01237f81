//! A terminal that changes its size at any moment: after it was read and before a frame comes, between a question and its answer,
//! before the kernel knows. The real [`Screen`] draws on a pseudo terminal; the test decides when its bytes arrive.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use portable_pty::{MasterPty, PtySize, native_pty_system};
use proptest::prelude::*;
use ratatui_core::text::Line;
use rustix::fs::OFlags;
use zdx_testkit::TerminalEmulator;

use crate::term::modes::Modes;
use crate::term::settle::Phase;
use crate::term::{Capabilities, Environment, Frame, Report, Screen};

/// Marks the end of what was written so far: a pseudo terminal passes bytes on a little later.
const MARK: &[u8] = b"\x1b]999;mark\x07";
/// Lines of the live region.
const LIVE: [&str; 4] = ["tail", "----", "> ", "===="];

/// Answers of the terminal that were not read yet.
#[derive(Default)]
struct PendingAnswers(VecDeque<Report>);

impl vt100::Callbacks for PendingAnswers {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        i1: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        c: char,
    ) {
        let (rows, columns) = screen.size();
        let (row, column) = screen.cursor_position();
        match (i1, c, params.first().and_then(|param| param.first())) {
            (None, 't', Some(18)) => self.0.push_back(Report::Size(rows.get(), columns.get())),
            (None, 'n', Some(6)) => {
                self.0.push_back(Report::Cursor(row + 1, (column + 1).min(columns.get())));
            }
            (None, 'c', _) => self.0.push_back(Report::Attributes),
            _ => {}
        }
    }
}

struct Race {
    master: Box<dyn MasterPty + Send>,
    reader: Box<dyn Read + Send>,
    marker: File,
    terminal: TerminalEmulator<PendingAnswers>,
    screen: Screen,
    history: Vec<String>,
}

impl Race {
    fn start(columns: u16, rows: u16) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let name = pair.master.tty_name().unwrap();
        let open = |flags: OFlags| {
            let flags = (flags | OFlags::NOCTTY).bits() as i32;
            File::options().read(true).write(true).custom_flags(flags).open(&name).unwrap()
        };
        let modes = Modes::on(open(OFlags::empty()), open(OFlags::NONBLOCK), false).unwrap();
        let env = Environment { term: Some("xterm-256color".to_owned()), ..Environment::default() };
        let screen = Screen::on(modes, Capabilities::new(&env)).unwrap();
        let reader = pair.master.try_clone_reader().unwrap();
        let terminal = TerminalEmulator::with_callbacks(rows, columns, 5_000, PendingAnswers::default());
        let marker = open(OFlags::empty());
        let mut race = Self { master: pair.master, reader, marker, terminal, screen, history: Vec::new() };
        race.draw(3, 0);
        race.arrive();
        race.answer();
        race
    }

    /// Lines of history are as long as the conversation makes them for the width that is known.
    fn draw(&mut self, lines: usize, width: usize) {
        let (columns, _) = self.screen.size();
        let from = self.history.len();
        let new: Vec<String> = (from..from + lines)
            .map(|n| format!("{:x<1$}", format!("line {n} "), width.min(usize::from(columns)).max(9)))
            .collect();
        let live = LIVE.map(|row| match row.chars().next() {
            Some('-' | '=') => Line::from(row[..1].repeat(usize::from(columns))),
            _ => Line::from(row),
        });
        let history = new.iter().cloned().map(Line::from).collect();
        self.history.extend(new);
        self.screen
            .draw(&Frame { history, live: live.to_vec(), cursor: Some((2, 2)), modal: false })
            .unwrap();
    }

    /// What was written comes to the terminal.
    fn arrive(&mut self) {
        self.marker.write_all(MARK).unwrap();
        let (mut bytes, mut piece) = (Vec::new(), [0; 4 << 10]);
        while !bytes.ends_with(MARK) {
            let count = self.reader.read(&mut piece).unwrap();
            bytes.extend_from_slice(&piece[..count]);
        }
        self.terminal.process(&bytes);
    }

    fn resize_terminal(&mut self, columns: u16, rows: u16) {
        self.terminal.set_size(rows, columns);
    }

    fn tell_kernel(&mut self) {
        let (rows, cols) = self.terminal.screen().size();
        let size = PtySize { rows: rows.get(), cols: cols.get(), pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).unwrap();
    }

    fn answer(&mut self) {
        let answers = std::mem::take(&mut self.terminal.callbacks_mut().0);
        for report in answers {
            self.screen.reported(&report).unwrap();
        }
    }

    /// Time passes until something is due. A terminal that was asked where the caret is answers before it is given up.
    fn settle(&mut self) {
        match self.screen.phase {
            Phase::Steady => self.screen.settle(Instant::now()).unwrap(),
            Phase::Unquiet(until) => self.screen.settle(until).unwrap(),
            Phase::Asked(_) => {
                self.arrive();
                self.answer();
            }
        }
    }

    fn finish(&mut self) {
        self.tell_kernel();
        self.screen.resized(Instant::now());
        for _ in 0..20 {
            self.settle();
            self.arrive();
            self.answer();
            if self.screen.phase == Phase::Steady {
                self.draw(0, 0);
            }
        }
        assert_eq!(self.screen.phase, Phase::Steady);
    }

    /// All rows that can be seen and scrolled to.
    fn rows(&mut self) -> Vec<String> {
        let screen = self.terminal.screen_mut();
        let (rows, columns) = screen.size();
        let mut found = Vec::new();
        for back in (0..=screen.scrollback_len()).rev() {
            screen.set_scrollback(back);
            let taken = if back == 0 { usize::from(rows.get()) } else { 1 };
            found.extend(screen.rows(0, columns.get()).take(taken).map(|row| row.trim_end().to_owned()));
        }
        found
    }
}

#[derive(Clone, Debug)]
enum RaceStep {
    Draw { lines: usize, width: usize },
    Arrive,
    Answer,
    ResizeTerminal { columns: u16, rows: u16 },
    TellKernel,
    Signal,
    Settle,
}

fn race_step() -> impl Strategy<Value = RaceStep> {
    let draw = |lines: std::ops::Range<usize>| {
        (lines, 0_usize..60).prop_map(|(lines, width)| RaceStep::Draw { lines, width })
    };
    prop_oneof![
        3 => draw(0..4),
        2 => draw(4..30),
        3 => Just(RaceStep::Arrive),
        3 => Just(RaceStep::Answer),
        3 => (20_u16..60, 10_u16..20).prop_map(|(columns, rows)| RaceStep::ResizeTerminal { columns, rows }),
        2 => Just(RaceStep::TellKernel),
        2 => Just(RaceStep::Signal),
        2 => Just(RaceStep::Settle),
    ]
}

#[track_caller]
fn assert_every_line_once(steps: Vec<RaceStep>) {
    let mut race = Race::start(40, 16);
    for step in steps {
        match step {
            RaceStep::Draw { lines, width } => race.draw(lines, width),
            RaceStep::Arrive => race.arrive(),
            RaceStep::Answer => race.answer(),
            RaceStep::ResizeTerminal { columns, rows } => race.resize_terminal(columns, rows),
            RaceStep::TellKernel => race.tell_kernel(),
            RaceStep::Signal => race.screen.resized(Instant::now()),
            RaceStep::Settle => race.settle(),
        }
    }
    race.finish();
    let rows = race.rows();
    let number = |row: &String| row.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok());
    let lines: Vec<usize> = rows.iter().filter(|row| row.starts_with("line ")).filter_map(number).collect();
    assert_eq!(lines, (0..race.history.len()).collect::<Vec<_>>(), "{rows:#?}");
    for part in LIVE {
        let copies = rows.iter().filter(|row| row.starts_with(part.trim_end())).count();
        assert_eq!(copies, 1, "{part:?} in {rows:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_there_once_whenever_the_size_changes(steps in prop::collection::vec(race_step(), 1..25)) {
        assert_every_line_once(steps);
    }
}

#[test]
fn history_that_a_narrower_terminal_wrapped_is_printed_again_once() {
    for rows in [10, 40] {
        assert_every_line_once(vec![
            RaceStep::ResizeTerminal { columns: 20, rows },
            RaceStep::Draw { lines: 13, width: 21 },
            RaceStep::Arrive,
        ]);
    }
}

/// Between the answer where the caret is and the bytes that take the history away.
#[test]
fn history_that_leaves_a_lower_terminal_before_it_is_taken_away_is_not_printed_again() {
    for (width, rows) in [(0, 16), (21, 16), (21, 12)] {
        assert_every_line_once(vec![
            RaceStep::ResizeTerminal { columns: 20, rows },
            RaceStep::Draw { lines: 13, width },
            RaceStep::Arrive,
            RaceStep::Answer,
            RaceStep::Arrive,
            RaceStep::Answer,
            RaceStep::ResizeTerminal { columns: 20, rows: 10 },
        ]);
    }
}
