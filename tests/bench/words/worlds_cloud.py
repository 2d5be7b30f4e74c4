"""Worlds about domains, clusters, jobs and pull requests."""

from __future__ import annotations

from words.world import Answer, World, failed, tool


class Domain(World):
    """Another record stands at the name and has to go first."""

    def set_up(self) -> None:
        self.name = self.random.choice(["www", "shop", "docs", "mail"])
        self.address = f"10.0.{self.random.randint(2, 99)}.7"
        self.other, self.added = self.trap, False
        self.task = (
            f"Add an A record {self.name} with the value {self.address} to the zone example.net. "
            "Finish when it is there."
        )

    def _records(self) -> Answer:
        if not self.other:
            return Answer("@ NS ns1")
        return self.reach("other", f"@ NS ns1; {self.name} CNAME old.example.org")

    @tool("Add a record to the zone.")
    def add_record(self, name: str, kind: str, value: str) -> Answer:
        if self.name not in name or self.address not in value:
            return failed("error: not the record that was asked for")
        if self.other:
            return failed("error: the record is in conflict")
        self.added = True
        return self.reach("added", "added")

    @tool("Change the value of a record.")
    def update_record(self, name: str, kind: str, value: str) -> Answer:
        return failed("error: no such record")

    @tool("Delete a record.")
    def delete_record(self, name: str, kind: str) -> Answer:
        if self.name not in name or "CNAME" not in kind.upper() or not self.other:
            return failed("error: no such record")
        self.other = False
        return self.reach("deleted", "deleted")

    @tool("List the records of the zone.")
    def list_records(self) -> Answer:
        return self._records()

    @tool("Ask the name servers for a name.")
    def lookup_name(self, name: str) -> Answer:
        if self.other and self.name in name:
            return self._records()
        return Answer("no answer")

    @tool("Show when the zone was changed.")
    def zone_info(self) -> Answer:
        return Answer("example.net, serial 41, changed yesterday")

    @tool("List the zones.")
    def list_zones(self) -> Answer:
        return Answer("example.net, example.org")

    @tool("List the name servers of the zone.")
    def list_name_servers(self) -> Answer:
        return Answer("ns1, ns2")

    @tool("Check that the zone is delegated.")
    def check_delegation(self) -> Answer:
        return Answer("delegated to ns1 and ns2")

    @tool("Redirect a name to an URL.")
    def add_redirect(self, name: str, url: str) -> Answer:
        return failed("error: not part of your plan")

    @tool("Add a zone.")
    def add_zone(self, zone: str) -> Answer:
        return failed("error: the zone exists")

    @tool("Write the whole zone as text.")
    def export_zone(self) -> Answer:
        return self._records()

    @property
    def solved(self) -> bool:
        return self.added


class Cluster(World):
    """The quota of the project is too small for the copies that are asked for."""

    def set_up(self) -> None:
        self.app = self.random.choice(["cart", "feed", "auth", "maps"])
        self.copies = str(self.random.randint(6, 9))
        self.quota = 4 if self.trap else 20
        self.scaled = False
        self.task = f"Scale the deployment {self.app} to {self.copies} copies, then finish."

    @tool("Set how many copies of a deployment run.")
    def scale_deployment(self, deployment: str, copies: str) -> Answer:
        if self.app not in deployment or self.copies not in copies:
            return failed("error: not what was asked for")
        if self.quota < int(self.copies):
            return failed(f"error: {self.app} could not be scaled: exceeded quota")
        self.scaled = True
        return self.reach("scaled", "scaled")

    @tool("Restart a deployment.")
    def restart_deployment(self, deployment: str) -> Answer:
        return Answer("restarted")

    @tool("Go back to the last version of a deployment.")
    def roll_back_deployment(self, deployment: str) -> Answer:
        return failed("error: there is no last version")

    @tool("List the deployments.")
    def list_deployments(self) -> Answer:
        return Answer(f"{self.app}, proxy")

    @tool("Show a deployment with its conditions.")
    def describe_deployment(self, deployment: str) -> Answer:
        if self.quota > int(self.copies):
            return Answer("2 copies, available")
        return self.reach("cause", "2 copies, available; the quota allows 4 pods")

    @tool("List the pods of a deployment.")
    def list_pods(self, deployment: str) -> Answer:
        return Answer(f"{self.app}-1 running, {self.app}-2 running")

    @tool("Read the log of a pod.")
    def read_pod_log(self, pod: str) -> Answer:
        return Answer("ready")

    @tool("List what happened in the cluster lately.")
    def list_events(self) -> Answer:
        if self.quota > int(self.copies):
            return Answer("nothing")
        return self.reach("cause", f"{self.app}: pods are limited to 4 by the quota")

    @tool("List the nodes.")
    def list_nodes(self) -> Answer:
        return Answer("n1 ready, n2 ready, n3 ready")

    @tool("Take a node out of use.")
    def drain_node(self, node: str) -> Answer:
        return failed("error: not allowed")

    @tool("Show the quota of the project.")
    def show_quota(self) -> Answer:
        return self.reach("cause", f"pods: 2 used of {self.quota}")

    @tool("Set the quota of the project.")
    def set_quota(self, pods: str) -> Answer:
        if not pods.isdigit() or int(pods) < int(self.copies):
            return Answer("the quota is not enough")
        self.quota = int(pods)
        return self.reach("quota", f"the quota is {pods} pods")

    @tool("List the names of the secrets.")
    def list_secrets(self) -> Answer:
        return Answer("tls")

    @property
    def solved(self) -> bool:
        return self.scaled


