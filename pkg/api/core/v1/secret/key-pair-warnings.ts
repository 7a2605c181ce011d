import { createPrivateKey, X509Certificate } from "node:crypto"

const PEM = /-----BEGIN [A-Z0-9 ]+-----[^]*?-----END [A-Z0-9 ]+-----/

/**
 * Returns warnings about the certificate and the key of a Secret for TLS, as far as a simple check finds faults.
 * Source: warningsForSecret in pkg/registry/core/secret/strategy.go, Go's crypto/tls X509KeyPair.
 */
export function keyPairWarnings(data: Readonly<Record<string, string>> = {}): readonly string[] {
  const [certificate, key] = [textOf(data["tls.crt"]), textOf(data["tls.key"])]
  if (!PEM.test(certificate)) return ["tls: failed to find any PEM data in certificate input"]
  if (!PEM.test(key)) return ["tls: failed to find any PEM data in key input"]
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
      ? []
      : ["tls: private key does not match public key"]
  } catch {
    // No warning, because Go's message about the exact fault is not known here.
    return []
  }
}

const textOf = (base64 = ""): string => Buffer.from(base64, "base64").toString("latin1")
