//! Whole numbers as people type them.

/// How many of something.
pub(crate) fn count(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| "write a whole number such as `50`, up to 4294967295")
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
        for read in [count, descriptor] {
            assert_eq!((read("0"), read("4294967295")), (Ok(0), Ok(u32::MAX)));
            for nonsense in ["", "-1", "x", "1.5", "4294967296", " 1"] {
                assert!(read(nonsense).is_err(), "{nonsense}");
            }
        }
    }
}
