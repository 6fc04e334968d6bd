//! A headless Chromium, driven by its DevTools protocol over two pipes: a page is looked at as a reader would.

use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longer nothing takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    child: Child,
    commands: File,
    messages: Receiver<Value>,
    session: String,
    sent: u64,
    /// Events that have come, in order.
    pub events: Vec<Value>,
}

impl Browser {
    /// Starts it with an empty page; its files go into `folder`.
    pub fn start(folder: &Path) -> Browser {
        fs::create_dir_all(folder).expect("a folder for the browser");
        // The protocol's pipes are the descriptors 3 and 4.
        let pipes = ["commands", "messages"].map(|name| folder.join(name));
        for pipe in &pipes {
            let _ = fs::remove_file(pipe);
            let made = Command::new("mkfifo").arg(pipe).status().expect("mkfifo");
            assert!(made.success(), "no pipe {}", pipe.display());
        }
        let line = "exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                    --remote-debugging-pipe --user-data-dir=\"$1\" --window-size=1400,1200 \
                    about:blank 3<\"$2\" 4>\"$3\"";
        let child = Command::new("sh")
            .args(["-c", line, "sh"])
            .arg(folder.join("profile"))
            .args(&pipes)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("stderr")).expect("a log"))
            .process_group(0)
            .spawn()
            .expect("a shell");
        // Opened for both ways, a pipe does not wait for its other end.
        let open = |path| OpenOptions::new().read(true).write(true).open(path).expect("a pipe");
        let (commands, from) = (open(&pipes[0]), open(&pipes[1]));
        let (to, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(from).split(0) {
                let Ok(Ok(value)) = message.map(|bytes| serde_json::from_slice(&bytes)) else { break };
                if to.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser { child, commands, messages, session: String::new(), sent: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = json!({"targetId": target["targetId"], "flatten": true});
        browser.session =
            browser.call("Target.attachToTarget", attached)["sessionId"].as_str().expect("a session").into();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        let deadline = Instant::now() + LIMIT;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            assert!(Instant::now() < deadline, "{} is not loaded", file.display());
            self.receive(deadline);
        }
    }

    /// The errors in the page so far: exceptions, and lines that the browser logs as errors.
    pub fn errors(&mut self) -> Vec<String> {
        // Whatever has happened before this answer has been told before it.
        self.evaluate("0");
        let of = |event: &Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            _ => false,
        };
        self.events.iter().filter(|event| of(event)).map(|event| event["params"].to_string()).collect()
    }

    /// The value of an expression in the page; a promise is waited for.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait_for(&mut self, expression: &str) {
        let deadline = Instant::now() + LIMIT;
        while self.evaluate(expression) != true {
            assert!(Instant::now() < deadline, "never true: {expression}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Moves, presses or releases the mouse at a place in the window: `mouseMoved`, `mousePressed`, `mouseReleased`.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        self.call("Input.dispatchMouseEvent", json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1}));
    }

    /// Presses and releases.
    pub fn click(&mut self, place: (f64, f64)) {
        self.mouse("mousePressed", place);
        self.mouse("mouseReleased", place);
    }

    /// Shows the page on a medium, `screen` or `print`, for a reader who prefers these colours: `light`, `dark`.
    pub fn show_on(&mut self, medium: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": medium, "features": features}));
    }

    /// Makes the window so many pixels wide; `None`: as wide as at the start.
    pub fn width(&mut self, width: Option<u32>) {
        match width {
            Some(width) => {
                let size = json!({"width": width, "height": 1200, "deviceScaleFactor": 1, "mobile": false});
                self.call("Emulation.setDeviceMetricsOverride", size)
            }
            None => self.call("Emulation.clearDeviceMetricsOverride", json!({})),
        };
    }

    /// Keeps a picture of what is to be seen, as PNG.
    pub fn screenshot(&mut self, file: &Path) {
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64(picture["data"].as_str().expect("a picture"));
        fs::write(file, bytes).expect("a screenshot");
    }

    /// Prints the page into a file, as PDF.
    pub fn print(&mut self, file: &Path) {
        let printed = self.call("Page.printToPDF", json!({"printBackground": true, "preferCSSPageSize": true}));
        fs::write(file, base64(printed["data"].as_str().expect("a document"))).expect("a PDF");
    }

    #[track_caller]
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let mut command = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("a browser that listens");
        let deadline = Instant::now() + LIMIT;
        loop {
            let message = self.receive(deadline);
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    /// The next message; events are kept too.
    #[track_caller]
    fn receive(&mut self, deadline: Instant) -> Value {
        match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => {
                if message["method"].is_string() {
                    self.events.push(message.clone());
                }
                message
            }
            Err(RecvTimeoutError::Timeout) => panic!("the browser says nothing for {LIMIT:?}; see its stderr"),
            Err(RecvTimeoutError::Disconnected) => panic!("the browser's pipe holds no message of the protocol"),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let group = -i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: kill takes two integers; the group is one that this browser was started in.
        unsafe { libc::kill(group, libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

/// The bytes that a text in Base64 stands for (RFC 4648, section 4).
fn base64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => u32::from(letter - b'A'),
        b'a'..=b'z' => u32::from(letter - b'a') + 26,
        b'0'..=b'9' => u32::from(letter - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for four in letters.chunks(4) {
        let bits = four.iter().fold(0, |bits, &letter| bits << 6 | value(letter)) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
