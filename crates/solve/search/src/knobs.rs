//! Knobs: the numbers of an engine that trade one cost for another, in one table.
//!
//! An engine writes its table with [`knobs!`](crate::knobs!). Each knob has a field with its default value, its unit,
//! and the measurement that chose it. A knob never changes a verdict, except to or from `unknown`. The options of the
//! engine carry its knobs. So a benchmark sets them by their names, and a check that runs at the same time keeps its
//! own.

use std::str::FromStr;

/// What a benchmark may know of a knob.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Its name: the part of the engine, a point, and the field.
    pub name: &'static str,
    /// In what it is counted.
    pub unit: &'static str,
}

/// Why a knob was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSet {
    /// There is no knob of that name.
    #[error("there is no knob {0:?}")]
    Unknown(String),
    /// The value is not one of the knob's type.
    #[error("{0} cannot be {1:?}")]
    Bad(String, String),
}

/// The value of a knob from a text.
#[doc(hidden)]
pub fn parse<T: FromStr>(name: &str, text: &str) -> Result<T, NotSet> {
    text.parse().map_err(|_| NotSet::Bad(name.to_owned(), text.to_owned()))
}

/// Makes the types of the knobs of an engine: one for each part of the engine, and `Knobs` with all of them. See the
/// [module](mod@crate::knobs).
///
/// ```
/// search::knobs! {
///     /// The walk.
///     walk: WalkKnobs {
///         /// How far it looks ahead. With none, 10,000 steps take 90 ms instead of 20.
///         look_ahead: usize = 8, "steps";
///     }
/// }
///
/// let mut knobs = Knobs::DEFAULT;
/// knobs.set("walk.look_ahead", "16")?;
/// assert_eq!(knobs.walk.look_ahead, 16);
/// assert_eq!(knobs.get("walk.look_ahead").as_deref(), Some("16"));
/// assert_eq!(Knobs::ALL[0].unit, "steps");
/// assert!(knobs.set("walk.speed", "1").is_err());
/// assert!(knobs.set("walk.look_ahead", "far").is_err());
/// # Ok::<(), search::knobs::NotSet>(())
/// ```
#[macro_export]
macro_rules! knobs {
    ($( $(#[$about:meta])* $part:ident: $type:ident {
        $( $(#[$doc:meta])* $field:ident: $number:ty = $value:expr, $unit:literal; )*
    } )*) => {
        $(
            $(#[$about])*
            #[derive(Copy, Clone, Debug, PartialEq, Eq)]
            pub struct $type { $( $(#[$doc])* pub $field: $number, )* }

            impl $type {
                /// The knobs as they were measured to be best.
                pub const DEFAULT: Self = Self { $( $field: $value, )* };
            }

            impl Default for $type {
                fn default() -> Self {
                    Self::DEFAULT
                }
            }
        )*

        /// All knobs of the engine.
        #[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
        pub struct Knobs { $( $(#[$about])* pub $part: $type, )* }

        impl Knobs {
            /// The knobs as they were measured to be best.
            pub const DEFAULT: Self = Self { $( $part: $type::DEFAULT, )* };

            /// Every knob.
            pub const ALL: &[$crate::knobs::Knob] = &[$( $(
                $crate::knobs::Knob { name: concat!(stringify!($part), ".", stringify!($field)), unit: $unit },
            )* )*];

            /// Sets the knob of that name.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::knobs::NotSet> {
                match name {
                    $( $(
                        concat!(stringify!($part), ".", stringify!($field)) => {
                            self.$part.$field = $crate::knobs::parse(name, value)?;
                        }
                    )* )*
                    _ => return Err($crate::knobs::NotSet::Unknown(name.to_owned())),
                }
                Ok(())
            }

            /// The value of the knob of that name.
            pub fn get(&self, name: &str) -> Option<String> {
                let shown: &dyn std::fmt::Display = match name {
                    $( $(
                        concat!(stringify!($part), ".", stringify!($field)) => &self.$part.$field,
                    )* )*
                    _ => return None,
                };
                Some(shown.to_string())
            }
        }
    };
}
