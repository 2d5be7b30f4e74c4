"""The conformance kit for hosts: a scripted service, scenarios, and what each must show."""

from trimtab._testing.host_kit import scenarios as scenarios
