//! The few messages of ONNX that models need, as bytes of Protocol Buffers. In: fields; out: bytes.
//!
//! Field numbers are those of `onnx.proto3` (ONNX 1.x). Tensors hold their numbers as raw bytes in little-endian order.

/// Kinds of elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Element {
    Float = 1,
    Int64 = 7,
    Bool = 9,
    Double = 11,
}

/// A message being written.
#[derive(Clone, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    fn varint(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push(x as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    /// A whole number.
    pub(super) fn int(mut self, field: u32, x: i64) -> Message {
        self.varint(u64::from(field) << 3);
        self.varint(x as u64);
        self
    }

    /// Bytes: a text, or another message.
    pub(super) fn bytes(mut self, field: u32, bytes: &[u8]) -> Message {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    pub(super) fn message(self, field: u32, inner: &Message) -> Message {
        self.bytes(field, &inner.0)
    }

    pub(super) fn messages<'a>(self, field: u32, all: impl IntoIterator<Item = &'a Message>) -> Message {
        all.into_iter().fold(self, |message, inner| message.message(field, inner))
    }
}

/// A constant of a model.
pub(super) fn tensor(name: &str, element: Element, dims: &[usize], raw: &[u8]) -> Message {
    let message = dims.iter().fold(Message::default(), |m, &d| m.int(1, d as i64));
    message.int(2, element as i64).text(8, name).bytes(9, raw)
}

/// An axis of a value.
#[derive(Clone, Copy)]
pub(super) enum Axis<'a> {
    Of(usize),
    Named(&'a str),
    Any,
}

/// The name and type of a value.
pub(super) fn info(name: &str, element: Element, axes: &[Axis<'_>]) -> Message {
    let shape = axes.iter().fold(Message::default(), |m, axis| {
        let dim = match axis {
            Axis::Of(n) => Message::default().int(1, *n as i64),
            Axis::Named(name) => Message::default().text(2, name),
            Axis::Any => Message::default(),
        };
        m.message(1, &dim)
    });
    let tensor = Message::default().int(1, element as i64).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

/// An attribute of a node.
#[derive(Clone)]
pub(super) enum Attribute {
    Int(&'static str, i64),
    Ints(&'static str, Vec<i64>),
    Graph(&'static str, Message),
}

fn attribute(of: &Attribute) -> Message {
    match of {
        Attribute::Int(name, x) => Message::default().text(1, name).int(3, *x).int(20, 2),
        Attribute::Ints(name, all) => all.iter().fold(Message::default().text(1, name), |m, &x| m.int(8, x)).int(20, 7),
        Attribute::Graph(name, graph) => Message::default().text(1, name).message(6, graph).int(20, 5),
    }
}

/// A node.
pub(super) fn node(op: &str, inputs: &[String], outputs: &[String], attributes: &[Attribute]) -> Message {
    let message = inputs.iter().fold(Message::default(), |m, i| m.text(1, i));
    let message = outputs.iter().fold(message, |m, o| m.text(2, o)).text(4, op);
    let attributes: Vec<Message> = attributes.iter().map(attribute).collect();
    message.messages(5, &attributes)
}

/// A graph of nodes; constants only where it is the outermost.
pub(super) fn graph(name: &str, nodes: &[Message], inputs: &[Message], outputs: &[Message], constants: &[Message], doc: &str) -> Message {
    let message = Message::default().messages(1, nodes).text(2, name).messages(5, constants);
    let message = if doc.is_empty() { message } else { message.text(10, doc) };
    message.messages(11, inputs).messages(12, outputs)
}

/// A model of the graph, for a version of the operators.
pub(super) fn model(graph: &Message, opset: i64, ir: i64, doc: &str) -> Message {
    let operators = Message::default().text(1, "").int(2, opset);
    let message = Message::default().int(1, ir).text(2, "neural-compiler").text(3, env!("CARGO_PKG_VERSION"));
    let message = if doc.is_empty() { message } else { message.text(6, doc) };
    message.message(7, graph).message(8, &operators)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the documentation of Protocol Buffers: a field 1 of 150, a field 2 of "testing".
    #[test]
    fn fields_are_written_as_the_encoding_says() {
        assert_eq!(Message::default().int(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        assert_eq!(Message::default().int(1, -1).0.len(), 11);
    }
}
