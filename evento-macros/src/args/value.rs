//! The values of options: what each must be, and what it means.

use quote::ToTokens;
use syn::{Expr, ExprLit, Index, Lit, LitStr, Member, Path, UnOp};

use super::{Arg, Key, must};
use crate::errors::{Errors, one_of};
use crate::names::{NAME_RULE, is_name, is_rooted};

/// Without the invisible groups and parentheses around it.
fn peel(mut value: &Expr) -> &Expr {
    loop {
        value = match value {
            Expr::Group(group) => &group.expr,
            Expr::Paren(paren) => &paren.expr,
            _ => return value,
        };
    }
}

fn lit(value: &Expr) -> Option<&Lit> {
    match peel(value) {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

fn string(value: &Expr) -> Option<&LitStr> {
    match lit(value)? {
        Lit::Str(text) => Some(text),
        _ => None,
    }
}

impl Arg {
    /// Notes that the value is not what the key expects.
    pub(crate) fn refuse(&self, errors: &mut Errors) {
        // What came through a `macro_rules!` stands in a group whose place is in the macro.
        errors.on(peel(&self.value), must(self.key));
    }

    fn or_refuse<T>(&self, value: Option<T>, errors: &mut Errors) -> Option<T> {
        if value.is_none() {
            self.refuse(errors);
        }
        value
    }

    pub(crate) fn string(&self, errors: &mut Errors) -> Option<LitStr> {
        self.or_refuse(string(&self.value).cloned(), errors)
    }

    /// Its value, if that is a string.
    pub(crate) fn literal(&self) -> Option<&LitStr> {
        string(&self.value)
    }

    /// A string that can be a name.
    pub(crate) fn name(&self, errors: &mut Errors) -> Option<String> {
        let text = self.string(errors)?;
        check_name(self.key.name, &text, errors)
    }

    pub(crate) fn bool(&self, errors: &mut Errors) -> Option<bool> {
        let value = match lit(&self.value) {
            Some(Lit::Bool(value)) => Some(value.value),
            _ => None,
        };
        self.or_refuse(value, errors)
    }

    /// A whole number that fits `T`, with its sign.
    pub(crate) fn number<T: std::str::FromStr>(&self, errors: &mut Errors) -> Option<T> {
        let (minus, value) = match peel(&self.value) {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => ("-", &*unary.expr),
            other => ("", other),
        };
        let digits = match lit(value) {
            Some(Lit::Int(int)) if int.suffix().is_empty() => Some(int.base10_digits()),
            _ => None,
        };
        self.or_refuse(digits.and_then(|digits| format!("{minus}{digits}").parse().ok()), errors)
    }

    /// A list of strings, or one.
    pub(crate) fn strings(&self, errors: &mut Errors) -> Vec<LitStr> {
        if let Expr::Array(array) = peel(&self.value) {
            return array
                .elems
                .iter()
                .filter_map(|element| {
                    let text = string(element).cloned();
                    if text.is_none() {
                        errors.on(element, format_args!("an entry of `{}` must be a string", self.key.name));
                    }
                    text
                })
                .collect();
        }
        self.string(errors).into_iter().collect()
    }

    pub(crate) fn path(&self, errors: &mut Errors) -> Option<Path> {
        let path = match peel(&self.value) {
            Expr::Path(path) if path.qself.is_none() => Some(path.path.clone()),
            _ => None,
        };
        self.or_refuse(path, errors)
    }

    /// The path of the runtime crate.
    pub(crate) fn crate_path(&self, errors: &mut Errors) -> Option<Path> {
        let path = self.path(errors)?;
        if is_rooted(&path) {
            return Some(path);
        }
        let shown = path.to_token_stream().to_string().replace(' ', "");
        let rooted = format!("::{}", shown.trim_start_matches("super::").trim_start_matches("self::"));
        errors.on(
            &self.value,
            format_args!("`crate` must be a path from the root, such as `{rooted}` or `crate::{}`", &rooted[2..]),
        );
        None
    }

    /// The way to a field: `order_id`, `order.id`.
    pub(crate) fn members(&self, errors: &mut Errors) -> Option<Vec<Member>> {
        self.or_refuse(members(&self.value), errors)
    }

    /// A duration in microseconds.
    pub(crate) fn micros(&self, errors: &mut Errors) -> Option<u64> {
        let text = self.string(errors)?;
        match micros(&text.value()) {
            Ok(micros) => Some(micros),
            Err(why) => {
                let Key { name, example, .. } = self.key;
                errors.on(text, format_args!("`{name}` must {why}: `{example}`"));
                None
            }
        }
    }
}

fn members(value: &Expr) -> Option<Vec<Member>> {
    match peel(value) {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident().cloned().map(|ident| vec![ident.into()]),
        Expr::Field(field) => {
            let mut members = members(&field.base)?;
            members.push(field.member.clone());
            Some(members)
        }
        // The field of a tuple, as in `#[event(key = 0)]`.
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => {
            Some(vec![Member::Unnamed(Index { index: int.base10_parse().ok()?, span: int.span() })])
        }
        _ => None,
    }
}

/// `text` as a name, or a mistake on it.
pub(crate) fn check_name(key: &str, text: &LitStr, errors: &mut Errors) -> Option<String> {
    let name = text.value();
    if is_name(&name) {
        return Some(name);
    }
    errors.on(text, format_args!("`{key}` must have {NAME_RULE}"));
    None
}

const UNITS: [(&str, u64); 5] = [("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000)];

/// Half a sentence after "must" on failure.
fn micros(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let units = UNITS.map(|(unit, _)| unit);
    if digits.is_empty() {
        return Err(format!("be a whole number and one of the units {}", one_of(&units)));
    }
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit.trim()) else {
        return Err(match unit.trim() {
            "" => format!("have one of the units {}", one_of(&units)),
            "ns" | "µs" | "μs" => "not be finer than a microsecond, `us`".to_owned(),
            _ => format!("be a whole number and one of the units {}", one_of(&units)),
        });
    };
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)) {
        Some(0) => Err("be longer than zero".to_owned()),
        // i64 microseconds are what time stamps are made of.
        Some(micros) if i64::try_from(micros).is_ok() => Ok(micros),
        _ => Err("be shorter than 290,000 years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(micros("500ms"), Ok(500_000));
        assert_eq!(micros("2 h"), Ok(7_200_000_000));
        for wrong in ["", "500", "ms", "1.5s", "-1s", "0s", "10 minutes", "99999999999h", "5ns"] {
            assert!(micros(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_association_is_a_field_or_a_path_of_them() {
        let found = |text| members(&syn::parse_str(text).unwrap());
        assert_eq!(found("order_id").map(|found| found.len()), Some(1));
        assert_eq!(found("order.customer.0").map(|found| found.len()), Some(3));
        assert_eq!(found("0").map(|found| found.len()), Some(1));
        for wrong in ["\"order_id\"", "a::b", "order.id()", "order[0]", "1.5", "-1", "order_id::<u32>"] {
            assert!(found(wrong).is_none(), "{wrong}");
        }
    }
}