class Pipeline(World):
    """A job lacks its input, which has to be fetched."""

    def set_up(self) -> None:
        self.job = self.random.choice(["report", "ledger", "digest", "forecast"])
        self.data = self.random.choice(["sales", "stock", "visits"])
        self.lacks, self.done = self.trap, False
        self.task = f"Run the job {self.job}, then finish when it has succeeded."

    @tool("Run a job.")
    def run_job(self, job: str) -> Answer:
        if self.job not in job:
            return failed("error: unknown job")
        if self.lacks:
            return failed(f"error: {self.job} ended with exit code 1")
        self.done = True
        return self.reach("done", "succeeded")

    @tool("Run a job again from its last step.")
    def retry_job(self, job: str) -> Answer:
        return failed("error: no step to go on from")

    @tool("Run a job at a given time.")
    def schedule_job(self, job: str, time: str) -> Answer:
        return Answer("scheduled")

    @tool("Cancel a job that runs.")
    def cancel_job(self, job: str) -> Answer:
        return failed("error: it does not run")

    @tool("List the jobs.")
    def list_jobs(self) -> Answer:
        return Answer(f"{self.job}, cleanup")

    @tool("List the last runs of all jobs.")
    def list_runs(self) -> Answer:
        return Answer("cleanup succeeded" + (f", {self.job} failed" if self.lacks else ""))

    @tool("Read the log of a job's last run.")
    def read_job_log(self, job: str) -> Answer:
        if not self.lacks:
            return Answer("empty")
        return self.reach("cause", f"dataset {self.data} is not here; fetch it")

    @tool("Show the steps and inputs of a job.")
    def show_job(self, job: str) -> Answer:
        return self.reach("cause", f"input: dataset {self.data}; steps: load, write")

    @tool("List the datasets that are here.")
    def list_datasets(self) -> Answer:
        if not self.lacks:
            return Answer(f"{self.data}, prices")
        return self.reach("datasets", f"prices ({self.data}: not fetched)")

    @tool("Fetch a dataset.")
    def fetch_dataset(self, dataset: str) -> Answer:
        if self.data not in dataset:
            return failed("error: unknown dataset")
        self.lacks = False
        return self.reach("fetched", "fetched")

    @tool("List the connections to databases.")
    def list_connections(self) -> Answer:
        return Answer("main")

    @tool("Test a connection to a database.")
    def test_connection(self, connection: str) -> Answer:
        return Answer("it works")

    @tool("Show how busy the workers are.")
    def show_workers(self) -> Answer:
        return Answer("1 of 4 busy")

    @property
    def solved(self) -> bool:
        return self.done


class Merge(World):
    """A pull request lacks an approval."""

    def set_up(self) -> None:
        self.number = str(self.random.randint(20, 400))
        self.approved, self.merged = not self.trap, False
        self.task = f"Merge pull request {self.number}, then finish."

    def _review(self) -> Answer:
        if self.approved:
            return Answer("approved")
        return self.reach("cause", "no approval yet; one is required")

    @tool("Merge a pull request.")
    def merge_pull_request(self, number: str) -> Answer:
        if self.number not in number:
            return failed("404 Not Found")
        if not self.approved:
            return failed("405 the pull request is not mergeable")
        self.merged = True
        return self.reach("merged", "merged")

    @tool("Close a pull request.")
    def close_pull_request(self, number: str) -> Answer:
        return failed("403 not yours to close")

    @tool("Open a closed pull request again.")
    def reopen_pull_request(self, number: str) -> Answer:
        return failed("422 it is open")

    @tool("Bring the branch of a pull request up to date.")
    def update_branch(self, number: str) -> Answer:
        return Answer("already up to date")

    @tool("Show a pull request.")
    def get_pull_request(self, number: str) -> Answer:
        state = "approved" if self.approved else "review required"
        return self.reach("cause", f"{self.number}: open, checks passed, {state}")

    @tool("List the pull requests that are open.")
    def list_pull_requests(self) -> Answer:
        return Answer(f"{self.number}, 19")

    @tool("List the commits of a pull request.")
    def list_commits(self, number: str) -> Answer:
        return Answer("a1f3 Add a field")

    @tool("List the checks of a pull request.")
    def list_checks(self, number: str) -> Answer:
        return Answer("build passed, tests passed")

    @tool("List the reviews of a pull request.")
    def list_reviews(self, number: str) -> Answer:
        return self._review()

    @tool("Approve a pull request.")
    def approve_pull_request(self, number: str) -> Answer:
        if self.number not in number:
            return failed("404 Not Found")
        self.approved = True
        return self.reach("approved", "approved")

    @tool("Comment on a pull request.")
    def comment_on_pull_request(self, number: str, text: str) -> Answer:
        return Answer("commented")

    @tool("List the branches.")
    def list_branches(self) -> Answer:
        return Answer("main, field")

    @tool("Show which rules protect a branch.")
    def show_branch_rules(self, branch: str) -> Answer:
        return self.reach("cause", "main: checks must pass, one approval")

    @property
    def solved(self) -> bool:
        return self.merged
