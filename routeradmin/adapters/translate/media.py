"""Images and documents: data URLs on one side, sources on the other."""

from __future__ import annotations

from routeradmin.adapters.translate.words import Json, Untranslatable

_IMAGE_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp"}


def image_block(part: Json) -> Json:
    """A chat `image_url` part as a messages image block."""
    image = part["image_url"]
    url = image if isinstance(image, str) else image["url"]
    if url.startswith(("https://", "http://")):
        return {"type": "image", "source": {"type": "url", "url": url}}
    media_type, content = _data_url(url, "image")
    if media_type not in _IMAGE_TYPES:
        raise Untranslatable("image type other than JPEG, PNG, GIF, WebP")
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": content},
    }


def document_block(part: Json) -> Json:
    """A chat `file` part, a PDF as data URL, as a messages document block."""
    file = part["file"]
    if not file.get("file_data"):
        raise Untranslatable("file by id")
    media_type, content = _data_url(file["file_data"], "file")
    if media_type != "application/pdf":
        raise Untranslatable("file type other than PDF")
    source = {"type": "base64", "media_type": media_type, "data": content}
    titled = {"title": file["filename"]} if file.get("filename") else {}
    return {"type": "document", "source": source, **titled}


def image_part(block: Json) -> Json:
    """A messages image block as a chat `image_url` part."""
    source = block["source"]
    if source["type"] == "url":
        return {"type": "image_url", "image_url": {"url": source["url"]}}
    if source["type"] != "base64":
        raise Untranslatable("image by file id")
    return {"type": "image_url", "image_url": {"url": _as_data_url(source)}}


def file_part(block: Json) -> Json:
    """A messages document block, a PDF in base64, as a chat `file` part."""
    source = block["source"]
    if source["type"] != "base64" or (block.get("citations") or {}).get("enabled"):
        raise Untranslatable("document that is not a plain PDF in base64")
    file = {"file_data": _as_data_url(source), "filename": block.get("title") or "document.pdf"}
    return {"type": "file", "file": file}


def _data_url(url: str, what: str) -> tuple[str, str]:
    head, comma, content = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        raise Untranslatable(f"{what} that is neither an http(s) URL nor base64 data")
    return head[5:-7].lower(), content


def _as_data_url(source: Json) -> str:
    return f"data:{source['media_type']};base64,{source['data']}"
