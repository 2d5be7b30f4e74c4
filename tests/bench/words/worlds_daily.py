"""Worlds about loans, homes, medicine and flights."""

from __future__ import annotations

from words.world import Answer, World, failed, tool


class Library(World):
    """A fine has to be paid before the member may reserve."""

    def set_up(self) -> None:
        self.member = f"M{self.random.randint(100, 999)}"
        self.title = self.random.choice(["Dune", "Emma", "Ulysses"])
        self.fine, self.reserved = self.trap, False
        self.task = f"Reserve the book {self.title} for member {self.member}, then finish."

    def _fines(self) -> Answer:
        if not self.fine:
            return Answer("no fines")
        return self.reach("cause", "blocked: a fine of 3 euros is open")

    @tool("Reserve a book for a member.")
    def reserve_book(self, member: str, title: str) -> Answer:
        if self.member not in member or self.title.lower() not in title.lower():
            return failed("error: unknown member or title")
        if self.fine:
            return failed("error: reservation refused")
        self.reserved = True
        return self.reach("reserved", "reserved")

    @tool("Reserve a room for a member.")
    def reserve_room(self, member: str, room: str) -> Answer:
        return failed("error: reservation refused")

    @tool("Cancel a reservation.")
    def cancel_reservation(self, member: str, title: str) -> Answer:
        return failed("error: no such reservation")

    @tool("List the reservations of a book.")
    def list_reservations(self, title: str) -> Answer:
        return Answer("none")

    @tool("Renew a loan.")
    def renew_loan(self, member: str, title: str) -> Answer:
        return failed("error: no such loan")

    @tool("List the loans of a member.")
    def list_loans(self, member: str) -> Answer:
        return Answer("none")

    @tool("Search the catalogue.")
    def search_catalogue(self, words: str) -> Answer:
        return Answer(f"{self.title}, one copy, on the shelf")

    @tool("Show how many copies of a book there are.")
    def show_copies(self, title: str) -> Answer:
        return Answer("1 copy")

    @tool("Show a member's account.")
    def show_member(self, member: str) -> Answer:
        return self._fines()

    @tool("List the fines of a member.")
    def list_fines(self, member: str) -> Answer:
        return self._fines()

    @tool("Pay the fines of a member.")
    def pay_fines(self, member: str) -> Answer:
        if not self.fine:
            return Answer("nothing to pay")
        self.fine = False
        return self.reach("paid", "paid")

    @tool("Show the hours of the library.")
    def show_hours(self) -> Answer:
        return Answer("9 to 18")

    @property
    def solved(self) -> bool:
        return self.reserved


class Home(World):
    """The thermostat is locked."""

    def set_up(self) -> None:
        self.room = self.random.choice(["bedroom", "kitchen", "study"])
        self.degrees = str(self.random.randint(19, 24))
        self.locked, self.set = self.trap, False
        self.task = f"Set the heating of the {self.room} to {self.degrees} degrees, then finish."

    def _state(self) -> Answer:
        if not self.locked:
            return Answer(f"thermostat of the {self.room}: online")
        return self.reach("cause", f"thermostat of the {self.room}: online, child lock on")

    @tool("Set the heating of a room.")
    def set_temperature(self, room: str, degrees: str) -> Answer:
        if self.room not in room.lower() or self.degrees not in degrees:
            return failed("error: not what was asked for")
        if self.locked:
            return failed("error: the device did not accept the command")
        self.set = True
        return self.reach("set", "set")

    @tool("Set the light of a room.")
    def set_brightness(self, room: str, percent: str) -> Answer:
        return Answer("set")

    @tool("Set how fast the fan of a room runs.")
    def set_fan_speed(self, room: str, speed: str) -> Answer:
        return failed("error: there is no fan")

    @tool("Set the mode of the house: home, away or night.")
    def set_mode(self, mode: str) -> Answer:
        return Answer("set")

    @tool("List the rooms.")
    def list_rooms(self) -> Answer:
        return Answer("bedroom, kitchen, study")

    @tool("List the devices of a room.")
    def list_devices(self, room: str) -> Answer:
        return self.reach("devices", f"thermostat-{self.room}, lamp-{self.room}")

    @tool("Show the state of a device.")
    def device_state(self, device: str) -> Answer:
        return self._state()

    @tool("Read the temperature of a room.")
    def read_temperature(self, room: str) -> Answer:
        return Answer("17 degrees")

    @tool("Lock a device.")
    def lock_device(self, device: str) -> Answer:
        return failed("error: it is locked")

    @tool("Unlock a device.")
    def unlock_device(self, device: str) -> Answer:
        if not self.locked:
            return failed("error: it is not locked")
        self.locked = False
        return self.reach("unlocked", "unlocked")

    @tool("List the scenes.")
    def list_scenes(self) -> Answer:
        return Answer("evening, movie")

    @tool("Start a scene.")
    def run_scene(self, scene: str) -> Answer:
        return failed("error: no such scene")

    @tool("Read what the devices reported lately.")
    def read_events(self) -> Answer:
        return self._state()

    @property
    def solved(self) -> bool:
        return self.set


