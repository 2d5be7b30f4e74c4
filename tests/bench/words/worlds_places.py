"""Worlds about places, appointments and orders."""

from __future__ import annotations

from words.world import Answer, World, failed, tool


class Room(World):
    """The box is locked, and its key is hidden."""

    def set_up(self) -> None:
        self.box = self.random.choice(["chest", "cabinet", "safe", "trunk"])
        self.where = self.random.choice(["shelf", "painting", "vase"])
        self.held, self.opened = False, False
        self.task = f"You are in a room with a {self.box}. Open the {self.box}, then finish."

    @tool("Open a thing.")
    def open_thing(self, thing: str) -> Answer:
        if self.box not in thing.lower():
            return Answer("That can't be opened.")
        if self.trap and not self.opened:
            return Answer(f"The {self.box} is locked.")
        self.opened = True
        return self.reach("opened", f"The {self.box} is open.")

    @tool("Look around the room.")
    def look_around(self) -> Answer:
        return self.reach("seen", f"A {self.box}, a shelf, a painting and a vase.")

    @tool("Look closely at one thing.")
    def inspect_thing(self, thing: str) -> Answer:
        if self.where in thing.lower():
            return self.reach("key seen", f"A brass key lies at the {self.where}.")
        if self.box in thing.lower():
            return Answer("It has a keyhole.")
        return Answer("Nothing special.")

    @tool("Take an item.")
    def take_item(self, item: str) -> Answer:
        if "key" not in item.lower() or "key seen" not in self.reached:
            return Answer("You see no such item.")
        self.held = True
        return self.reach("key", "You have the brass key.")

    @tool("Use an item on a thing.")
    def use_item(self, item: str, thing: str) -> Answer:
        if "key" not in item.lower() or not self.held or self.box not in thing.lower():
            return Answer("That does not work.")
        self.opened = True
        return self.reach("opened", f"The {self.box} is open now.")

    @tool("Put an item down.")
    def drop_item(self, item: str) -> Answer:
        return Answer("You do not hold it.")

    @tool("Push a thing.")
    def push_thing(self, thing: str) -> Answer:
        return Answer("It does not move.")

    @tool("List what you hold.")
    def list_inventory(self) -> Answer:
        return Answer("a brass key" if self.held else "nothing")

    @tool("Go through a door.")
    def go_through(self, door: str) -> Answer:
        return Answer("There is no door.")

    @tool("Listen.")
    def listen(self) -> Answer:
        return Answer("It is quiet.")

    @tool("Read something.")
    def read_thing(self, thing: str) -> Answer:
        return Answer("There is nothing to read.")

    @tool("Call for help.")
    def call_for_help(self) -> Answer:
        return Answer("Nobody answers.")

    @property
    def solved(self) -> bool:
        return self.opened


class Warehouse(World):
    """The straight way to the shelf is blocked by a gate that has to be opened."""

    def set_up(self) -> None:
        self.item = self.random.choice(["lamp", "crate", "motor", "valve"])
        self.shelf = f"S{self.random.randint(10, 99)}"
        self.gate, self.near, self.picked = not self.trap, False, False
        self.task = f"Drive the robot to shelf {self.shelf}, pick the {self.item}, then finish."

    @tool("Drive the robot to a shelf.")
    def drive_to(self, shelf: str) -> Answer:
        if self.shelf not in shelf.upper():
            return Answer("There is no such shelf.")
        if not self.gate:
            return Answer("The way is blocked.")
        self.near = True
        return self.reach("near", f"The robot is at {self.shelf}.")

    @tool("Pick an item from the shelf where the robot is.")
    def pick_item(self, item: str) -> Answer:
        if not self.near or self.item not in item.lower():
            return Answer("No such item within reach.")
        self.picked = True
        return self.reach("picked", f"The robot holds the {self.item}.")

    @tool("Scan what is around the robot.")
    def scan_area(self) -> Answer:
        state = "open" if self.gate else "closed"
        return self.reach("scanned", f"gate G1 to the north: {state}")

    @tool("Open a gate.")
    def open_gate(self, gate: str) -> Answer:
        if "G1" not in gate.upper():
            return Answer("There is no such gate.")
        self.gate = True
        return self.reach("gate", "G1 is open.")

    @tool("Show the map.")
    def show_map(self) -> Answer:
        return self.reach("scanned", f"dock - gate G1 - {self.shelf}")

    @tool("Place the item that the robot holds.")
    def place_item(self, shelf: str) -> Answer:
        return Answer("The robot holds nothing.")

    @tool("Show the charge of the battery.")
    def show_battery(self) -> Answer:
        return Answer("83 %")

    @tool("Charge the battery.")
    def charge_battery(self) -> Answer:
        return Answer("The robot is not at the dock's plug.")

    @tool("List the shelves.")
    def list_shelves(self) -> Answer:
        return Answer(f"{self.shelf}, S1")

    @tool("Weigh the load.")
    def weigh_load(self) -> Answer:
        return Answer("0 kg")

    @tool("Turn the light on or off.")
    def set_light(self, state: str) -> Answer:
        return Answer("done")

    @tool("Show the robot's speed.")
    def show_speed(self) -> Answer:
        return Answer("0 m/s")

    @property
    def solved(self) -> bool:
        return self.picked


