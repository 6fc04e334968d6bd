//! The parts of a page as HTML.

use mpitrace_show::draw::svg::escaped;

/// A list of lines.
pub fn list(class: &str, lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>", escaped(line))).collect();
    format!("<ul class=\"{class}\">{items}</ul>\n")
}

/// A table of cells that are HTML; those from a column on are numbers.
pub fn table(head: &[&str], rows: &[Vec<String>], numbers_from: usize) -> String {
    let class = |column: usize| if column >= numbers_from { " class=\"number\"" } else { "" };
    let mut text = "<div class=\"scroll\"><table>".to_owned();
    if !head.is_empty() {
        let cells = head.iter().enumerate().map(|(column, name)| format!("<th{}>{name}</th>", class(column)));
        text.push_str(&format!("<thead><tr>{}</tr></thead>", cells.collect::<String>()));
    }
    text.push_str("<tbody>\n");
    for row in rows {
        let first = if head.is_empty() { "th" } else { "td" };
        let cell = |(column, cell): (usize, &String)| match column {
            0 => format!("<{first}>{cell}</{first}>"),
            _ => format!("<td{}>{cell}</td>", class(column)),
        };
        text.push_str(&format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<String>()));
    }
    text + "</tbody></table></div>\n"
}

/// A table of titles and texts.
pub fn facts(pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>) -> String {
    let row = |(title, text): (_, _)| {
        let (title, text): (&dyn AsRef<str>, &dyn AsRef<str>) = (&title, &text);
        vec![escaped(title.as_ref()), format!("<span class=\"wrap\">{}</span>", escaped(text.as_ref()))]
    };
    let rows: Vec<Vec<String>> = pairs.into_iter().map(|(title, text)| row((title, text))).collect();
    table(&[], &rows, usize::MAX)
}

/// A choice of which of the following parts are shown: one of the values. A stylesheet does it, by the values' names.
pub fn choice(group: &str, values: &[&str], chosen: &str) -> String {
    let one = |value: &&str| {
        let id = format!("{group}-{value}");
        let checked = if *value == chosen { " checked" } else { "" };
        format!(
            "<input type=\"radio\" name=\"{group}\" id=\"{id}\" value=\"{value}\"{checked}><label for=\"{id}\">{value}</label>"
        )
    };
    format!("<span class=\"control\">run time</span>{}\n", values.iter().map(one).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_trace_is_markup() {
        let cells = facts([("</script><b>", "a & \"b\"")]);
        assert!(
            cells.contains("<th>&lt;/script&gt;&lt;b&gt;</th>") && cells.contains("a &amp; &quot;b&quot;"),
            "{cells}"
        );
    }
}
