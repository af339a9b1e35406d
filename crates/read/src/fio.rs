//! Documents of fio in what a shell printed: one behind the other, with text between.

use serde_json::Value;

/// Broken documents before a text is given up: each is looked at to its end.
const MOST_BROKEN: u32 = 64;

/// Hands each document and the line that it begins in, from 1, to `take`.
pub(crate) fn documents(bytes: &[u8], mut take: impl FnMut(Value, usize)) {
    let (mut rest, mut broken, mut line) = (bytes, 0u32, 1);
    while broken < MOST_BROKEN
        && let Some(at) = begin(rest)
    {
        line += memchr::memchr_iter(b'\n', &rest[..at]).count();
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Value>();
        let end = match values.next() {
            Some(Ok(value)) => {
                take(value, line);
                values.byte_offset()
            }
            _ => {
                broken += 1;
                1
            }
        };
        line += memchr::memchr_iter(b'\n', &rest[..end]).count();
        rest = &rest[end..];
    }
}

/// Where the next document may begin: a brace at the begin of a line.
fn begin(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'{', bytes).find(|&at| at == 0 || bytes[at - 1] == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_one_by_one_with_their_lines() {
        let text = b"first:\n{\"a\": [\n1]}\nthen\n{broken\n{\"b\":2}\n";
        let mut seen = Vec::new();
        documents(text, |v, line| seen.push((v.to_string(), line)));
        assert_eq!(seen, [("{\"a\":[1]}".to_string(), 2), ("{\"b\":2}".to_string(), 6)]);
    }
}
