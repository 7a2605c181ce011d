import { afterEach, expect, test } from "bun:test"
import { connect } from "node:tls"
import { createCa, issueCertificate } from "../../pki/certificate.ts"
import { listenTls, type Listener } from "./listen.ts"
import { tlsProfileOf } from "./tls-profile.ts"

const validity = { notBefore: new Date(Date.now() - 1e6), notAfter: new Date(Date.now() + 1e9) }
const authority = createCa({ commonName: "ca", validity })
const leaf = issueCertificate(authority, {
  subject: { commonName: "leaf", organizations: [] },
  usages: ["server"],
  dnsNames: ["localhost"],
  validity,
})
let listener: Listener | undefined
afterEach(() => listener?.stop())

/** Resolves to the version and the cipher on which client and server agree; to `refused` where they do not. */
async function spoken(version: string | undefined, suites: readonly string[], client: object): Promise<string> {
  const tlsProfile = tlsProfileOf(version, suites)
  listener = await listenTls({
    host: "127.0.0.1",
    port: 0,
    cert: leaf.certPem,
    key: leaf.keyPem,
    clientCa: authority.certPem,
    onRequest: () => undefined,
    ...(tlsProfile === undefined ? {} : { tlsProfile }),
  })
  const { port } = listener
  return new Promise((resolve) => {
    const socket = connect({ host: "localhost", port, ca: authority.certPem, ...client }, () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.on("error", () => resolve("refused"))
  })
}

const OLD = { maxVersion: "TLSv1.2" }
const AES_256 = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"

test.each<[string | undefined, string[], object, string]>([
  [undefined, [], OLD, "TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256"],
  ["VersionTLS13", [], {}, "TLSv1.3 TLS_AES_128_GCM_SHA256"],
  ["VersionTLS13", [], OLD, "refused"],
  [undefined, [AES_256], OLD, "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384"],
  [undefined, [AES_256], { ...OLD, ciphers: "ECDHE-ECDSA-CHACHA20-POLY1305" }, "refused"],
  [undefined, ["TLS_AES_256_GCM_SHA384"], OLD, "refused"],
])(
  "with the least version %p and the suites %p a client that offers %p gets %s",
  async (version, suites, client, wanted) => {
    expect(await spoken(version, suites, client)).toBe(wanted)
  },
)
