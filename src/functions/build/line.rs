//! A line of the table (`functions.table` says what each word means), as data.

/// A line. What a line does not have is empty.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub kind: String,
    /// `+c`: there is a variant with large counts.
    pub large: bool,
    /// The name without `MPI_`.
    pub name: String,
    /// The name of the non-blocking form of a `collective`.
    pub started: String,
    /// The parameters under the names that the table gives them, which say what each one is.
    pub parameters: Vec<String>,
    /// The blocking function that does the same as a `nonblocking` one.
    pub blocking: String,
    /// The function that is called in a library that lacks this one.
    pub other: Call,
    pub into: String,
    /// Behind `=>`: the rule of the message size, or the function of ours that gets the call.
    pub rule: Call,
    /// The function of ours that forwards the call, and knows with whom the rank waits.
    pub around: Call,
    /// The function of ours that sees the arguments of a call that has returned well.
    pub then: Call,
    pub root: String,
    pub reduction: String,
    /// Words: a communicator, or a kind, perhaps `at`, and a parameter.
    pub on: Vec<String>,
    pub pattern: String,
    pub otf2: String,
    pub reprompi: String,
    pub observer: Call,
    pub waits: String,
}

impl Line {
    /// True if calls of the function are recorded.
    pub fn is_recorded(&self) -> bool {
        ["collective", "blocking", "nonblocking"].contains(&self.kind.as_str())
    }
}

/// A function with its arguments.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub path: String,
    pub arguments: Vec<String>,
}

/// The lines of a table: one for each function of a line with several. What follows a `#` is a comment.
///
/// # Panics
/// Where a line is not as the head of the table has it; the message has the line.
pub fn lines(table: &str) -> Vec<Line> {
    let without_comments = table.lines().map(|line| line.split('#').next().unwrap_or_default().to_owned() + "\n");
    let code: String = without_comments.collect();
    let (whole, rest) = code.rsplit_once(';').unwrap_or(("", &code));
    assert!(rest.trim().is_empty(), "no semicolon ends the line {}", rest.trim());
    whole.split(';').map(str::trim).filter(|line| !line.is_empty()).flat_map(alike).collect()
}

/// The words of a text: names, and the signs beside them.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for letter in text.chars() {
        let in_word = letter.is_alphanumeric() || letter == '_';
        match words.last_mut() {
            Some(word) if in_word && !begins => word.push(letter),
            _ if letter.is_whitespace() => {}
            _ => words.push(letter.to_string()),
        }
        begins = !in_word;
    }
    words
}

/// The functions of a line.
fn alike(text: &str) -> Vec<Line> {
    let mut words = Words(words(text).into_iter().peekable());
    let mut line = Line { kind: words.next(), ..Line::default() };
    if words.is("+") {
        assert_eq!(words.next(), "c", "behind the + in the line {text}");
        line.large = true;
    }
    let mut names = vec![words.next()];
    while words.is("/") {
        names.push(words.next());
    }
    if words.is(",") {
        line.started = words.next();
    }
    line.parameters = words.group();
    while let Some(word) = words.0.next() {
        match word.as_str() {
            "of" => line.blocking = words.next(),
            "or" => line.other = words.call(),
            "into" => line.into = words.next(),
            "=" => {
                assert!(words.is(">"), "{text}");
                line.rule = words.call();
            }
            "around" => line.around = words.call(),
            "then" => line.then = words.call(),
            "root" => line.root = words.next(),
            "reduction" => line.reduction = words.next(),
            "on" if words.0.peek().is_some_and(|word| word == "(") => line.on = words.group(),
            "on" => line.on = vec![words.next()],
            "as" => line.pattern = words.next(),
            "otf2" => line.otf2 = words.next(),
            "reprompi" => line.reprompi = words.next(),
            "with" => line.observer = words.call(),
            "waits" => line.waits = words.next(),
            _ => panic!("{word} in the line {text}"),
        }
    }
    if line.is_recorded() && line.rule.path.is_empty() {
        "nothing".clone_into(&mut line.rule.path);
    }
    if line.pattern.is_empty() {
        "usually_all_to_all".clone_into(&mut line.pattern);
    }
    let array = array(&line.parameters);
    for call in [&mut line.rule, &mut line.around, &mut line.then] {
        call.arguments
            .iter_mut()
            .filter(|argument| *argument == "array")
            .for_each(|argument| argument.clone_from(&array));
    }
    names.into_iter().map(|name| Line { name, ..line.clone() }).collect()
}

/// The parameters of a call for requests, by their names.
fn array(parameters: &[String]) -> String {
    let first = |names: [&'static str; 2], otherwise: &'static str| {
        names.into_iter().find(|name| parameters.iter().any(|parameter| parameter == name)).unwrap_or(otherwise)
    };
    let completed = match first(["index", "outcount"], "") {
        "index" => "One { index }",
        "outcount" => "Some { outcount, indices }",
        _ => "All",
    };
    let [count, flag] = [("count", "1"), ("flag", "0")].map(|(name, otherwise)| first([name; 2], otherwise));
    let [requests, statuses] = [["requests", "request"], ["statuses", "status"]].map(|names| first(names, "0"));
    format!(
        "Array {{ count: {count}, requests: {requests}, statuses: {statuses}, flag: {flag}, \
         completed: Completed::{completed} }}"
    )
}

struct Words(std::iter::Peekable<std::vec::IntoIter<String>>);

impl Words {
    fn next(&mut self) -> String {
        self.0.next().expect("a whole line")
    }

    /// Takes this word, where it is the next one.
    fn is(&mut self, word: &str) -> bool {
        self.0.next_if(|next| next == word).is_some()
    }

    /// The words in parentheses, without commas.
    fn group(&mut self) -> Vec<String> {
        assert!(self.is("("), "a group of words");
        let group: Vec<String> = self.0.by_ref().take_while(|word| word != ")").collect();
        group.into_iter().filter(|word| word != ",").collect()
    }

    /// `module::function(arguments)`.
    fn call(&mut self) -> Call {
        let mut path = self.next();
        while self.is(":") {
            assert!(self.is(":"), "a path");
            path = format!("{path}::{}", self.next());
        }
        Call { path, arguments: self.group() }
    }
}
