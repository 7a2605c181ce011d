import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect, type ConnectionOptions } from "node:tls"
import { createCa, issueCertificate, type CertificatePair } from "../../../../pkg/pki/certificate.ts"
import type { PairFiles } from "./serving-pair.ts"

const validity = { notBefore: new Date(Date.UTC(2020, 0)), notAfter: new Date(Date.UTC(2120, 0)) }

/** The authority of an administrator, who gives certificates to the server, in a folder of files. */
export class OtherAuthority implements Disposable {
  readonly dir = mkdtempSync(join(tmpdir(), "k3ts-given-"))
  readonly #ca = createCa({ commonName: "another authority", validity })

  /** PEM, for clients. */
  get ca(): string {
    return this.#ca.certPem
  }

  issue(commonName: string, dnsNames: readonly string[] = [commonName], ipAddresses: readonly string[] = []) {
    return issueCertificate(this.#ca, {
      subject: { commonName, organizations: [] },
      usages: ["server"],
      dnsNames,
      ipAddresses,
      validity,
    })
  }

  /** Writes a pair to `NAME.crt` and `NAME.key`, each file replaced whole. */
  write(name: string, pair: CertificatePair): PairFiles {
    const files = { certFile: join(this.dir, `${name}.crt`), keyFile: join(this.dir, `${name}.key`) }
    this.replace(files.certFile, pair.certPem)
    this.replace(files.keyFile, pair.keyPem)
    return files
  }

  replace(path: string, text: string): void {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true })
  }
}

/** Returns the common name in the certificate that a client gets. */
export const shown = (port: number, options: ConnectionOptions = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options }, () => {
      resolve(String(socket.getPeerCertificate().subject?.CN))
      socket.destroy()
    })
    socket.on("error", reject)
  })
