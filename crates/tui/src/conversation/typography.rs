//! Stand-ins for `write` until it is here.

pub(super) mod markdown {
    use ratatui_core::text::Line;
    use zdx_protocol::display::text::wrap;

    use crate::look::Look;

    #[derive(Debug, Default)]
    pub(in super::super) struct Stream {
        text: String,
        given: usize,
        over: bool,
    }

    impl Stream {
        pub(in super::super) fn push(&mut self, text: &str) {
            self.text.push_str(text);
        }

        pub(in super::super) fn settled(&mut self, look: Look<'_>) -> Vec<Line<'static>> {
            let end = if self.over { self.text.len() } else { self.text.rfind('\n').map_or(0, |at| at + 1) };
            let lines = render(&self.text[self.given..end.max(self.given)], look);
            self.given = end.max(self.given);
            lines
        }

        pub(in super::super) fn tail(&self, look: Look<'_>) -> Vec<Line<'static>> {
            render(&self.text[self.given..], look)
        }

        pub(in super::super) fn finish(&mut self) {
            self.over = true;
        }
    }

    pub(in super::super) fn render(text: &str, look: Look<'_>) -> Vec<Line<'static>> {
        wrap(text, usize::from(look.width)).into_iter().map(Line::from).collect()
    }
}

pub(super) mod diff {
    use ratatui_core::text::{Line, Span};
    use zdx_protocol::display::diff::{Bounds, LineKind, WHOLE, unified};

    use crate::look::Look;

    pub(in super::super) fn draw(diff: &str, look: Look<'_>, most: Option<usize>) -> Vec<Line<'static>> {
        let bounds = Bounds { columns: usize::from(look.width), lines: most.unwrap_or(WHOLE) };
        let style = |kind| match kind {
            LineKind::Add => look.theme.added,
            LineKind::Remove => look.theme.removed,
            LineKind::Context => look.theme.text,
            LineKind::Hunk | LineKind::Note | LineKind::LeftOut => look.theme.dim,
        };
        unified(diff, bounds)
            .into_iter()
            .map(|line| Line::from(Span::styled(line.text, style(line.kind))))
            .collect()
    }
}
