import { createHttpsTransport } from "../../../pkg/client/https.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { adminToken, localServer, openPki } from "../credentials.ts"
import { bindAddressFlag, configFlag, dataDirFlag, portFlag, type ServerFlags } from "../config/server-flags.ts"

/** The flags that say where the cluster's server is. */
export const serverPlace = {
  config: configFlag(),
  "data-dir": dataDirFlag(),
  "bind-address": bindAddressFlag(),
  "https-listen-port": portFlag(),
}

export type ServerPlace = Pick<ServerFlags, "data-dir" | "bind-address" | "https-listen-port">

/** Returns the PEM of the authority of the server's certificate, with those up to its root. */
export const serverCa = (flags: ServerPlace): string =>
  openPki(flags["data-dir"], () => realClock.now()).authorities["server-ca"].certPem

/** Runs `use` with the administrator's client to the running server of this machine. @throws Error, ApiError */
export async function withAdminClient<T>(flags: ServerPlace, use: (client: Client) => Promise<T>): Promise<T> {
  const transport = createHttpsTransport({
    config: { server: localServer(flags), ca: serverCa(flags), token: adminToken(flags["data-dir"]) },
    userAgent: "k3ts",
  })
  try {
    return await use(newClient(transport))
  } finally {
    transport.close()
  }
}
