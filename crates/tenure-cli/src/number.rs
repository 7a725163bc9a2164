//! Whole numbers as people type them.

/// How many of something.
pub(crate) fn count(text: &str) -> Result<u32, &'static str> {
    let most = i32::MAX.unsigned_abs();
    text.parse().ok().filter(|count| *count <= most).ok_or("write a whole number such as `50`, up to 2147483647")
}

/// A file descriptor.
pub(crate) fn descriptor(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "write the number of a file descriptor, such as `3`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_typed() {
        for (read, most) in [(count as fn(&str) -> _, "2147483647"), (descriptor, "4294967295")] {
            assert_eq!((read("0"), read(most)), (Ok(0), Ok(most.parse().unwrap())));
            for nonsense in ["", "-1", "x", "1.5", "4294967296", " 1"] {
                assert!(read(nonsense).is_err(), "{nonsense}");
            }
        }
    }
}
