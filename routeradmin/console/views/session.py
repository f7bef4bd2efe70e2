"""Signing in and out, and the account page."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


class SignIn(LoginView):
    template_name = "console/login.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: object) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


class SignOut(LogoutView):
    """POST only; the session's row is gone afterwards, which closes its sockets."""


@require_safe
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "console/account.html")
