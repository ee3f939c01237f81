//! A value kept as its JSON text. A long session holds thousands of calls and results, and what wants them is the wire,
//! which wants text: as trees they would take ten times the memory and be written anew for every request.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::tool::{Arguments, ToolOutput};

#[derive(Clone)]
pub struct Packed<T> {
    json: Box<RawValue>,
    of: PhantomData<fn() -> T>,
}

impl<T> Packed<T> {
    /// The JSON text, as `serde_json::to_string` writes the value.
    pub fn text(&self) -> &str {
        self.json.get()
    }
}

impl<T: Serialize> From<T> for Packed<T> {
    fn from(value: T) -> Self {
        // What is packed here consists of JSON values and text, which can always be written.
        let json = to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { json, of: PhantomData }
    }
}

impl Packed<ToolOutput> {
    pub fn is_ok(&self) -> bool {
        self.text().starts_with(r#"{"ok":true"#)
    }

    pub fn unpack(&self) -> ToolOutput {
        serde_json::from_str(self.text()).unwrap_or(ToolOutput::Ok(Value::Null))
    }
}

impl Packed<Arguments> {
    /// Arguments that are no object are packed as a JSON string.
    pub fn is_object(&self) -> bool {
        self.text().starts_with('{')
    }

    pub fn unpack(&self) -> Arguments {
        serde_json::from_str(self.text()).unwrap_or_else(|_| Arguments::Raw(self.text().to_owned()))
    }
}

impl<T> std::fmt::Debug for Packed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}

impl<T> PartialEq for Packed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

/// The value itself, not its text in quotes.
impl<T> Serialize for Packed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// Through the value: what is no `T` is refused, and white space that somebody put in does not stay.
impl<'de, T: Deserialize<'de> + Serialize> Deserialize<'de> for Packed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::code::ToolCode;

    #[test]
    fn outputs_come_back_as_they_were() {
        let outputs = [
            ToolOutput::Ok(json!({"b": [1, -2.5, null, true], "a": "\u{1}\"\n", "": {"ok": false}})),
            ToolOutput::Ok(Value::Null),
            ToolOutput::error(ToolCode::Enoent, "no \"file\""),
        ];
        for output in outputs {
            let packed = Packed::from(output.clone());
            assert_eq!(packed.text(), serde_json::to_string(&output).unwrap());
            assert_eq!((packed.unpack(), packed.is_ok()), (output.clone(), output.is_ok()));
        }
    }

    #[test]
    fn arguments_come_back_as_they_were() {
        for (text, object) in [(r#"{"b":1,"a":"x"}"#, true), ("{}", true), ("{broken", false), ("[1]", false)]
        {
            let arguments = Arguments::parse(text);
            let packed = Packed::from(arguments.clone());
            assert_eq!((packed.unpack(), packed.is_object()), (arguments, object), "{text}");
        }
    }

    #[test]
    fn it_is_written_and_read_as_the_value_it_stands_for() {
        let spaced = r#"{ "ok" : true, "data" : { "z" : 1, "a" : 2 } }"#;
        let packed: Packed<ToolOutput> = serde_json::from_str(spaced).unwrap();
        assert_eq!(serde_json::to_string(&packed).unwrap(), r#"{"ok":true,"data":{"z":1,"a":2}}"#);
        assert!(serde_json::from_str::<Packed<ToolOutput>>(r#"{"ok":false}"#).is_err());
    }
}
