//! A headless Chromium, driven over WebDriver (W3C) through chromedriver.
//!
//! Only what these tests need of the protocol: JSON over HTTP, one session a
//! browser. Both programs end with the value that holds them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How Chromium is started: also as root, and without a word to the network.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
    "--lang=en-US",
];
/// What has to be installed.
const INSTALL: &str = "install Chromium and its driver: on Debian `apt-get install chromium \
                       chromium-driver`, or `cargo xtask test --install`";
/// How long a page may take to show what is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// WebDriver's key of an element's reference.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Keys, as WebDriver writes them.
pub(crate) mod key {
    pub(crate) const ENTER: &str = "\u{e007}";
    pub(crate) const ESCAPE: &str = "\u{e00c}";
}

/// A browser with one window.
pub(crate) struct Browser {
    driver: Child,
    agent: ureq::Agent,
    session: String,
    /// Where it puts what is downloaded.
    pub(crate) downloads: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser.
    ///
    /// # Errors
    /// A message that says what to install, or what the driver said.
    pub(crate) fn start() -> Result<Browser, String> {
        let downloads = tempfile::tempdir().map_err(|why| why.to_string())?;
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| format!("cannot run chromedriver ({why}): {INSTALL}"))?;
        let port = port(&mut driver);
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(60)))
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut browser = Browser { driver, agent, session: String::new(), downloads };
        browser.session = format!("http://127.0.0.1:{}/session", port?);
        let preferences = json!({
            "download.default_directory": browser.downloads.path(),
            "download.prompt_for_download": false,
        });
        let options = json!({ "args": FLAGS, "prefs": preferences });
        let wanted = json!({
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let answer = browser
            .ask("", Some(&json!({ "capabilities": { "alwaysMatch": wanted } })))
            .map_err(|why| format!("cannot start Chromium ({why}): {INSTALL}"))?;
        let id = answer["sessionId"].as_str().ok_or("the driver gave no session")?;
        browser.session = format!("{}/{id}", browser.session);
        Ok(browser)
    }

    /// One command: with a body it is a POST. Gives the answer's value.
    fn ask(&self, command: &str, body: Option<&Value>) -> Result<Value, String> {
        let url = format!("{}{command}", self.session);
        let answer = match body {
            Some(body) => self
                .agent
                .post(&url)
                .content_type("application/json; charset=utf-8")
                .send(body.to_string()),
            None => self.agent.get(&url).call(),
        };
        let mut answer = answer.map_err(|why| format!("{command}: {why}"))?;
        let text = answer
            .body_mut()
            .with_config()
            .limit(64 << 20)
            .read_to_string()
            .map_err(|why| format!("{command}: {why}"))?;
        let value: Value =
            serde_json::from_str(&text).map_err(|why| format!("{command}: {why}"))?;
        let value = &value["value"];
        match value["error"].as_str() {
            Some(error) => Err(format!("{command}: {error}: {}", value["message"])),
            None => Ok(value.clone()),
        }
    }

    fn tell(&self, command: &str, body: &Value) -> Value {
        self.ask(command, Some(body)).unwrap()
    }

    /// Opens an address and waits until it is loaded.
    pub(crate) fn open(&self, url: &str) {
        self.tell("/url", &json!({ "url": url }));
    }

    /// The address that is open.
    pub(crate) fn url(&self) -> String {
        self.ask("/url", None).unwrap().as_str().unwrap().to_owned()
    }

    /// Runs a function's body in the page and gives what it returns; a promise
    /// is waited for. `arguments` are its arguments.
    pub(crate) fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.tell("/execute/sync", &json!({ "script": script, "args": arguments }))
    }

    /// Runs a function's body whose last argument is to be called with the result.
    pub(crate) fn run_async(&self, script: &str) -> Value {
        self.tell("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// A script that runs before the scripts of every page that is opened.
    pub(crate) fn before_pages(&self, script: &str) {
        let params = json!({ "source": script });
        let command = "Page.addScriptToEvaluateOnNewDocument";
        self.tell("/goog/cdp/execute", &json!({ "cmd": command, "params": params }));
    }

    /// Pretends that the user likes dark or light, or little motion.
    pub(crate) fn prefer(&self, feature: &str, value: &str) {
        let params = json!({ "features": [{ "name": feature, "value": value }] });
        let command = "Emulation.setEmulatedMedia";
        self.tell("/goog/cdp/execute", &json!({ "cmd": command, "params": params }));
    }

    /// Lets the page of an address read the clipboard, which would ask a person.
    pub(crate) fn permit_clipboard(&self, url: &str) {
        let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let params = json!({ "origin": url, "permissions": permissions });
        let command = "Browser.grantPermissions";
        self.tell("/goog/cdp/execute", &json!({ "cmd": command, "params": params }));
    }

    /// Drags files and folders from the disk over a place of the view and, if
    /// wanted, lets go of them there: as a person does from another program.
    pub(crate) fn drag(&self, paths: &[&Path], drop: bool) {
        let kinds = ["dragEnter", "dragOver", "drop"];
        for kind in &kinds[..if drop { 3 } else { 2 }] {
            let data = json!({ "items": [], "files": paths, "dragOperationsMask": 1 });
            let params = json!({ "type": kind, "x": 200, "y": 200, "data": data });
            let command = "Input.dispatchDragEvent";
            self.tell("/goog/cdp/execute", &json!({ "cmd": command, "params": params }));
        }
    }

    /// Makes the page's view this large, in pixels; also narrower than a window can be.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        let command = "Emulation.setDeviceMetricsOverride";
        self.tell("/goog/cdp/execute", &json!({ "cmd": command, "params": params }));
    }

    /// All elements that a CSS selector chooses.
    pub(crate) fn all(&self, selector: &str) -> Vec<Element<'_>> {
        let found = self.tell("/elements", &json!({ "using": "css selector", "value": selector }));
        let found = found.as_array().unwrap().iter();
        found
            .map(|element| Element { browser: self, id: element[ELEMENT].as_str().unwrap().into() })
            .collect()
    }

    /// The first element that a selector chooses, once there is one.
    pub(crate) fn one(&self, selector: &str) -> Element<'_> {
        self.until(selector, || self.all(selector).into_iter().next())
    }

    /// Waits until `look` sees something; `what` says in a failure what it was.
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            if started.elapsed() > PATIENCE {
                let script = "return document.body.innerText.slice(0, 2000)";
                let text = self.run(script, &[]);
                panic!("waited for {what}; {:?}; the page says:\n{text}", self.complaints());
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until a script gives `true`.
    pub(crate) fn until_true(&self, script: &str) {
        let seen = || (self.run(script, &[]) == Value::Bool(true)).then_some(());
        self.until(script, seen);
    }

    /// Types to whatever has the focus.
    pub(crate) fn press(&self, keys: &str) {
        let events: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        self.act(&json!({ "type": "key", "id": "keys", "actions": events }));
    }

    /// Moves the pointer to a place of the view, in pixels, and clicks if wanted.
    pub(crate) fn point(&self, x: i64, y: i64, click: bool) {
        let mut events = vec![json!({ "type": "pointerMove", "x": x, "y": y, "duration": 0 })];
        if click {
            events.push(json!({ "type": "pointerDown", "button": 0 }));
            events.push(json!({ "type": "pointerUp", "button": 0 }));
        }
        self.act(&json!({ "type": "pointer", "id": "mouse", "actions": events }));
    }

    fn act(&self, source: &Value) {
        self.tell("/actions", &json!({ "actions": [source] }));
    }

    /// A picture of the view, as PNG.
    pub(crate) fn picture(&self) -> Vec<u8> {
        use base64::Engine;
        let text = self.ask("/screenshot", None).unwrap();
        base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
    }

    /// Errors of scripts and of the policy since this was last asked.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let entries = self.tell("/se/log", &json!({ "type": "browser" }));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let severe = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].to_string()).collect()
    }

    /// Waits for a file to be downloaded, and gives its path.
    pub(crate) fn downloaded(&self, name: &str) -> PathBuf {
        let path = self.downloads.path().join(name);
        // It gets its name when all of it is there.
        self.until("a download", || path.is_file().then_some(()));
        path
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends Chromium; the driver would leave it running.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The port that the driver says it listens on.
fn port(driver: &mut Child) -> Result<u16, String> {
    let output = driver.stdout.take().ok_or("the driver has no output")?;
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let port = lines.find_map(|line| {
        line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse().ok()
    });
    // It must not come to wait for somebody to read.
    std::thread::spawn(move || lines.for_each(drop));
    port.ok_or_else(|| format!("chromedriver did not start: {INSTALL}"))
}

/// An element of the page.
pub(crate) struct Element<'a> {
    browser: &'a Browser,
    id: String,
}

impl Element<'_> {
    /// Clicks its middle.
    pub(crate) fn click(&self) {
        self.browser.tell(&format!("/element/{}/click", self.id), &json!({}));
    }

    /// Types into it.
    pub(crate) fn enter(&self, text: &str) {
        self.browser.tell(&format!("/element/{}/value", self.id), &json!({ "text": text }));
    }

    /// Chooses files of a file input as the file dialog would.
    pub(crate) fn choose(&self, paths: &[&Path]) {
        let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
        self.enter(&paths.join("\n"));
    }

    /// Empties a text input.
    pub(crate) fn clear(&self) {
        self.browser.tell(&format!("/element/{}/clear", self.id), &json!({}));
    }

    /// Its text as it is shown.
    pub(crate) fn text(&self) -> String {
        let text = self.browser.ask(&format!("/element/{}/text", self.id), None).unwrap();
        text.as_str().unwrap().to_owned()
    }
}
