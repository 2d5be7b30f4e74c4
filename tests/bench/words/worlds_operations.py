"""Worlds about running and using services."""

from __future__ import annotations

from words.world import Answer, World, failed, tool


class Service(World):
    """An old process holds the port of the service."""

    def set_up(self) -> None:
        self.name = self.random.choice(["web", "queue", "billing", "search"])
        self.pid = str(self.random.randint(2000, 9000))
        self.blocked, self.up = self.trap, False
        self.task = f"Start the service {self.name}, then finish when it is up."

    @tool("Start a service.")
    def start_service(self, service: str) -> Answer:
        if self.name not in service:
            return failed("error: unknown service")
        if self.blocked:
            return failed(f"error: {self.name} could not be started")
        self.up = True
        return self.reach("started", "started")

    @tool("Stop a service.")
    def stop_service(self, service: str) -> Answer:
        return failed("error: it is not running")

    @tool("Show the status of a service.")
    def service_status(self, service: str) -> Answer:
        return Answer("up" if self.up else "down")

    @tool("List the running processes.")
    def list_processes(self) -> Answer:
        if not self.blocked:
            return Answer("1 init; 77 cron")
        return self.reach("process", f"1 init; {self.pid} old-{self.name}, holds its port")

    @tool("End a process, given its number.")
    def stop_process(self, pid: str) -> Answer:
        if pid != self.pid or not self.blocked:
            return failed("error: no such process")
        self.blocked = False
        return self.reach("freed", "ended")

    @tool("Read the last lines of a service's log.")
    def read_log(self, service: str) -> Answer:
        if not self.blocked:
            return Answer("ready")
        return self.reach("cause", f"bind: address in use, by process {self.pid}")

    @tool("List the services.")
    def list_services(self) -> Answer:
        return Answer(f"{self.name}, cron")

    @tool("Show the configuration of a service.")
    def show_config(self, service: str) -> Answer:
        return Answer("port 8080, workers 4")

    @tool("Show how much disk is used.")
    def disk_usage(self) -> Answer:
        return Answer("38 % used")

    @tool("Show how much memory is used.")
    def memory_usage(self) -> Answer:
        return Answer("2 of 8 GB used")

    @tool("Reload the configuration of a service.")
    def reload_service(self, service: str) -> Answer:
        return failed("error: it is not running")

    @tool("List planned jobs.")
    def list_jobs(self) -> Answer:
        return Answer("backup at 03:00")

    @property
    def solved(self) -> bool:
        return self.up


class Api(World):
    """The body needs a field that only the documentation names."""

    def set_up(self) -> None:
        self.kind = self.random.choice(["users", "orders", "teams"])
        self.name = self.random.choice(["ada", "linus", "grace", "ken"])
        self.field = self.random.choice(["region", "plan", "locale"]) if self.trap else "name"
        self.value = f"{self.random.choice('ABC')}{self.random.randint(10, 99)}"
        self.made = False
        self.task = f"Create an entry named {self.name} with POST /{self.kind}, then finish."

    @tool("Send a POST request; the body looks like a=1&b=2.")
    def http_post(self, path: str, body: str) -> Answer:
        if self.kind not in path:
            return failed("404 Not Found")
        if self.name not in body or (self.trap and (self.value not in body)):
            return failed("400 Bad Request: body not valid")
        self.made = True
        return self.reach("created", "201 Created")

    @tool("Send a GET request.")
    def http_get(self, path: str) -> Answer:
        if self.kind not in path:
            return failed("404 Not Found")
        return Answer(f"200 {self.name}" if self.made else "200 no entries")

    @tool("Send a DELETE request.")
    def http_delete(self, path: str) -> Answer:
        return failed("403 Forbidden")

    @tool("Read the documentation of a path.")
    def read_docs(self, path: str) -> Answer:
        if self.kind not in path:
            return failed("error: no such page")
        extra = f" and {self.field}, which is {self.value} for you" if self.trap else ""
        return self.reach("docs", f"POST /{self.kind} needs name{extra}")

    @tool("List the paths of the service.")
    def list_paths(self) -> Answer:
        return Answer(f"/{self.kind}, /health")

    @tool("Show an example of a request for a path.")
    def show_example(self, path: str) -> Answer:
        extra = f"&{self.field}={self.value}" if self.trap else ""
        return self.reach("docs", f"name=bob{extra}")

    @tool("Show whether the service is up.")
    def server_status(self) -> Answer:
        return Answer("up")

    @tool("Show who you are to the service.")
    def whoami(self) -> Answer:
        return Answer("a client with the right to write")

    @tool("Show how many requests are left today.")
    def rate_limit(self) -> Answer:
        return Answer("940 of 1000 left")

    @tool("Fetch a new access token.")
    def refresh_token(self) -> Answer:
        return Answer("the token is still valid")

    @tool("Set a header for the requests that follow.")
    def set_header(self, name: str, value: str) -> Answer:
        return Answer("set")

    @tool("Show the last requests.")
    def request_history(self) -> Answer:
        return Answer(f"POST /{self.kind}")

    @property
    def solved(self) -> bool:
        return self.made


