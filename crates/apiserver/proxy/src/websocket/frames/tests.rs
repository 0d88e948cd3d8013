//! Tests: messages from a client's frames, however they arrive, and the frames that are sent.

use super::*;
use futures_util::FutureExt;
use tokio::io::{AsyncRead, DuplexStream, duplex};

/// A frame as a client sends it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let length = payload.len();
    let mut bytes = match length {
        0..126 => vec![first, 0x80 | length as u8],
        126..0x1_0000 => [&[first, 0x80 | 126], &(length as u16).to_be_bytes()[..]].concat(),
        _ => [&[first, 0x80 | 127], &(length as u64).to_be_bytes()[..]].concat(),
    };
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// All messages of a client that then disconnects, and how it ended.
async fn read(sent: &[u8], at_a_time: usize, max_bytes: Option<u64>) -> (Vec<(Kind, Vec<u8>)>, Option<ErrorKind>) {
    let (client, server) = duplex(at_a_time);
    let (mut from_server, mut to_server) = split(client);
    let (mut reader, _writer) = open(Box::new(server), max_bytes);
    let sending = async {
        // The responses to pings are ignored, but have to be read.
        let mut sink = tokio::io::sink();
        let taking = tokio::io::copy(&mut from_server, &mut sink);
        let sending = async {
            let _ = to_server.write_all(sent).await;
            let _ = to_server.shutdown().await;
        };
        let _ = tokio::join!(sending, taking);
    };
    let reading = async {
        let mut messages = Vec::new();
        let outcome = loop {
            match reader.next().await {
                Ok(Some(piece)) => {
                    assert!(piece.bytes.len() <= BUFFER_BYTES && reader.buffer.capacity() <= 4 * BUFFER_BYTES);
                    if piece.first {
                        messages.push((piece.kind, Vec::new()));
                    }
                    messages.last_mut().expect("it has begun").1.extend_from_slice(&piece.bytes);
                }
                Ok(None) => break None,
                Err(error) => break Some(error.kind()),
            }
        };
        (messages, outcome)
    };
    tokio::select! {
        outcome = reading => outcome,
        () = sending => panic!("the reader keeps its side"),
    }
}

#[tokio::test]
async fn messages_arrive_in_pieces() {
    let long: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
    let sent = [
        frame(0x82, b"a"),
        frame(0x81, "ä".as_bytes()),
        frame(0x82, b""),
        frame(0x82, &long),
        // One message in three frames, with a ping within.
        frame(0x02, &long[..1000]),
        frame(0x89, b"there?"),
        frame(0x00, b""),
        frame(0x80, &long[1000..2000]),
        frame(0x8a, b"a pong that nobody asked for"),
        frame(0x82, b"z"),
    ]
    .concat();
    let expected = [
        (Kind::Binary, b"a".to_vec()),
        (Kind::Text, "ä".as_bytes().to_vec()),
        (Kind::Binary, Vec::new()),
        (Kind::Binary, long.clone()),
        (Kind::Binary, long[..2000].to_vec()),
        (Kind::Binary, b"z".to_vec()),
    ];
    for at_a_time in [1, 7, 1000, 1 << 20] {
        let (messages, error) = read(&sent, at_a_time, None).await;
        assert!(messages == expected && error.is_none(), "{at_a_time}: {} messages, {error:?}", messages.len());
    }
    let (messages, error) = read(&sent[..sent.len() - 1], 1000, None).await;
    assert_eq!((messages.len(), error), (5, Some(ErrorKind::UnexpectedEof)));
    // After a close nothing is read.
    let (messages, error) = read(&[frame(0x88, &[3, 0xe8]), frame(0x82, b"late")].concat(), 1000, None).await;
    assert_eq!((messages, error), (vec![], None));
}

#[tokio::test]
async fn protocol_errors_end_the_connection() {
    let rows: [(&str, Vec<u8>); 8] = [
        ("no mask", vec![0x82, 1, b'a']),
        ("a reserved bit", frame(0xc2, b"a")),
        ("a reserved opcode", frame(0x83, b"a")),
        ("a continuation of nothing", frame(0x80, b"a")),
        ("a message within a message", [frame(0x02, b"a"), frame(0x82, b"b")].concat()),
        ("a long ping", frame(0x89, &[0; 126])),
        ("a ping in parts", frame(0x09, b"")),
        ("a length of 63 bits in a ping", [&[0x89, 0xff], &u64::MAX.to_be_bytes()[..], &[0; 4]].concat()),
    ];
    for (what, sent) in rows {
        assert_eq!(read(&sent, 1000, None).await.1, Some(ErrorKind::InvalidData), "{what}");
    }
    for sent in [frame(0x82, &[0; 101]), [frame(0x02, &[0; 60]), frame(0x80, &[0; 41])].concat()] {
        assert_eq!(read(&sent, 1000, Some(101)).await.1, None);
        assert_eq!(read(&sent, 1000, Some(100)).await.1, Some(ErrorKind::FileTooLarge));
    }
    let endless = [frame(0x02, b"a"), [&[0x80, 0xff], &u64::MAX.to_be_bytes()[..], &[0; 4]].concat()].concat();
    assert_eq!(read(&endless, 1000, None).await.1, Some(ErrorKind::FileTooLarge), "lengths are added up with care");
}

async fn exactly(client: &mut (impl AsyncRead + Unpin), length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    client.read_exact(&mut bytes).await.expect("so many bytes");
    bytes
}

#[tokio::test]
async fn frames_are_written_whole() {
    let (mut client, server): (DuplexStream, _) = duplex(64);
    let (mut reader, writer) = open(Box::new(server), None);
    writer.message(Kind::Text, &[b"a", b"bc"]).await.expect("sent");
    assert_eq!(exactly(&mut client, 5).await, b"\x81\x03abc");
    // A sender that is dropped half way does not tear its frame.
    let long = [7; 1000];
    let dropped = writer.message(Kind::Binary, &[&long]).now_or_never();
    assert!(dropped.is_none(), "the client has room for 64 bytes");
    let next = async { writer.message(Kind::Binary, &[b"z"]).await.expect("sent") };
    let expected = [&[0x82, 126, 0x03, 0xe8], &long[..], b"\x82\x01z"].concat();
    let ((), sent) = tokio::join!(next, exactly(&mut client, expected.len()));
    assert!(sent == expected);
    writer.feed(Kind::Binary, &[b"1"]).await.expect("room");
    writer.feed(Kind::Binary, &[b"2"]).await.expect("room");
    writer.flush().await.expect("sent");
    assert_eq!(exactly(&mut client, 6).await, b"\x82\x011\x82\x012");
    // Pings are answered; a close is answered once.
    client.write_all(&[frame(0x89, b"hi"), frame(0x88, b"\x03\xe9bye")].concat()).await.expect("sent");
    assert_eq!(reader.next().await.map_err(|error| error.kind()), Ok(None));
    assert_eq!(exactly(&mut client, 8).await, b"\x8a\x02hi\x88\x02\x03\xe9");
    writer.close().await.expect("it was closed");
    assert_eq!(writer.message(Kind::Binary, &[]).await.map_err(|error| error.kind()), Err(ErrorKind::BrokenPipe));
    drop((reader, writer));
    assert_eq!(client.read(&mut [0]).await.expect("the end"), 0);
}
