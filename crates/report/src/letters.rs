//! Bytes as text in a page: 85 letters, four bytes in five of them (base64 needs 7 %
//! more). `web/src/data/blocks.ts` reads them.

/// From `#` on, without `<`, which HTML may misread, and the backslash.
const LETTERS: [u8; 85] = {
    let mut list = [0; 85];
    let (mut at, mut letter) = (0, b'#');
    while at < 85 {
        if letter != b'<' && letter != b'\\' {
            list[at] = letter;
            at += 1;
        }
        letter += 1;
    }
    list
};

/// Five letters for four bytes, the first the highest; of the last group one letter more
/// than it has bytes.
pub(crate) fn letters(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(4) * 5);
    for four in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..four.len()].copy_from_slice(four);
        let mut word = u32::from_be_bytes(word);
        let mut group = [0; 5];
        for letter in group.iter_mut().rev() {
            *letter = LETTERS[(word % 85) as usize];
            word /= 85;
        }
        text.extend(group[..four.len() + 1].iter().map(|&b| char::from(b)));
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As the page reads them.
    pub(crate) fn read(text: &str) -> Vec<u8> {
        let place = |b: u8| LETTERS.iter().position(|l| *l == b).expect("a letter") as u64;
        let mut bytes = Vec::new();
        for group in text.as_bytes().chunks(5) {
            let five = (0..5).map(|i| group.get(i).map_or(84, |b| place(*b)));
            let word = five.fold(0, |sum, p| sum * 85 + p) as u32;
            bytes.extend(&word.to_be_bytes()[..group.len() - 1]);
        }
        bytes
    }

    /// `web/test/blocks.test.ts` reads the same lines.
    #[test]
    fn the_letters_are_those_that_the_page_knows() {
        assert_eq!(letters(b""), "");
        assert_eq!(letters(&[0]), "##");
        assert_eq!(letters(&[255]), "vv");
        assert_eq!(letters(b"dormouse"), "D:gO,Gjt.6");
        assert_eq!(letters(&[0, 255, 89, 7, 151]), "#?83.TQ");
        assert_eq!(letters(&[255; 7]), "w:Z/#w:Z,");
        assert_eq!(letters(&[0, 0, 0, 0, 151, 200]), "#####TgN");
    }

    #[test]
    fn bytes_of_every_length_come_back() {
        for length in 0..70 {
            let byte = |i: usize| [0, 255, 89, 7, 151][(i * i + length) % 5];
            let bytes: Vec<u8> = (0..length).map(byte).collect();
            let text = letters(&bytes);
            assert!(text.bytes().all(|b| LETTERS.contains(&b)) && !text.contains(['<', '\\']));
            assert_eq!(read(&text), bytes);
        }
    }
}
