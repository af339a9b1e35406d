//! A text or a machine, taken apart: what rules read.

use crate::attempt::{self, Attempt, Place};
use crate::message::Message;
use crate::messages::Messages;
use crate::night::Night;
use crate::now::{Waiting, Writer};
use crate::timer::Timer;
use crate::value::{self, Value};
use crate::way::Way;

/// One text, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Messages, in order of the text.
    pub messages: Messages,
    /// Values of kernel files that the text shows, in its order.
    pub values: Vec<Value>,
    /// Attempts to sleep, in order of the text.
    pub attempts: Vec<Attempt>,
    /// Parts of attempts whose beginning is not in the text: the first message of each,
    /// and whether its end is there.
    pub parts: Vec<(usize, bool)>,
    /// Lines of a journal that part two boots (`-- Boot …`).
    pub boots: Vec<u64>,
    /// Lines between messages that are none, and not empty: they stand for others, or are the
    /// rest of one.
    pub omitted: Vec<u64>,
    /// Lines that are quoted from an earlier mail, or set apart like that.
    pub quoted: Vec<u64>,
    /// The times of the messages are counted from the first line, because the text has only what
    /// passed between two lines: none of them stands there.
    pub counted: bool,
    /// Lines whose stamps are the kernel's own clock in whole seconds, as `dmesg -T` prints it.
    pub dated: Vec<u64>,
    /// Lines that are comments of a configuration.
    pub noted: Vec<u64>,
    /// Tasks that waited while the machine was looked at; none of a text.
    pub waiting: Vec<Waiting>,
    /// Tasks that ran under a real-time policy meanwhile; none of a text.
    pub spinning: Vec<Waiting>,
    /// Armed timers of the running machine; none of a text.
    pub timers: Vec<Timer>,
    /// Disks of the running machine that have data to write; none of a text.
    pub disks: Vec<Writer>,
    /// What the text shows of nights besides messages.
    pub night: Night,
    /// What the text shows of the way from the request to a machine that can be used.
    pub way: Way,
}

impl Case {
    /// Takes messages apart; attempts to sleep are at `places`.
    pub fn new(messages: Vec<Message>, places: &[Place]) -> Case {
        let values = value::shown(&messages);
        let (attempts, parts) = attempt::attempts(&messages, places);
        let messages = messages.into();
        Case { messages, values, attempts, parts, ..Case::default() }
    }

    /// The messages of each part of an attempt whose beginning is not in the text, up to what
    /// begins next.
    pub(crate) fn of_parts(&self) -> impl Iterator<Item = &[Message]> {
        let begins = self.attempts.iter().map(|a| a.first).chain(self.parts.iter().map(|p| p.0));
        let mut begins: Vec<usize> = begins.collect();
        begins.sort_unstable();
        let end = move |first: usize| {
            let next = begins.get(begins.partition_point(|b| *b <= first));
            next.copied().unwrap_or(self.messages.len())
        };
        self.parts.iter().map(move |p| &self.messages[p.0..end(p.0)])
    }

    /// The messages of an attempt.
    pub fn of(&self, attempt: &Attempt) -> &[Message] {
        &self.messages[attempt.first..attempt.end]
    }
}

#[cfg(test)]
impl Case {
    /// A text of lines without the prefix of a log.
    pub(crate) fn shown(lines: &[&str]) -> Case {
        let log: Vec<(i64, &str)> = lines.iter().map(|l| (0, *l)).collect();
        let bare =
            |m: &Message| Message { time: None, trust: crate::message::Trust::Shown, ..m.clone() };
        let messages = Case::of_log(&log).messages.iter().map(bare).collect();
        Case { messages, ..Case::default() }
    }

    /// The words of a writer; empty lines part them.
    pub(crate) fn of_prose(text: &str) -> Case {
        let message = |(i, text): (usize, &str)| Message {
            line: i as u64 + 1,
            time: None,
            second: None,
            text: text.into(),
            trust: crate::message::Trust::Prose,
        };
        let said = text.lines().enumerate().filter(|l| !l.1.is_empty());
        Case::new(said.map(message).collect(), &[])
    }

    /// A log of lines with their times in ms.
    pub(crate) fn of_log(lines: &[(i64, &str)]) -> Case {
        let message = |(i, (ms, text)): (usize, &(i64, &str))| Message {
            line: i as u64 + 1,
            time: Some(dormouse_base::time::Ns::from_ms(*ms)),
            second: None,
            text: (*text).to_string().into(),
            trust: crate::message::Trust::Logged,
        };
        Case { messages: lines.iter().enumerate().map(message).collect(), ..Case::default() }
    }
}