class Calendar(World):
    """The room is taken at the time that the task names."""

    def set_up(self) -> None:
        self.room = self.random.choice(["Blue", "Green", "North", "Attic"])
        self.wished = self.random.choice(["09:00", "10:00", "11:00"])
        self.free = self.random.choice(["14:00", "15:00", "16:00"]) if self.trap else self.wished
        self.booked = False
        when = f"at {self.wished}" + (", or else at another time" if self.trap else "")
        self.task = f"Book room {self.room} for Monday {when}. Finish when it is booked."

    @tool("Book a room.")
    def book_room(self, room: str, time: str) -> Answer:
        if self.room.lower() not in room.lower():
            return failed("error: unknown room")
        if self.free not in time:
            return failed("error: the room could not be booked")
        self.booked = True
        return self.reach("booked", f"{self.room} is booked for {self.free}")

    @tool("Show when a room is taken and when it is free.")
    def room_schedule(self, room: str) -> Answer:
        return self.reach("schedule", f"{self.room}: free at {self.free} only")

    @tool("Find free times of a room.")
    def find_free_times(self, room: str) -> Answer:
        return self.reach("schedule", f"{self.free}")

    @tool("Cancel a booking.")
    def cancel_booking(self, room: str, time: str) -> Answer:
        return failed("error: it is not yours")

    @tool("List the rooms.")
    def list_rooms(self) -> Answer:
        return Answer(f"{self.room}, Hall")

    @tool("List the people.")
    def list_people(self) -> Answer:
        return Answer("Ada, Ken")

    @tool("Show the schedule of a person.")
    def person_schedule(self, person: str) -> Answer:
        return Answer("nothing on Monday")

    @tool("Send an invitation.")
    def send_invitation(self, person: str) -> Answer:
        return failed("error: nothing is booked")

    @tool("List the holidays.")
    def list_holidays(self) -> Answer:
        return Answer("none this month")

    @tool("Show the equipment of a room.")
    def room_equipment(self, room: str) -> Answer:
        return Answer("a screen, six chairs")

    @tool("Set a reminder.")
    def set_reminder(self, text: str) -> Answer:
        return Answer("set")

    @tool("Show the time zone.")
    def show_time_zone(self) -> Answer:
        return Answer("UTC")

    @property
    def solved(self) -> bool:
        return self.booked


class Orders(World):
    """An order has to be returned before it can be refunded."""

    def set_up(self) -> None:
        self.order = f"A{self.random.randint(1000, 9999)}"
        self.name = self.random.choice(["Ada", "Linus", "Grace", "Ken"])
        self.returned, self.refunded = not self.trap, False
        self.task = f"{self.name} wants a refund of order {self.order}. Refund it, then finish."

    @tool("Refund an order.")
    def refund_order(self, order: str) -> Answer:
        if self.order not in order:
            return failed("error: unknown order")
        if not self.returned:
            return failed("error: refund not possible")
        self.refunded = True
        return self.reach("refunded", f"{self.order} is refunded")

    @tool("Show an order.")
    def show_order(self, order: str) -> Answer:
        if self.order not in order:
            return failed("error: unknown order")
        state = "returned" if self.returned else "delivered, no return registered"
        return self.reach("state", f"{self.order}: {state}")

    @tool("Register that an order comes back.")
    def register_return(self, order: str) -> Answer:
        if self.order not in order:
            return failed("error: unknown order")
        self.returned = True
        return self.reach("returned", "return registered")

    @tool("Read the rules for refunds.")
    def read_policy(self) -> Answer:
        return self.reach("state", "An order is refunded after its return is registered.")

    @tool("Cancel an order.")
    def cancel_order(self, order: str) -> Answer:
        return failed("error: it is delivered already")

    @tool("Find a customer by name.")
    def find_customer(self, name: str) -> Answer:
        return Answer(f"{self.name}, customer 17")

    @tool("List the orders of a customer.")
    def list_orders(self, customer: str) -> Answer:
        return Answer(self.order)

    @tool("Change the address of an order.")
    def change_address(self, order: str, address: str) -> Answer:
        return failed("error: it is delivered already")

    @tool("Write a note on an order.")
    def add_note(self, order: str, text: str) -> Answer:
        return Answer("noted")

    @tool("Send an e-mail to a customer.")
    def send_email(self, customer: str, text: str) -> Answer:
        return Answer("sent")

    @tool("List the products.")
    def list_products(self) -> Answer:
        return Answer("lamp, chair")

    @tool("Track a parcel.")
    def track_parcel(self, order: str) -> Answer:
        return Answer("delivered")

    @property
    def solved(self) -> bool:
        return self.refunded
