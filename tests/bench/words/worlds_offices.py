"""Worlds about mail, money, sheets and leave."""

from __future__ import annotations

from words.world import Answer, World, failed, tool


class Mail(World):
    """A name is no address: it stands in the contacts."""

    def set_up(self) -> None:
        self.who = self.random.choice(["Ada", "Ken", "Grace", "Linus"])
        self.address = f"{self.who.lower()}{self.random.randint(2, 99)}@example.org"
        self.sent = False
        self.task = f"Send {self.who} a mail that says 'the meeting is at noon', then finish."
        if not self.trap:
            self.task = self.task.replace("a mail", f"({self.address}) a mail")

    @tool("Send a mail.")
    def send_mail(self, to: str, subject: str, body: str) -> Answer:
        if self.address not in to:
            return failed("error: not a valid recipient")
        self.sent = True
        return self.reach("sent", "sent")

    @tool("Send a mail at a given time.")
    def schedule_mail(self, to: str, subject: str, body: str, time: str) -> Answer:
        return failed("error: not a valid recipient")

    @tool("Keep a mail without sending it.")
    def save_draft(self, to: str, subject: str, body: str) -> Answer:
        return Answer("saved")

    @tool("Answer a mail.")
    def reply_to_mail(self, mail: str, body: str) -> Answer:
        return failed("error: no such mail")

    @tool("Send a mail on to somebody else.")
    def forward_mail(self, mail: str, to: str) -> Answer:
        return failed("error: no such mail")

    @tool("Search the mails for words.")
    def search_mail(self, words: str) -> Answer:
        if self.who.lower() not in words.lower():
            return Answer("0 mails")
        return self.reach("address", f"mail 7: from {self.who} <{self.address}>, holidays")

    @tool("Read a mail.")
    def read_mail(self, mail: str) -> Answer:
        return failed("error: no such mail")

    @tool("List the folders.")
    def list_folders(self) -> Answer:
        return Answer("inbox, sent, drafts")

    @tool("Find a person in the contacts.")
    def search_contacts(self, name: str) -> Answer:
        if self.who.lower() not in name.lower():
            return Answer("nobody")
        return self.reach("address", f"{self.who}: {self.address}")

    @tool("List the contacts.")
    def list_contacts(self) -> Answer:
        return self.reach("address", f"{self.who}: {self.address}; Bob: bob@example.org")

    @tool("Add a person to the contacts.")
    def add_contact(self, name: str, address: str) -> Answer:
        return Answer("added")

    @tool("Show the signature.")
    def show_signature(self) -> Answer:
        return Answer("Kind regards")

    @tool("List the rules that sort mails.")
    def list_rules(self) -> Answer:
        return Answer("newsletters go to their folder")

    @property
    def solved(self) -> bool:
        return self.sent


class Bank(World):
    """The account has a limit below the amount."""

    def set_up(self) -> None:
        self.account = f"K{self.random.randint(100, 999)}"
        self.payee = self.random.choice(["Ada", "Ken", "Grace"])
        self.amount = str(self.random.randint(3, 9) * 100)
        self.limit = 200 if self.trap else 5000
        self.paid = False
        self.task = (
            f"Transfer {self.amount} euros from account {self.account} to {self.payee}, "
            "then finish."
        )

    def _limit(self, text: str) -> Answer:
        return self.reach("limit", f"{text}limit {self.limit} euros a day")

    @tool("Transfer money to a payee.")
    def transfer_money(self, account: str, payee: str, amount: str) -> Answer:
        if self.account not in account or self.amount not in amount:
            return failed("error: not what was asked for")
        if self.limit < int(self.amount):
            return failed("error: the transfer was declined")
        self.paid = True
        return self.reach("paid", "done")

    @tool("Transfer money to a payee at a later day.")
    def schedule_transfer(self, account: str, payee: str, amount: str, day: str) -> Answer:
        return failed("error: the transfer was declined")

    @tool("Cancel a transfer that was scheduled.")
    def cancel_transfer(self, account: str) -> Answer:
        return failed("error: none is scheduled")

    @tool("List the transfers of an account.")
    def list_transfers(self, account: str) -> Answer:
        return Answer("rent, 3 May")

    @tool("Show the balance of an account.")
    def show_balance(self, account: str) -> Answer:
        return Answer("8120 euros")

    @tool("Show the settings of an account.")
    def show_account(self, account: str) -> Answer:
        return self._limit("current account, ")

    @tool("List the accounts.")
    def list_accounts(self) -> Answer:
        return Answer(f"{self.account}, S1")

    @tool("List the payees.")
    def list_payees(self) -> Answer:
        return Answer("Ada, Grace, Ken")

    @tool("Add a payee.")
    def add_payee(self, name: str) -> Answer:
        return failed("error: the payee exists")

    @tool("Show the limits of an account.")
    def show_limits(self, account: str) -> Answer:
        return self._limit("")

    @tool("Change the daily limit of an account.")
    def change_limit(self, account: str, limit: str) -> Answer:
        if not limit.isdigit() or int(limit) < int(self.amount):
            return Answer("changed nothing")
        self.limit = int(limit)
        return self.reach("changed", f"the limit is {limit} euros a day")

    @tool("List the cards.")
    def list_cards(self) -> Answer:
        return Answer("one card")

    @tool("Show the exchange rate of a currency.")
    def show_rate(self, currency: str) -> Answer:
        return Answer("1.08")

    @property
    def solved(self) -> bool:
        return self.paid


