"""Catalogs of the servers under measurement: one provider, one endpoint, deployments by number."""

from __future__ import annotations

HEAD = """
format = "routeradmin.catalog/1"
[[providers]]
id = "lab"
category = "cloud"
[[accounts]]
id = "key"
provider_id = "lab"
auth_kind = "bearer"
billing_kind = "metered"
secret_reference_id = "env:BENCH_KEY"
[[endpoints]]
id = "box"
account_id = "key"
base_url = "http://127.0.0.1:{port}/v1"
[[models]]
id = "small"
upstream_name = "small"
"""
RPM_LIMIT = 2_000_000_000  # never reached, but counted


def catalog(
    port: int, *, deployments: int, routes: int = 1, rpm_limit: int | None = RPM_LIMIT
) -> str:
    """Deployments dealt out evenly to the routes, in order; the first route is ``chat``."""
    each = deployments // routes
    names = ["chat", *(f"r{n}" for n in range(1, routes))]
    return (
        HEAD.format(port=port)
        + "".join(f'[[routes]]\nid = "{name}"\nalias = "{name}"\n' for name in names)
        + "".join(_deployment(n, names[n // each], rpm_limit) for n in range(deployments))
    )


def _deployment(n: int, route: str, rpm_limit: int | None) -> str:
    limit = "" if rpm_limit is None else f"rpm_limit = {rpm_limit}\n"
    return f"""
[[serving_models]]
id = "d{n}"
endpoint_id = "box"
model_id = "small"
protocol = "chat-completions"
max_parallel_requests = 1000000
{limit}[[targets]]
id = "t{n}"
route_id = "{route}"
serving_model_id = "d{n}"
position = 0
"""
