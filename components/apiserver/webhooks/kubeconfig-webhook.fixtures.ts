import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"

const DAY_MS = 86_400_000
const now = Date.now()
const validity = { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) }
/** The authority of the webhooks of tests, and what one of them shows. */
export const ca = createCa({ commonName: "webhooks", validity })
export const pair = issueCertificate(ca, {
  subject: { commonName: "webhook", organizations: [] },
  validity,
  ipAddresses: ["127.0.0.1"],
  usages: ["server"],
})

/** What a webhook was sent. */
export interface Sent {
  readonly body: unknown
  readonly authorization: string | undefined
}

export interface Reply {
  readonly code?: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Never answers. */
  readonly hangs?: true
}

/** A webhook that listens over TLS, and the kubeconfig that names it. */
export interface StartedWebhook {
  readonly kubeconfig: string
  readonly url: string
  /** Its authority, as in a webhook configuration. */
  readonly caBundle: string
  readonly sent: readonly Sent[]
  /** Resolves when this many calls have come. */
  calls(count: number): Promise<void>
  stop(): void
}

/** Starts a webhook. `reply` is called with the parsed body and the number of the call, from 1 on. */
export async function startWebhook(reply: (body: unknown, call: number) => Reply): Promise<StartedWebhook> {
  const sent: Sent[] = []
  const sockets = new Set<Socket>()
  let waiting: { readonly count: number; readonly resolve: () => void }[] = []
  const server = createServer({ key: pair.keyPem, cert: pair.certPem }, (req, res) => {
    let text = ""
    req.on("data", (part: Buffer) => (text += part.toString()))
    req.on("end", () => {
      const body: unknown = JSON.parse(text)
      sent.push({ body, authorization: req.headers.authorization })
      const { code = 200, body: answer = "", headers = {}, hangs } = reply(body, sent.length)
      if (hangs !== true) res.writeHead(code, { "content-type": "application/json", ...headers }).end(answer)
      for (const { count, resolve } of waiting) if (sent.length >= count) resolve()
      waiting = waiting.filter(({ count }) => sent.length < count)
    })
  })
  server.on("secureConnection", (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const dir = mkdtempSync(join(tmpdir(), "webhook-"))
  const kubeconfig = join(dir, "kubeconfig.yaml")
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  writeFileSync(kubeconfig, kubeconfigOf(url))
  return {
    kubeconfig,
    url,
    caBundle: btoa(ca.certPem),
    sent,
    calls: (count) =>
      sent.length >= count ? Promise.resolve() : new Promise((resolve) => void waiting.push({ count, resolve })),
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      rmSync(dir, { recursive: true })
    },
  }
}

/** Returns the text of a kubeconfig that names a webhook with a certificate of this file, and a token. */
export const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "hook", cluster: { server, "certificate-authority-data": btoa(ca.certPem) } }],
    users: [{ name: "server", user: { token: "secret-of-the-webhook" } }],
    contexts: [{ name: "hook", context: { cluster: "hook", user: "server" } }],
    "current-context": "hook",
  })
