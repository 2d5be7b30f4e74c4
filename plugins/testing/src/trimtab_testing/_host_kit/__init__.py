"""The conformance kit for hosts: a scripted service, scenarios, and what each must show."""

from trimtab_testing._host_kit import scenarios as scenarios
