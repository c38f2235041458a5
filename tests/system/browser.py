"""A headless Chromium, driven over WebDriver's plain HTTP: no package beyond chromium-driver is needed."""
import base64
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request

DRIVER = shutil.which("chromedriver")
ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1"]


class Browser:
    """Use it with `with`. Every request it makes is in requests()."""

    def __init__(self, profile, width=1100, height=1000):
        self.args = [*ARGS, f"--window-size={width},{height}", f"--user-data-dir={profile}"]

    def __enter__(self):
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = ""
        while "successfully on port" not in line:
            line = self.driver.stdout.readline()
            assert line, "chromedriver did not start"
        port = re.search(r"port (\d+)", line).group(1)
        self.base = f"http://127.0.0.1:{port}"
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}, "goog:chromeOptions": {"args": self.args}}
        try:
            session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except Exception:
            self.stop()
            raise
        self.base += f"/session/{session['sessionId']}"
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        finally:
            self.stop()

    def stop(self):
        self.driver.terminate()
        self.driver.wait(timeout=20)
        self.driver.stdout.close()

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{path}: {json.load(e)['value']['message'][:500]}") from e

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script):
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def point_at(self, x, y):
        """Moves the real pointer, in pixels of the window."""
        move = {"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y), "origin": "viewport"}
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}]})

    def act(self, *actions):
        """Lets the pointer do these, from where it is: "pointerDown", "pointerUp"."""
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                                                    "actions": [{"type": a, "button": 0} for a in actions]}]})

    def screenshot(self):
        return base64.b64decode(self.call("GET", "/screenshot"))

    def print(self):
        return base64.b64decode(self.call("POST", "/print", {}))

    def requests(self):
        log = [json.loads(entry["message"])["message"] for entry in self.call("POST", "/se/log", {"type": "performance"})]
        return [m["params"]["request"]["url"] for m in log if m["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]