class Pharmacy(World):
    """No refill is left: the prescription has to be renewed."""

    def set_up(self) -> None:
        self.number = f"R{self.random.randint(1000, 9999)}"
        self.left, self.filled = not self.trap, False
        self.task = f"Refill prescription {self.number}, then finish."

    @tool("Refill a prescription.")
    def refill_prescription(self, prescription: str) -> Answer:
        if self.number not in prescription:
            return failed("error: unknown prescription")
        if not self.left:
            return failed("error: refill denied")
        self.filled = True
        return self.reach("filled", "it can be picked up")

    @tool("Cancel a refill.")
    def cancel_refill(self, prescription: str) -> Answer:
        return failed("error: no refill is under way")

    @tool("Show where a refill is.")
    def refill_status(self, prescription: str) -> Answer:
        return Answer("no refill is under way")

    @tool("Move a prescription to another pharmacy.")
    def transfer_prescription(self, prescription: str, pharmacy: str) -> Answer:
        return failed("error: that pharmacy does not take it")

    @tool("Show a prescription.")
    def show_prescription(self, prescription: str) -> Answer:
        left = "2 refills left" if self.left else "0 refills left, must be renewed"
        return self.reach("cause", f"{self.number}: Ada, tablets, {left}")

    @tool("List the prescriptions of a patient.")
    def list_prescriptions(self, patient: str) -> Answer:
        return Answer(f"{self.number}, R77")

    @tool("Ask the doctor to renew a prescription.")
    def renew_prescription(self, prescription: str) -> Answer:
        if self.number not in prescription:
            return failed("error: unknown prescription")
        self.left = True
        return self.reach("renewed", "renewed")

    @tool("Show how much of a medicine is in stock.")
    def check_stock(self, medicine: str) -> Answer:
        return Answer("in stock")

    @tool("Check whether two medicines go together.")
    def check_interactions(self, first: str, second: str) -> Answer:
        return Answer("no interaction is known")

    @tool("List the allergies of a patient.")
    def list_allergies(self, patient: str) -> Answer:
        return Answer("none")

    @tool("Show the insurance of a patient.")
    def show_insurance(self, patient: str) -> Answer:
        return Answer("valid")

    @tool("List the pharmacies nearby.")
    def list_pharmacies(self) -> Answer:
        return Answer("North, South")

    @property
    def solved(self) -> bool:
        return self.filled


class Flight(World):
    """The booking lacks the number of a passport."""

    def set_up(self) -> None:
        self.booking = f"B{self.random.randint(100, 999)}X"
        self.passport = f"P{self.random.randint(10000, 99999)}"
        self.lacks, self.checked = self.trap, False
        self.task = f"Check in the passenger of booking {self.booking}, then finish."

    @tool("Check in the passenger of a booking.")
    def check_in(self, booking: str) -> Answer:
        if self.booking not in booking:
            return failed("error: unknown booking")
        if self.lacks:
            return failed("error: check-in not possible")
        self.checked = True
        return self.reach("checked", "checked in")

    @tool("Check in a bag.")
    def check_bag(self, booking: str, kilos: str) -> Answer:
        return failed("error: the passenger is not checked in")

    @tool("Print the boarding pass.")
    def print_boarding_pass(self, booking: str) -> Answer:
        return failed("error: the passenger is not checked in")

    @tool("Choose a seat.")
    def choose_seat(self, booking: str, seat: str) -> Answer:
        return Answer("the seat is yours")

    @tool("List the seats that are free.")
    def list_seats(self, booking: str) -> Answer:
        return Answer("12A, 14C")

    @tool("Show whether a flight is on time.")
    def flight_status(self, flight: str) -> Answer:
        return Answer("on time")

    @tool("Show a booking.")
    def show_booking(self, booking: str) -> Answer:
        missing = ", travel document missing" if self.lacks else ""
        return self.reach("cause", f"{self.booking}: Ada, flight T4{missing}")

    @tool("Change the flight of a booking.")
    def change_flight(self, booking: str, flight: str) -> Answer:
        return failed("error: the fare can't be changed")

    @tool("Cancel a booking.")
    def cancel_booking(self, booking: str) -> Answer:
        return failed("error: the fare can't be cancelled")

    @tool("Show which documents a booking needs.")
    def required_documents(self, booking: str) -> Answer:
        return self.reach("cause", "a passport")

    @tool("Show the profile of a passenger.")
    def show_passenger(self, booking: str) -> Answer:
        return self.reach("passport", f"Ada, passport {self.passport}")

    @tool("Add a travel document to a booking.")
    def add_document(self, booking: str, number: str) -> Answer:
        if self.passport not in number:
            return failed("error: not valid")
        self.lacks = False
        return self.reach("added", "added")

    @tool("List the bags of a booking.")
    def list_bags(self, booking: str) -> Answer:
        return Answer("none")

    @property
    def solved(self) -> bool:
        return self.checked
