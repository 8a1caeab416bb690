"""
A certificate for a service on the own machine, signed by itself: encrypted, not vouched for by anyone.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
from pathlib import Path

from traveltime_lab.errors import MissingDependencyError

#: Days that a certificate is valid; each start creates a new one.
_DAYS = 30


def write_certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """
    Write a new certificate and its key.

    Parameters
    ----------
    folder : Path
        Where to; should be readable by the owner only.
    host : str
        Address or name that the service listens on; ``localhost`` and the loopback addresses are always included.

    Returns
    -------
    certificate, key : Path
        PEM files.

    Raises
    ------
    MissingDependencyError
        If cryptography is not installed.
    """
    try:
        from cryptography import x509  # noqa: PLC0415 - an optional extra
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    except ImportError as error:
        text = "a self-signed certificate needs cryptography. Type: pip install 'traveltime_lab[server]'"
        raise MissingDependencyError(text) from error
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "traveltime_lab")])
    now = dt.datetime.now(dt.UTC)
    names: list[x509.GeneralName] = [
        x509.DNSName("localhost"),
        *(x509.IPAddress(ipaddress.ip_address(address)) for address in ("127.0.0.1", "::1")),
    ]
    try:
        names.append(x509.IPAddress(ipaddress.ip_address(host)))
    except ValueError:
        names.append(x509.DNSName(host))
    if host in ("0.0.0.0", "::"):
        names.append(x509.DNSName(socket.gethostname()))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(list(dict.fromkeys(names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_path, key_path = folder / "certificate.pem", folder / "key.pem"
    certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.touch(mode=0o600)
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_path, key_path