class Deploy(World):
    """A release has to be approved before it can be deployed."""

    def set_up(self) -> None:
        self.app = self.random.choice(["shop", "blog", "portal", "wiki"])
        self.release = f"r{self.random.randint(100, 999)}"
        self.approved, self.live = not self.trap, False
        self.task = f"Deploy release {self.release} of {self.app}, then finish when it is live."

    @tool("Deploy a release.")
    def deploy_release(self, app: str, release: str) -> Answer:
        if self.release not in release:
            return failed("error: unknown release")
        if not self.approved:
            return failed("error: deployment refused")
        self.live = True
        return self.reach("live", f"{self.release} is live")

    @tool("Show the rules that a deployment must pass.")
    def show_rules(self, app: str) -> Answer:
        return self.reach("rules", "a release must be approved with approve_release")

    @tool("Approve a release.")
    def approve_release(self, release: str) -> Answer:
        if self.release not in release:
            return failed("error: unknown release")
        self.approved = True
        return self.reach("approved", "approved")

    @tool("Show the status of a release.")
    def release_status(self, release: str) -> Answer:
        return Answer(f"{self.release}: {'live' if self.live else 'built'}")

    @tool("Go back to the release before.")
    def roll_back(self, app: str) -> Answer:
        return failed("error: nothing to go back to")

    @tool("List the releases of an app.")
    def list_releases(self, app: str) -> Answer:
        return Answer(f"r99 (live), {self.release}")

    @tool("Build an image.")
    def build_image(self, app: str) -> Answer:
        return Answer("the image is up to date")

    @tool("List the servers.")
    def list_servers(self) -> Answer:
        return Answer("east-1, east-2")

    @tool("Set how many copies of an app run.")
    def scale_app(self, app: str, copies: str) -> Answer:
        return Answer("scaled")

    @tool("Read the log of the last build.")
    def read_build_log(self, app: str) -> Answer:
        return Answer("build succeeded")

    @tool("Restart an app.")
    def restart_app(self, app: str) -> Answer:
        return Answer("restarted r99")

    @tool("List the owners of an app.")
    def list_owners(self, app: str) -> Answer:
        return Answer("you")

    @property
    def solved(self) -> bool:
        return self.live


class Manual(World):
    """A search finds nothing, whatever the words: the answer is found by topic."""

    def set_up(self) -> None:
        self.item = self.random.choice(["pump", "boiler", "lift", "drill"])
        self.topic = self.random.choice(["maintenance", "operation", "safety"])
        self.page = str(self.random.randint(12, 88))
        self.value = f"{self.random.randint(110, 990)} bar"
        self.task = (
            f"Find the highest pressure of the {self.item} in the manual. Finish with the value."
        )

    @tool("Search the manual for words.")
    def search_manual(self, words: str) -> Answer:
        if self.trap:
            return Answer("0 results")
        return self.reach("page", f"page {self.page}: pressure of the {self.item}")

    @tool("List the topics of the manual.")
    def list_topics(self) -> Answer:
        return self.reach("topics", f"introduction, {self.topic}")

    @tool("List the pages on a topic.")
    def pages_of_topic(self, topic: str) -> Answer:
        if self.topic not in topic:
            return Answer("page 1: how to read this manual")
        return self.reach("page", f"page {self.page}: pressure of the {self.item}")

    @tool("Open a page by its number.")
    def open_page(self, number: str) -> Answer:
        if number != self.page:
            return Answer("This page is left blank.")
        return self.reach("read", f"The {self.item} stands at most {self.value}.")

    @tool("Go to the next page.")
    def next_page(self) -> Answer:
        return Answer("This page is left blank.")

    @tool("Show the cover.")
    def show_cover(self) -> Answer:
        return Answer("Manual, second edition")

    @tool("List the figures.")
    def list_figures(self) -> Answer:
        return Answer("figure 1: view from the side")

    @tool("Translate a word.")
    def translate_word(self, word: str) -> Answer:
        return Answer(word)

    @tool("List the bookmarks.")
    def list_bookmarks(self) -> Answer:
        return Answer("none")

    @tool("Show what was searched before.")
    def search_history(self) -> Answer:
        return Answer("nothing")

    @tool("Show the address of the maker.")
    def show_contact(self) -> Answer:
        return Answer("Works Ltd, Harbour Road 1")

    @tool("Explain an abbreviation.")
    def explain_abbreviation(self, text: str) -> Answer:
        return Answer("unknown")

    @property
    def solved(self) -> bool:
        return self.value.split()[0] in self.said