class Sheet(World):
    """The cell lies in a range that is protected."""

    def set_up(self) -> None:
        self.sheet = self.random.choice(["Budget", "Staff", "Plan"])
        self.cell = f"{self.random.choice('BCD')}{self.random.randint(4, 18)}"
        self.value = str(self.random.randint(30, 90))
        self.protected, self.written = self.trap, False
        self.task = (
            f"Write {self.value} into cell {self.cell} of the sheet {self.sheet}, then finish."
        )

    @tool("Write a value into a cell.")
    def write_cell(self, sheet: str, cell: str, value: str) -> Answer:
        if self.cell not in cell or self.value not in value:
            return failed("error: not what was asked for")
        if self.protected:
            return failed(f"error: {self.cell} could not be changed")
        self.written = True
        return self.reach("written", "written")

    @tool("Write values into a row.")
    def write_row(self, sheet: str, row: str, values: str) -> Answer:
        return failed("error: the row could not be changed")

    @tool("Write a formula into a cell.")
    def write_formula(self, sheet: str, cell: str, formula: str) -> Answer:
        return failed(f"error: {self.cell} could not be changed")

    @tool("Clear a cell.")
    def clear_cell(self, sheet: str, cell: str) -> Answer:
        return failed(f"error: {self.cell} could not be changed")

    @tool("Read the value of a cell.")
    def read_cell(self, sheet: str, cell: str) -> Answer:
        return Answer(self.value if self.written else "empty")

    @tool("Read the values of a range.")
    def read_range(self, sheet: str, cells: str) -> Answer:
        return Answer("12, 7, empty")

    @tool("Set the colour of a cell.")
    def format_cell(self, sheet: str, cell: str, colour: str) -> Answer:
        return failed(f"error: {self.cell} could not be changed")

    @tool("Show the size and the protection of a sheet.")
    def sheet_info(self, sheet: str) -> Answer:
        if not self.protected:
            return Answer("20 rows, 6 columns")
        return self.reach("cause", "20 rows, 6 columns, A1:F20 protected")

    @tool("List the sheets.")
    def list_sheets(self) -> Answer:
        return Answer(f"{self.sheet}, Notes")

    @tool("List the protected ranges of a sheet.")
    def list_protected_ranges(self, sheet: str) -> Answer:
        if not self.protected:
            return Answer("none")
        return self.reach("cause", "A1:F20")

    @tool("End the protection of a range.")
    def unprotect_range(self, sheet: str, cells: str) -> Answer:
        if not self.protected:
            return failed("error: it is not protected")
        self.protected = False
        return self.reach("free", "not protected any more")

    @tool("List the named ranges.")
    def list_named_ranges(self) -> Answer:
        return Answer("Total")

    @tool("List the charts of a sheet.")
    def list_charts(self, sheet: str) -> Answer:
        return Answer("none")

    @property
    def solved(self) -> bool:
        return self.written


class Leave(World):
    """A request for leave lacks a deputy."""

    def set_up(self) -> None:
        self.request = f"L{self.random.randint(100, 999)}"
        self.deputy, self.approved = not self.trap, False
        self.task = f"Approve the leave request {self.request}, then finish."

    @tool("Approve a leave request.")
    def approve_request(self, request: str) -> Answer:
        if self.request not in request:
            return failed("error: unknown request")
        if not self.deputy:
            return failed("error: the request is incomplete")
        self.approved = True
        return self.reach("approved", "approved")

    @tool("Reject a leave request.")
    def reject_request(self, request: str, reason: str) -> Answer:
        return failed("error: only the head of the department may reject")

    @tool("Send a leave request back to the employee.")
    def return_request(self, request: str) -> Answer:
        return failed("error: the employee is absent")

    @tool("Approve the expenses of an employee.")
    def approve_expenses(self, employee: str) -> Answer:
        return Answer("nothing to approve")

    @tool("List the open requests.")
    def list_requests(self) -> Answer:
        return Answer(f"{self.request}, L99")

    @tool("Show a leave request with all its fields.")
    def show_request(self, request: str) -> Answer:
        return self.reach("cause", f"{self.request}: Ken, 3 to 7 May, deputy: -")

    @tool("Set who stands in during a leave.")
    def set_deputy(self, request: str, employee: str) -> Answer:
        if self.request not in request:
            return failed("error: unknown request")
        self.deputy = True
        return self.reach("deputy", f"deputy: {employee}")

    @tool("Change the days of a leave request.")
    def change_days(self, request: str, first: str, last: str) -> Answer:
        return Answer("the same days")

    @tool("List the employees.")
    def list_employees(self) -> Answer:
        return Answer("Ada, Grace, Ken")

    @tool("Show how many days of leave an employee has left.")
    def leave_balance(self, employee: str) -> Answer:
        return Answer("12 days")

    @tool("Show the calendar of the team.")
    def team_calendar(self) -> Answer:
        return Answer("nobody else is away")

    @tool("Show the rules for leave.")
    def show_leave_rules(self) -> Answer:
        return self.reach("cause", "a request needs days and a deputy")

    @tool("List the public holidays.")
    def list_holidays(self) -> Answer:
        return Answer("1 May")

    @property
    def solved(self) -> bool:
        return self.approved
