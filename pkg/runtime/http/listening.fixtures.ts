import { openClusterPki } from "../../pki/cluster-pki.ts"
import { type Listener, listenTls, type ListenOptions } from "./listen.ts"

const pki = openClusterPki({ now: () => Date.now() })
const { certPem, keyPem } = pki.issue({
  name: "s",
  authority: "server-ca",
  subject: { commonName: "localhost", organizations: [] },
  ipAddresses: ["127.0.0.1"],
})

/** Listens on a free port of loopback, with a certificate of its own. */
export const listening = (options: Pick<ListenOptions, "onRequest" | "limits">): Promise<Listener> =>
  listenTls({
    host: "127.0.0.1",
    port: 0,
    cert: certPem,
    key: keyPem,
    clientCa: pki.authorities["client-ca"].certPem,
    ...options,
  })
