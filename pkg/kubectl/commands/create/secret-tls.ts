import { keyPairWarnings } from "../../../api/core/v1/secret/key-pair-warnings.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { stringFlag } from "../../command/flag.ts"
import type { Factory } from "../../factory/factory.ts"
import { generator } from "./generator.ts"
import { appendHashFlag, SECRET, SecretData } from "./secret-data.ts"

/** Source: kubectl pkg/cmd/create/create_secret_tls.go. */
export const createTlsCommand = generator({
  use: "tls NAME --cert=path/to/cert/file --key=path/to/key/file [--dry-run=server|client|none]",
  short: "Create a TLS secret",
  long: `
Create a TLS secret of a certificate and its key.

 The certificate is in PEM, and must be that of the key.`,
  example: `
# Create a TLS secret called tls-secret
kubectl create secret tls tls-secret --cert=path/to/tls.crt --key=path/to/tls.key`,
  flags: {
    cert: stringFlag("", "The file with the certificate, in PEM."),
    key: stringFlag("", "The file with the key of the certificate."),
    ...appendHashFlag(),
  },
  ...SECRET,
  async make({ name, namespace, flags, invocation: { factory } }) {
    if (flags.key === "" || flags.cert === "") throw new Error("key and cert must be specified")
    const certificate = await read(factory, flags.cert)
    const key = await read(factory, flags.key)
    const [problem] = keyPairWarnings({
      "tls.crt": Buffer.from(certificate).toString("base64"),
      "tls.key": Buffer.from(key).toString("base64"),
    })
    if (problem !== undefined) throw new Error(problem)
    const data = new SecretData()
    data.add("tls.crt", certificate)
    data.add("tls.key", key)
    return data.fields({ name, namespace, type: "kubernetes.io/tls", appendHash: flags["append-hash"] })
  },
})

async function read(factory: Factory, path: string): Promise<Uint8Array> {
  try {
    return await factory.readFile(path)
  } catch (err) {
    throw new Error(`Cannot read file ${path}, ${errorMessage(err)}`, { cause: err })
  }
}
