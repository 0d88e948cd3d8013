//! A minimal kubelet with SPDY/3.1: commands that really run, and ports that echo. Headers of streams are ignored: a stream is
//! identified by the order in which clients open them. Must never run a command that its test did not request.

use super::streams::{Head, Stream};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

const FIN: u8 = 1;

enum Frame {
    Open(u32),
    Data(u32, Vec<u8>, bool),
    Other,
}

/// A connection after a 101 response.
struct Spdy<'a> {
    stream: &'a mut dyn Stream,
    replied: bool,
}

impl<'a> Spdy<'a> {
    fn accept(head: &Head, stream: &'a mut dyn Stream) -> Spdy<'a> {
        assert_eq!(head.header("upgrade"), "SPDY/3.1");
        assert_eq!(head.header("sec-websocket-key"), "", "a WebSocket ends before");
        assert_ne!(head.header("host"), "", "kubelets refuse a request that names no host");
        // Of several the first one's value, which is the best.
        let protocol = head.header("x-stream-protocol-version");
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\
             X-Stream-Protocol-Version: {protocol}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).expect("sent");
        stream.flush().expect("sent");
        Spdy { stream, replied: false }
    }

    /// The next frame; `None` when the client has disconnected.
    fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 8];
        match self.stream.read_exact(&mut head) {
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => return None,
            read => read.expect("a frame"),
        }
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
        let mut body = vec![0; (number(&head[4..]) & 0x00ff_ffff) as usize];
        self.stream.read_exact(&mut body).expect("the rest of a frame");
        Some(match (head[0] >> 7, u16::from_be_bytes([head[2], head[3]])) {
            (0, _) => Frame::Data(number(&head[..4]), body, head[4] & FIN != 0),
            (_, 1) => {
                let id = number(&body[..4]);
                self.reply(id);
                Frame::Open(id)
            }
            (_, 6) => {
                self.send(&head, &body);
                Frame::Other
            }
            _ => Frame::Other,
        })
    }

    /// Accepts a stream, without headers: an empty stored block, after the head of the zlib stream the first time.
    fn reply(&mut self, id: u32) {
        let mut block = if self.replied { Vec::new() } else { vec![0x78, 0x01] };
        self.replied = true;
        block.extend([0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
        let length = 4 + block.len() as u8;
        self.send(&[0x80, 3, 0, 2, 0, 0, 0, length], &[&id.to_be_bytes(), &block[..]].concat());
    }

    fn send(&mut self, head: &[u8], body: &[u8]) {
        self.stream.write_all(&[head, body].concat()).expect("sent");
        self.stream.flush().expect("sent");
    }

    fn data(&mut self, stream: u32, bytes: &[u8], last: bool) {
        let length = u32::from(if last { FIN } else { 0 }) << 24 | bytes.len() as u32;
        self.send(&[stream.to_be_bytes(), length.to_be_bytes()].concat(), bytes);
    }
}

/// Runs the requested command and reports its exit status; without one, echoes its input.
pub fn execute(head: &Head, stream: &mut dyn Stream) {
    let parameters: Vec<(String, String)> = parameters(&head.target);
    let has = |name: &str| parameters.iter().any(|(found, value)| found == name && value == "1");
    let words: Vec<&String> = parameters.iter().filter(|(name, _)| name == "command").map(|(_, word)| word).collect();
    let mut spdy = Spdy::accept(head, stream);
    let mut ids = Vec::new();
    let wanted = 1 + ["input", "output", "error"].iter().filter(|name| has(name)).count();
    let mut input = Vec::new();
    let mut at_end = !has("input");
    while ids.len() < wanted || !at_end {
        match spdy.next() {
            None => return,
            Some(Frame::Open(id)) => ids.push(id),
            Some(Frame::Data(id, bytes, last)) => {
                assert_eq!(Some(&id), ids.get(1), "only the input has data");
                input.extend(bytes);
                at_end |= last;
            }
            Some(Frame::Other) => {}
        }
    }
    let (stdout, stderr, code) = match &words[..] {
        [] => (input, Vec::new(), 0),
        [program, arguments @ ..] => run(program, arguments, &input),
    };
    let mut outputs = ids[1 + usize::from(has("input"))..].iter();
    for (name, bytes) in [("output", stdout), ("error", stderr)] {
        if let Some(id) = has(name).then(|| outputs.next()).flatten() {
            bytes.chunks(100_000).for_each(|piece| spdy.data(*id, piece, false));
            spdy.data(*id, &[], true);
        }
    }
    let report = match code {
        0 => r#"{"metadata":{},"status":"Success"}"#.to_owned(),
        code => format!(
            r#"{{"metadata":{{}},"status":"Failure","message":"it failed","reason":"NonZeroExitCode","details":{{"causes":[{{"reason":"ExitCode","message":"{code}"}}]}}}}"#
        ),
    };
    spdy.data(ids[0], report.as_bytes(), true);
    while spdy.next().is_some() {}
}

fn run(program: &str, arguments: &[&String], input: &[u8]) -> (Vec<u8>, Vec<u8>, i32) {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A command may end before it has read everything.
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    writing.join().expect("no panic");
    (output.stdout, output.stderr, output.status.code().unwrap_or(255))
}

/// Echoes the input of a port in capitals. Of each two streams the first is for errors.
pub fn echo_ports(head: &Head, stream: &mut dyn Stream) {
    let mut spdy = Spdy::accept(head, stream);
    let mut opened: BTreeMap<u32, bool> = BTreeMap::new();
    while let Some(frame) = spdy.next() {
        match frame {
            Frame::Open(id) => drop(opened.insert(id, opened.len() % 2 == 1)),
            Frame::Data(id, bytes, last) if opened.get(&id) == Some(&true) => {
                spdy.data(id, &bytes.to_ascii_uppercase(), last);
                if last {
                    // Nothing went wrong, says the stream before it.
                    spdy.data(id - 2, &[], true);
                }
            }
            _ => {}
        }
    }
}

fn parameters(target: &str) -> Vec<(String, String)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let decode = |text: &str| {
        let mut bytes = text.bytes();
        let mut out = Vec::new();
        while let Some(byte) = bytes.next() {
            out.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits = [bytes.next().expect("a digit"), bytes.next().expect("a digit")];
                    let digits = std::str::from_utf8(&digits).expect("digits");
                    u8::from_str_radix(digits, 16).expect("hexadecimal")
                }
                byte => byte,
            });
        }
        String::from_utf8(out).expect("text")
    };
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}
