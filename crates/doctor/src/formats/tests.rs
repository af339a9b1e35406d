use super::*;

#[test]
fn messages_of_the_core_are_told_with_what_was_put_in() {
    let text = "acme 0000:01:00.7: PM: failed to suspend late: error -16".into();
    let known = all().recognise(&text).expect("the core's own words");
    assert_eq!(known.format.meaning, Some(Meaning::Failed));
    assert_eq!(known.device, Some(("acme", "0000:01:00.7")));
    assert_eq!(known.parameters, ["suspend late", "-16"]);
    assert_eq!(known.format.severity, Some(3));
}

#[test]
fn what_only_some_kernels_print_tells_them() {
    let kernels = |text| {
        let message = Words::from(text);
        let known = all().recognise(&message).expect(text);
        known.kernels().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(kernels("PM: suspend entry (deep)"), "6.1 6.12 7.3");
    assert_eq!(kernels("Restarting tasks: Starting"), "7.3");
    assert_eq!(kernels("Restarting tasks ..."), "6.1 6.12");
}

#[test]
fn words_of_others_are_not_told() {
    for text in [
        "a line of somebody else about his sleep",
        "CPU5: shutdown",
        "acme 1-2: foo() failed: 5",
        "acme: status 7",
        "quux vex0: a: b c d",
        "",
        ": ",
    ] {
        let message = text.into();
        let known = all().recognise(&message);
        assert!(known.is_none(), "{text}: {:?}", known.map(|k| k.format.text.clone()));
    }
}

#[test]
fn no_format_of_the_core_is_without_a_meaning() {
    let without: Vec<&str> =
        all().list.iter().filter(|f| f.core && f.meaning.is_none()).map(|f| &f.text[..]).collect();
    assert!(without.is_empty(), "give them one in table.txt: {without:?}");
}
