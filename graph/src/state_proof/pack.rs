//! Numbers and names as one text each: a literal costs the compiler one token, however long it is.

const FIRST: u8 = b'0';
const MORE: u8 = 0x20;

/// Numbers as text: for each its digits to the base of 32, the lowest first, with a mark on all but the last (LEB128, with
/// five bits a letter).
pub fn pack(numbers: &[u32]) -> String {
    let mut text = String::new();
    for number in numbers {
        let mut rest = *number;
        loop {
            let digit = (rest % 32) as u8;
            rest /= 32;
            if rest == 0 {
                text.push((FIRST + digit).into());
                break;
            }
            text.push((FIRST + digit + MORE).into());
        }
    }
    text
}

/// The numbers of a text. Behind the last of them the array is filled with zeros.
///
/// # Panics
/// If there are more than `N`.
pub const fn unpack<const N: usize>(text: &str) -> [u32; N] {
    let text = text.as_bytes();
    let (mut numbers, mut count, mut at) = ([0; N], 0, 0);
    while at < text.len() {
        (numbers[count], at) = number_at(text, at);
        count += 1;
    }
    numbers
}

/// The numbers of a text of which it is not known how many there are.
pub fn numbers_of(text: &str) -> impl Iterator<Item = u32> {
    let (text, mut at) = (text.as_bytes(), 0);
    std::iter::from_fn(move || {
        let number;
        (number, at) = (at < text.len()).then(|| number_at(text, at))?;
        Some(number)
    })
}

/// The number that begins at a letter, and where the next one begins.
const fn number_at(text: &[u8], mut at: usize) -> (u32, usize) {
    let (mut number, mut shift) = (0, 0);
    loop {
        let letter = text[at] - FIRST;
        at += 1;
        number |= ((letter % MORE) as u32) << shift;
        shift += 5;
        if letter < MORE {
            return (number, at);
        }
    }
}

/// What ends a name. No label or name that is seen in a message has it.
const END: char = '\u{1f}';

/// Names as text.
pub fn pack_names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut text = String::new();
    for name in names {
        text.push_str(&name.replace(END, " "));
        text.push(END);
    }
    text
}

/// The name at a place of such a text.
///
/// # Panics
/// If there are not so many.
pub(super) const fn name_at(text: &str, at: usize) -> &str {
    let (mut rest, mut left) = (text, at);
    loop {
        let mut end = 0;
        while rest.as_bytes()[end] != END as u8 {
            end += 1;
        }
        let (name, behind) = rest.split_at(end);
        if left == 0 {
            return name;
        }
        (_, rest) = behind.split_at(1);
        left -= 1;
    }
}
