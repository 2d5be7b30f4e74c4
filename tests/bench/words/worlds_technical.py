"""Worlds about films, networks and roads."""

from __future__ import annotations

from words.world import Answer, World, failed, tool


class Media(World):
    """The codec of a film is not installed."""

    def set_up(self) -> None:
        self.file = self.random.choice(["talk.mov", "trip.avi", "demo.mkv"])
        self.codec = self.random.choice(["prores", "dv", "hevc"])
        self.lacks, self.converted = self.trap, False
        self.task = f"Convert {self.file} to mp4, then finish."

    @tool("Convert a file to another format.")
    def convert_file(self, file: str, form: str) -> Answer:
        if self.file not in file:
            return failed("error: no such file")
        if self.lacks:
            return failed("error: conversion failed")
        self.converted = True
        return self.reach("converted", "converted")

    @tool("Convert a sound file to another format.")
    def convert_audio(self, file: str, form: str) -> Answer:
        return failed("error: not a sound file")

    @tool("Make a file smaller.")
    def compress_file(self, file: str) -> Answer:
        return failed("error: conversion failed")

    @tool("Cut a part out of a file.")
    def trim_file(self, file: str, start: str, end: str) -> Answer:
        return failed("error: conversion failed")

    @tool("Take the sound out of a film.")
    def extract_audio(self, file: str) -> Answer:
        return Answer("extracted")

    @tool("Make a small picture of a film.")
    def make_thumbnail(self, file: str) -> Answer:
        return failed("error: no picture could be read")

    @tool("Show the streams and codecs of a file.")
    def probe_file(self, file: str) -> Answer:
        return self.reach("codec", f"video: {self.codec}; audio: aac")

    @tool("List the files.")
    def list_files(self) -> Answer:
        return Answer(self.file)

    @tool("List the formats that can be written.")
    def list_formats(self) -> Answer:
        return Answer("mp4, webm")

    @tool("List the codecs that are installed.")
    def list_codecs(self) -> Answer:
        if not self.lacks:
            return Answer("h264, aac, prores, dv, hevc")
        return self.reach("codecs", f"h264, aac (not installed: {self.codec})")

    @tool("Install a codec.")
    def install_codec(self, codec: str) -> Answer:
        if self.codec not in codec or not self.lacks:
            return failed("error: nothing to install")
        self.lacks = False
        return self.reach("installed", "installed")

    @tool("Read the log of the last conversion.")
    def read_log(self) -> Answer:
        if not self.lacks:
            return Answer("empty")
        return self.reach("codec", f"no decoder for {self.codec}")

    @tool("Show how much disk is free.")
    def disk_space(self) -> Answer:
        return Answer("120 GB free")

    @property
    def solved(self) -> bool:
        return self.converted


class Network(World):
    """The network wants a certificate."""

    def set_up(self) -> None:
        self.name = self.random.choice(["Lab", "Campus", "Office"])
        self.lacks, self.connected = self.trap, False
        self.task = f"Connect to the network {self.name}, then finish."

    @tool("Connect to a network.")
    def connect_network(self, network: str) -> Answer:
        if self.name.lower() not in network.lower():
            return failed("error: no such network")
        if self.lacks:
            return failed("error: authentication failed")
        self.connected = True
        return self.reach("connected", "connected")

    @tool("Leave a network.")
    def disconnect_network(self, network: str) -> Answer:
        return failed("error: not connected")

    @tool("Forget a network.")
    def forget_network(self, network: str) -> Answer:
        return Answer("forgotten")

    @tool("List the networks nearby.")
    def list_networks(self) -> Answer:
        return Answer(f"{self.name} (strong), Guest (weak)")

    @tool("Show how a network is secured.")
    def show_network(self, network: str) -> Answer:
        if not self.lacks:
            return Answer("open")
        return self.reach("cause", f"{self.name}: needs the certificate {self.name.lower()}-ca")

    @tool("Connect to a printer.")
    def connect_printer(self, printer: str) -> Answer:
        return failed("error: no printer")

    @tool("Start a VPN.")
    def connect_vpn(self, vpn: str) -> Answer:
        return failed("error: no network")

    @tool("Switch the wireless adapter off and on.")
    def restart_adapter(self) -> Answer:
        return Answer("restarted")

    @tool("Show the wireless adapter.")
    def show_adapter(self) -> Answer:
        return Answer("on, not connected")

    @tool("List the certificates.")
    def list_certificates(self) -> Answer:
        if not self.lacks:
            return Answer("all installed")
        return self.reach("certificate", f"{self.name.lower()}-ca (not installed)")

    @tool("Install a certificate.")
    def install_certificate(self, certificate: str) -> Answer:
        if self.name.lower() not in certificate.lower():
            return failed("error: no such certificate")
        self.lacks = False
        return self.reach("installed", "installed")

    @tool("Read the log of the connection.")
    def read_connection_log(self) -> Answer:
        if not self.lacks:
            return Answer("empty")
        return self.reach("cause", f"the server asked for the certificate {self.name.lower()}-ca")

    @tool("Measure the speed of the connection.")
    def measure_speed(self) -> Answer:
        return failed("error: not connected")

    @property
    def solved(self) -> bool:
        return self.connected


class Route(World):
    """A bridge on the way is closed."""

    def set_up(self) -> None:
        self.start = self.random.choice(["Oak Street", "Mill Lane", "Park Road"])
        self.bridge = self.random.choice(["East Bridge", "Old Bridge", "Iron Bridge"])
        self.minutes = str(self.random.randint(11, 58))
        self.found = ""
        self.task = (
            f"Find how many minutes it takes to drive from {self.start} to the harbour. "
            "Finish with the number."
        )

    @tool("Plan a way by car.")
    def plan_route(self, start: str, end: str) -> Answer:
        if self.trap:
            return Answer("no route found")
        return self.reach("route", f"{self.minutes} minutes")

    @tool("Plan a way by car that avoids a place.")
    def plan_detour(self, start: str, end: str, avoid: str) -> Answer:
        if self.bridge.lower() not in avoid.lower():
            return Answer("no route found")
        return self.reach("route", f"{self.minutes} minutes")

    @tool("Plan a walk.")
    def plan_walk(self, start: str, end: str) -> Answer:
        return Answer("no route found")

    @tool("Plan a way by train.")
    def plan_train(self, start: str, end: str) -> Answer:
        return Answer("no station nearby")

    @tool("Find a place by its name.")
    def find_place(self, name: str) -> Answer:
        return Answer("one place of this name")

    @tool("List the places near a place.")
    def places_nearby(self, place: str) -> Answer:
        return Answer("a bakery, a school")

    @tool("List the roads that are closed.")
    def list_closures(self) -> Answer:
        return self.reach("cause", f"{self.bridge}, until June" if self.trap else "Hill Path")

    @tool("Show the traffic on the way to a place.")
    def show_traffic(self, place: str) -> Answer:
        if not self.trap:
            return Answer("little traffic")
        return self.reach("cause", f"little traffic; {self.bridge} is closed")

    @tool("Show the weather at a place.")
    def show_weather(self, place: str) -> Answer:
        return Answer("rain")

    @tool("List the routes that were saved.")
    def list_saved_routes(self) -> Answer:
        return Answer("none")

    @tool("Save a place.")
    def save_place(self, place: str) -> Answer:
        return Answer("saved")

    @tool("Find a place to park.")
    def find_parking(self, place: str) -> Answer:
        return Answer("harbour, 40 free")

    @property
    def solved(self) -> bool:
        return self.finished and self.minutes in self.said
