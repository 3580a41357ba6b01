"""A certificate for 127.0.0.1 that nobody else signed."""

import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])


def certificate(folder: Path) -> tuple[Path, Path]:
    """The files of the certificate and of its private key."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "cert.pem", folder / "key.pem"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    forms = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, *forms))
    return pem, private
