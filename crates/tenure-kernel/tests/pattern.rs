//! Properties of patterns, over texts that are full of signs.

use proptest::prelude::*;
use tenure_kernel::Pattern;

fn texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!['*', '?', '[', ']', '\\', 'a', 'b', 'ü']), 0..6)
        .prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn a_prefix_is_taken_literally(prefix in texts(), text in texts(), name in texts()) {
        let (pattern, rest) = (Pattern::behind(&prefix, &text), Pattern::new(&text));
        prop_assert_eq!(pattern.matches(&format!("{prefix}{name}")), rest.matches(&name));
        let expected = name.strip_prefix(&prefix).is_some_and(|name| rest.matches(name));
        prop_assert_eq!(pattern.matches(&name), expected);
    }

    #[test]
    fn a_prefix_without_signs_is_a_part_of_the_pattern(prefix in "[ab]{0,3}", text in texts()) {
        prop_assert_eq!(Pattern::behind(&prefix, &text), Pattern::new(&format!("{prefix}{text}")));
    }
}
