//! Names of the variants of an enum, in options and in outputs: stated once, in one list.

/// A choice whose values have names.
///
/// ```
/// use mpitrace_statistics::comparison::Test;
/// use mpitrace_statistics::names::Named;
///
/// let names: Vec<&str> = Test::VALUES.iter().map(|test| test.name()).collect();
/// assert_eq!(names, ["permutation", "wilcoxon", "welch"]);
/// assert_eq!(Test::named("welch"), Some(Test::Welch));
/// assert_eq!(Test::named("student"), None);
/// ```
pub trait Named: Copy + Sized + 'static {
    /// All values, in the order in which help lists them.
    const VALUES: &'static [Self];

    /// Its name in options and in outputs.
    fn name(self) -> &'static str;

    /// The value with this name.
    fn named(name: &str) -> Option<Self> {
        Self::VALUES.iter().copied().find(|value| value.name() == name)
    }
}

/// Gives an enum the names of its variants: `name`, [`Named`], and serialization as a string, both ways.
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// Its name in options and in outputs.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }
        }

        impl $crate::names::Named for $type {
            const VALUES: &'static [$type] = &[$($type::$variant),+];

            fn name(self) -> &'static str {
                $type::name(self)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(deserializer)?;
                let value = <Self as $crate::names::Named>::named(&name);
                value.ok_or_else(|| serde::de::Error::custom(format!("no such name: {name}")))
            }
        }
    };
}
pub use names;
