//! Columns for people.

use unicode_width::UnicodeWidthStr as _;

/// A table with a heading; columns are as wide as what is in them.
pub(super) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(headings: impl Into<Vec<&'static str>>) -> Self {
        Self { headings: headings.into(), rows: Vec::new() }
    }

    /// Cells that were made harmless.
    pub(super) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn text(&self) -> String {
        let cells = |n: usize| self.rows.iter().filter_map(move |row| row.get(n)).map(|cell| cell.width());
        let widths: Vec<usize> =
            self.headings.iter().enumerate().map(|(n, heading)| cells(n).fold(heading.width(), usize::max)).collect();
        let mut text = String::new();
        let headings: Vec<String> = self.headings.iter().map(|heading| (*heading).to_owned()).collect();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let mut table = Table::new(["A", "BB"]);
        table.row(["日本".to_owned(), "1".to_owned()]);
        table.row(["x".to_owned(), String::new()]);
        assert_eq!(table.text(), "A     BB\n日本  1\nx\n");
    }
}
