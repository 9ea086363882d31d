use super::*;

fn get(server: &ReportServer, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn only_a_get_of_this_host_is_answered() {
    let server = ReportServer::start().unwrap();
    let port = server.address.port();
    let ask = |request: &str| get(&server, &request.replace("PORT", &port.to_string()));
    let page = ask("GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("connect-src 'self'"));
    let data = ask("GET /data HTTP/1.1\r\nhost: localhost:PORT\r\n\r\n");
    assert!(data.ends_with("\r\n\r\n{}"), "{data}");
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example:PORT\r\n\r\n", "421"),
        ("GET / HTTP/1.1\r\n\r\n", "421"),
        ("GET / HTTP/1.1\r\nHost: HERE\r\nHost: evil\r\n\r\n", "421"),
        ("POST / HTTP/1.1\r\nHost: HERE\r\n\r\n", "405"),
        ("GET /../etc HTTP/1.1\r\nHost: HERE\r\n\r\n", "404"),
    ] {
        let answer = ask(&request.replace("HERE", "127.0.0.1:PORT"));
        let status = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&status), "{request}: {answer}");
    }
}

#[test]
fn a_head_without_an_end_is_refused() {
    let server = ReportServer::start().unwrap();
    let long = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(2 * HEAD));
    let mut stream = TcpStream::connect(server.address).unwrap();
    // The server may have closed the connection before it has all.
    let _ = stream.write_all(long.as_bytes());
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let is_refused = text.is_empty() || text.starts_with("HTTP/1.1 400 ");
    assert!(is_refused, "{text}");
    let next = format!("GET /data HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    assert!(get(&server, &next).ends_with("{}"));
}
