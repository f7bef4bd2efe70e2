"""URLs of the console. Ids may hold slashes, so the verb comes first and the id is the rest."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import path

from routeradmin.console.views import live, session


def todo(request, **k):
    return HttpResponse("todo")


urlpatterns = [
    path("", live.show, name="live"),
    path("login", session.SignIn.as_view(), name="login"),
    path("logout", session.SignOut.as_view(), name="logout"),
    path("account", session.account, name="account"),
    path("act", todo, name="act"),
]
for n in [
    "explain",
    "turns",
    "events",
    "routes",
    "aliases",
    "deployments",
    "models",
    "endpoints",
    "providers",
    "credentials",
    "policies",
    "revisions",
    "transfer",
    "audit",
    "keys",
    "users",
    "provider-new",
]:
    urlpatterns.append(path(n, todo, name=n))
urlpatterns.append(path("deployments/<path:uid>", todo, name="deployment"))
